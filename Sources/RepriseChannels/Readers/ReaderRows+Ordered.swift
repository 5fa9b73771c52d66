import GRDB
import RepriseCore
import RepriseWire

/// Positions in the order of a channel's sequences, over all its epochs: the epoch's rank in the
/// high bits and the sequence in the low 53.
///
/// So they compare as one number, as arrivals do.
package enum OrderedPosition {
    private static let sequenceBits: Int64 = 53
    /// The most epochs of a channel that an ordered reader can count.
    static let epochs = 1_024

    /// `rank` is the epoch's rank among those of its channel, oldest first.
    package static func position(rank: Int, seq: Int64) -> Int64 {
        Int64(rank) << sequenceBits | seq
    }

    package static func rank(of position: Int64) -> Int { Int(position >> sequenceBits) }

    package static func seq(of position: Int64) -> Int64 { position & (1 << sequenceBits - 1) }

    /// The sequence of an epoch that a reader at `position` has reached.
    package static func seq(of position: Int64, inRank rank: Int) -> Int64 {
        let reached = Self.rank(of: position)
        return rank < reached ? .max : rank > reached ? 0 : seq(of: position)
    }
}

/// A reader that takes a channel's messages by sequence.
extension ReaderRows {
    /// The next messages after `cursor`, of one log, and none beyond a hole.
    ///
    /// In a former epoch nothing can fill a hole any more.
    func orderedPage(after cursor: Int64, _ db: Database) throws -> [Arrived] {
        let logs = try logs(db)
        for (rank, log) in logs.enumerated().dropFirst(OrderedPosition.rank(of: cursor)) {
            let end = rank + 1 < logs.count ? .max : try watermark(of: log, db)
            let rows = try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT \(Self.columns) FROM channelsMessage AS m
                        WHERE log = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?
                        """),
                arguments: [
                    log, OrderedPosition.seq(of: cursor, inRank: rank), end, ReaderStore.pageLimit,
                ])
            var page = try page(rows)
            for place in page.indices {
                page[place].position = OrderedPosition.position(
                    rank: rank, seq: page[place].message.seq)
            }
            guard page.isEmpty else { return page }
        }
        return []
    }

    /// The messages that were with a handler when its process died.
    func sequences(in window: (cursor: Int64, dispatching: Int64), _ db: Database) throws
        -> (condition: String, arguments: StatementArguments)
    {
        let rank = OrderedPosition.rank(of: window.dispatching)
        let logs = try logs(db)
        guard logs.indices.contains(rank) else { return ("0", []) }
        return (
            "log = ? AND seq > ? AND seq <= ?",
            [
                logs[rank], OrderedPosition.seq(of: window.cursor, inRank: rank),
                OrderedPosition.seq(of: window.dispatching),
            ]
        )
    }

    /// The failed message at which the reader stands: nothing after it is delivered before.
    func orderedDue(_ reader: Int64, now: WallTime, _ db: Database) throws -> ReaderStore.Due {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.columns), attempts, failures, due
                    FROM channelsException AS e JOIN channelsMessage AS m
                    ON m.arrival = e.arrival
                    WHERE reader = ? AND state = 0 ORDER BY m.log, m.seq LIMIT 1
                    """), arguments: [reader])
        guard let row else { return ReaderStore.Due(messages: [], next: nil) }
        let due = WallTime(milliseconds: try row.integer(Self.further + 2))
        return ReaderStore.Due(messages: due <= now ? [try exceptional(row)] : [], next: due)
    }

    func newestOrdered(_ db: Database) throws -> Int64 {
        for (rank, log) in try logs(db).enumerated().reversed() {
            let newest = try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT seq FROM channelsMessage WHERE log = ? ORDER BY seq DESC LIMIT 1
                        """), arguments: [log])
            if let newest { return OrderedPosition.position(rank: rank, seq: newest) }
        }
        return 0
    }

    /// The logs of the channel, oldest first, as many as an ordered reader can count.
    private func logs(_ db: Database) throws -> [Int64] {
        try Int64.fetchAll(
            db.cachedStatement(
                sql: "SELECT id FROM channelsLog WHERE channel = ? ORDER BY id LIMIT ?"),
            arguments: [channel.text, OrderedPosition.epochs])
    }

    private func watermark(of log: Int64, _ db: Database) throws -> Int64 {
        let coverage = try String.fetchOne(
            db.cachedStatement(sql: "SELECT coverage FROM channelsLog WHERE id = ?"),
            arguments: [log])
        return try coverage.map { try Coverage(parsing: $0).watermark } ?? 0
    }
}
