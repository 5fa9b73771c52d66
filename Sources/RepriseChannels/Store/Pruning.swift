import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// Removes messages past their retention, a bounded piece at a time, oldest first; their outcomes
/// stay counted.
struct Pruning {
    /// The most messages removed in one transaction.
    static let piece = 500

    let retention: MessageRetention

    /// - Returns: whether more may be left.
    func prune(_ db: Database, at now: WallTime) throws -> Bool {
        let logs = try Row.fetchAll(
            db, sql: "SELECT id, channel, coverage FROM channelsLog ORDER BY channel, id DESC")
        var channel: String?
        var age = 0  // of the log among those of its channel; 0 is the current one
        for row in logs {
            guard let name = try? row.text(1) else { continue }
            age = name == channel ? age + 1 : 0
            channel = name
            let log = Log(
                id: try row.integer(0), channel: name,
                isCurrent: age == 0,
                end: age == 0 ? row.watermark(2) : .max,
                least: age < 2 ? retention.least : 0)
            if try prune(log, at: now, db) == Self.piece { return true }
        }
        return false
    }

    private struct Log {
        var id: Int64
        var channel: String
        var isCurrent: Bool
        /// Nothing above a hole is removed: a removed message could have deleted the one that fills
        /// the hole.
        ///
        /// 0 while the coverage cannot be read.
        var end: Int64
        var least: Int
    }

    /// - Returns: how many were removed.
    private func prune(_ log: Log, at now: WallTime, _ db: Database) throws -> Int {
        guard let young = try seq(ofNewest: log.least, in: log.id, db) else { return 0 }
        let surplus = try seq(ofNewest: retention.most, in: log.id, db) ?? 0
        let limit = now.milliseconds - retention.age.milliseconds
        let readers = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT id, cursor, ordered FROM channelsReader WHERE channel = ?"),
            arguments: [log.channel])
        let reached = try ChannelsLedger.reached(log: log.id, of: log.channel, db)
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT arrival, seq, time FROM channelsMessage
                    WHERE log = ? AND seq <= ? ORDER BY seq LIMIT ?
                    """), arguments: [log.id, min(young, log.end), Self.piece])
        var gone = Tally()
        for row in rows {
            let (arrival, seq) = (try row.integer(0), try row.integer(1))
            guard try row.integer(2) < limit || seq <= surplus else { break }
            guard readers.isEmpty || arrival <= reached.arrival && seq <= reached.seq else { break }
            let ids = try readers.map { try $0.integer(0) }
            guard let outcome = try outcome(of: arrival, readers: ids, db) else { continue }
            try remove(arrival, readers: ids, db)
            // A future time must not make later messages look old.
            gone.add(outcome, time: min(try row.integer(2), now.milliseconds))
        }
        try gone.write(log, db)
        return gone.count
    }

    /// The sequence behind the newest so many of a log; nil if it has no more.
    private func seq(ofNewest count: Int, in log: Int64, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT seq FROM channelsMessage WHERE log = ?
                    ORDER BY seq DESC LIMIT 1 OFFSET ?
                    """), arguments: [log, count])
    }

    /// The outcome of a message that every reader has passed; nil if one has it in flight or will
    /// get it again.
    private func outcome(of arrival: Int64, readers: [Int64], _ db: Database) throws -> Outcome? {
        guard !readers.isEmpty else { return .expired }  // nobody read it
        var outcome = Outcome.applied
        for reader in readers {
            let state = try Int64.fetchOne(
                db.cachedStatement(
                    sql: "SELECT state FROM channelsException WHERE reader = ? AND arrival = ?"),
                arguments: [reader, arrival])
            switch state.map(ReaderStore.State.init(rawValue:)) {
            case .some(.dead): outcome = .dead
            case .some(.unconfirmed): outcome = outcome == .dead ? .dead : .unconfirmed
            case .some(.waiting), .some(.dispatched), .some(nil): return nil
            case nil: break
            }
        }
        return outcome
    }

    private func remove(_ arrival: Int64, readers: [Int64], _ db: Database) throws {
        for reader in readers {
            try db.cachedStatement(
                sql: "DELETE FROM channelsException WHERE reader = ? AND arrival = ?"
            ).execute(arguments: [reader, arrival])
        }
        // Changes to it under a sequence of any log, and its own change.
        try db.cachedStatement(
            sql: """
                DELETE FROM channelsFormerChange WHERE change IN (1, 2) AND (log, target) IN (
                    SELECT log, seq FROM channelsAlias WHERE arrival = :arrival
                    UNION ALL SELECT log, seq FROM channelsMessage WHERE arrival = :arrival)
                """
        ).execute(arguments: ["arrival": arrival])
        try db.cachedStatement(sql: "DELETE FROM channelsFormerChange WHERE arrival = ?")
            .execute(arguments: [arrival])
        try db.cachedStatement(sql: "DELETE FROM channelsAlias WHERE arrival = ?")
            .execute(arguments: [arrival])
        try db.cachedStatement(sql: "DELETE FROM channelsMessage WHERE arrival = ?")
            .execute(arguments: [arrival])
    }

    private struct Tally {
        private(set) var count = 0
        private var outcomes: [Outcome: Int64] = [:]
        private var newest: Int64 = .min

        mutating func add(_ outcome: Outcome, time: Int64) {
            count += 1
            outcomes[outcome, default: 0] += 1
            newest = max(newest, time)
        }

        func write(_ log: Log, _ db: Database) throws {
            guard count > 0 else { return }
            for (outcome, count) in outcomes {
                try db.cachedStatement(
                    sql: """
                        INSERT INTO channelsRetired (log, outcome, count) VALUES (?, ?, ?)
                        ON CONFLICT DO UPDATE SET count = count + excluded.count
                        """
                ).execute(arguments: [log.id, outcome.rawValue, count])
            }
            // Removed messages of a former log lie above its holes too, and their ids are kept
            // (``FormerMessages``).
            guard log.isCurrent else { return }
            try db.cachedStatement(
                sql: "UPDATE channelsLog SET retired = MAX(COALESCE(retired, ?), ?) WHERE id = ?"
            ).execute(arguments: [newest, newest, log.id])
        }
    }
}
