import GRDB
import RepriseCore
import Synchronization

/// Steps of the opening transaction.
extension EntryStore {
    /// Counts entries that have not ended, by the indexes alone.
    static func countPending(_ db: Database) throws -> Int {
        var sum = 0
        for code in [StateCode.ready, .queued, .delayed, .inFlight] {
            sum +=
                try Int.fetchOne(
                    db.cachedStatement(
                        sql: "SELECT COUNT(*) FROM entry WHERE state = \(code.rawValue)")) ?? 0
        }
        return sum
    }

    /// Quarantines rows whose state is invalid.
    func quarantineBroken(_ db: Database) throws -> Int {
        let states = StateCode.allCases.map { "\($0.rawValue)" }.joined(separator: ",")
        let broken = try Int64.fetchAll(
            db.cachedStatement(
                sql: "SELECT seq FROM entry WHERE state NOT IN (\(states)) LIMIT 10000"))
        for seq in broken {
            try quarantine(EntryRow.Broken(seq: seq, why: "the state is unknown"), in: db)
        }
        // They were not counted as pending.
        writerState.withLock { $0.pending += broken.count }
        return broken.count
    }

    /// Moves entries of a family whose own kind is no longer declared to the family's leading kind:
    /// another version of the app recorded them, and otherwise nothing would dispatch them.
    func adoptUndeclared(_ db: Database) throws {
        for (leader, members) in families.all {
            let known = members.map { "'\($0.replacing("'", with: "''"))'" }
            try db.cachedStatement(
                sql: """
                    UPDATE entry SET kind = ?, bound = NULL, released = 0
                    WHERE state < 10 AND substr(kind, 1, ?) = ?
                    AND kind NOT IN (\(known.joined(separator: ",")))
                    """
            ).execute(arguments: [leader, leader.count + 1, leader + "."])
        }
    }
}
