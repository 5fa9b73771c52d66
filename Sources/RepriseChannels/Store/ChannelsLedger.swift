package import GRDB
package import RepriseCore
import RepriseJournal

/// The outcome of every accepted message (guarantee 5).
///
/// `accepted` is the counter that the storing transaction increments, the rest is counted from the
/// rows, the cursors and the exceptions: so their equality is a check that can fail.
package enum ChannelsLedger {
    package static func sum(_ db: Database) throws -> LedgerSum {
        var sum = LedgerSum()
        let logs = try Row.fetchCursor(
            db, sql: "SELECT id, channel, accepted, duplicates FROM channelsLog ORDER BY id")
        while let row = try logs.next() {
            sum.accepted += try row.integer(2)
            sum.duplicates += try row.integer(3)
            try add(log: try row.integer(0), of: try row.text(1), to: &sum, db)
        }
        try addRetired(to: &sum, db)
        sum.lost = try losses(db)
        return sum
    }

    /// A message is pending until every reader has finished it, and without a reader for ever; then
    /// its worst outcome counts.
    private static func add(
        log: Int64, of channel: String, to sum: inout LedgerSum, _ db: Database
    ) throws {
        let reached = try reached(log: log, of: channel, db)
        let stored = try count(log, Reached(arrival: .max, seq: .max), db)
        let passed = try count(log, reached, db)
        var exceptions: [Int64] = [0, 0, 0]  // waiting, dead, unconfirmed
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT worst, COUNT(*) FROM (
                        SELECT MIN(CASE state WHEN 2 THEN 1 WHEN 3 THEN 2 ELSE 0 END) AS worst
                        FROM channelsException AS e
                        JOIN channelsReader AS r ON r.id = e.reader
                        JOIN channelsMessage AS m ON m.arrival = e.arrival
                        WHERE r.channel = ? AND m.log = ? AND m.arrival <= ? AND m.seq <= ?
                        GROUP BY e.arrival
                    ) GROUP BY worst
                    """), arguments: [channel, log, reached.arrival, reached.seq])
        while let row = try rows.next() {
            let rank = Int(try row.integer(0))
            guard exceptions.indices.contains(rank) else { continue }
            exceptions[rank] = try row.integer(1)
        }
        sum.pending += stored - passed + exceptions[0]
        sum.outcomes[.dead, default: 0] += exceptions[1]
        sum.outcomes[.unconfirmed, default: 0] += exceptions[2]
        sum.outcomes[.applied, default: 0] += passed - exceptions.reduce(0, +)
    }

    /// The messages that have left the journal.
    private static func addRetired(to sum: inout LedgerSum, _ db: Database) throws {
        let rows = try Row.fetchAll(
            db, sql: "SELECT outcome, SUM(count) FROM channelsRetired GROUP BY outcome")
        for row in rows {
            guard let outcome = Outcome(rawValue: try row.text(0)) else { continue }
            sum.outcomes[outcome, default: 0] += try row.integer(1)
        }
    }

    /// The positions of every reader: by arrival, and by order.
    struct Reached {
        var arrival: Int64
        var seq: Int64
    }

    static func reached(log: Int64, of channel: String, _ db: Database) throws -> Reached {
        let rank =
            try Int.fetchOne(
                db.cachedStatement(
                    sql: "SELECT COUNT(*) FROM channelsLog WHERE channel = ? AND id < ?"),
                arguments: [channel, log]) ?? 0
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT ordered, MIN(cursor) FROM channelsReader WHERE channel = ?
                    GROUP BY ordered
                    """), arguments: [channel])
        var reached = Reached(arrival: rows.isEmpty ? 0 : .max, seq: .max)
        for row in rows {
            let cursor = try row.integer(1)
            if try row.integer(0) == 0 {
                reached.arrival = cursor
            } else {
                reached.seq = OrderedPosition.seq(of: cursor, inRank: rank)
            }
        }
        return reached
    }

    private static func count(_ log: Int64, _ reached: Reached, _ db: Database) throws -> Int64 {
        try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT COUNT(*) FROM channelsMessage INDEXED BY channelsMessageBySeq
                    WHERE log = ? AND arrival <= ? AND seq <= ?
                    """), arguments: [log, reached.arrival, reached.seq]) ?? 0
    }

    /// One line for known losses and one for unknown ones, for each channel and reason.
    private static func losses(_ db: Database) throws -> [LedgerSum.Loss] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT channel, reason, through IS NULL AS isUnknown, TOTAL(through - after)
                FROM channelsLost AS l JOIN channelsLog AS g ON g.id = l.log
                GROUP BY channel, reason, isUnknown ORDER BY channel, reason, isUnknown
                """
        ).map { row in
            // TOTAL is a float, so that no peer can make it overflow.
            let count = Double.fromDatabaseValue(row[3]) ?? 0
            return LedgerSum.Loss(
                channel: try row.text(0), reason: try row.text(1),
                count: try row.integer(2) == 1 ? nil : Int64(min(count, 9e18)))
        }
    }
}
