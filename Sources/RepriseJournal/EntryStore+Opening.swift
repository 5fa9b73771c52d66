import GRDB
import RepriseCore
import Synchronization

/// What is done once, in the opening transaction.
extension EntryStore {
    /// Counts what has not ended, by the indexes alone.
    static func countPending(_ db: Database) throws -> Int {
        var sum = 0
        for code in [StateCode.ready, .queued, .delayed, .inHand] {
            sum +=
                try Int.fetchOne(
                    db, sql: "SELECT COUNT(*) FROM entry WHERE state = \(code.rawValue)") ?? 0
        }
        return sum
    }

    /// Takes rows out of the way whose state is none.
    func quarantineBroken(_ db: Database) throws -> Int {
        let states = StateCode.allCases.map { "\($0.rawValue)" }.joined(separator: ",")
        let broken = try Int64.fetchAll(
            db, sql: "SELECT seq FROM entry WHERE state NOT IN (\(states)) LIMIT 10000")
        for seq in broken {
            try quarantine(EntryRow.Broken(seq: seq, why: "the state is unknown"), in: db)
        }
        // They were not counted as pending.
        books.withLock { $0.pending += broken.count }
        return broken.count
    }

    /// Gives entries of a family whose own kind is declared no more to the kind that the family is
    /// named after: another version of the app recorded them, and nobody would ever hand them over.
    func adoptUndeclared(_ db: Database) throws {
        for (leader, members) in families.all {
            let known = members.map { "'\($0.replacing("'", with: "''"))'" }
            try db.execute(
                sql: """
                    UPDATE entry SET kind = ?, bound = NULL, released = 0
                    WHERE state < 10 AND substr(kind, 1, ?) = ?
                    AND kind NOT IN (\(known.joined(separator: ",")))
                    """, arguments: [leader, leader.count + 1, leader + "."])
        }
    }
}
