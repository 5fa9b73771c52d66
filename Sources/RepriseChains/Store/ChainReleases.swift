package import GRDB
import RepriseCore

/// Waiting tasks, and the commands that release them.
package enum ChainReleases {
    /// At most so many at a time.
    package static let page = 500

    /// Records a command for each task that meets a condition, of the first ``page``.
    ///
    /// - Returns: how many there were.
    package static func page(
        where condition: String, _ arguments: StatementArguments, _ journal: some ChainEntries,
        _ db: Database
    ) throws -> Int {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT c.seq, c.id, t.place, t.name FROM chainTask AS t
                    INDEXED BY chainTaskHeld JOIN chain AS c ON c.seq = t.chain
                    WHERE \(condition) LIMIT \(page)
                    """), arguments: arguments)
        for row in rows {
            let (seq, place): (Int64, Int) = (row[0], row[2])
            try record(row[1], row[3], journal, db)
            try db.cachedStatement(
                sql: "UPDATE chainTask SET hold = 'released' WHERE chain = ? AND place = ?"
            ).execute(arguments: [seq, place])
        }
        return rows.count
    }

    package static func record(
        _ id: String, _ task: String, _ journal: some ChainEntries, _ db: Database
    ) throws {
        _ = try journal.record(
            owed: NewEntry(
                kind: Chains.commandKind, source: "chains",
                payload: ChainCommand(.release, chain: id, task: task).bytes), in: db)
    }

    /// The distinct conditions that tasks wait for.
    package static func holds(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db.cachedStatement(
                sql: """
                    WITH RECURSIVE holds(hold) AS (
                        SELECT MIN(hold) FROM chainTask WHERE hold IS NOT NULL
                        UNION ALL
                        SELECT (SELECT MIN(hold) FROM chainTask WHERE hold > holds.hold)
                        FROM holds WHERE holds.hold IS NOT NULL)
                    SELECT hold FROM holds WHERE hold IS NOT NULL
                    """))
    }

    /// Lists suspended chains, for a newer version of the app, and tasks that ended unnoticed.
    package static func lookAgain(_ journal: some ChainEntries, _ db: Database) throws {
        let ids = try String.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id FROM chain WHERE state = 3
                    UNION SELECT c.id FROM chainTask AS t JOIN chain AS c ON c.seq = t.chain
                    WHERE t.hold = 'look'
                    """))
        for id in ids {
            _ = try journal.record(
                owed: NewEntry(
                    kind: Chains.commandKind, source: "chains",
                    payload: ChainCommand(.look, chain: id).bytes), in: db)
        }
        try db.cachedStatement(sql: "UPDATE chainTask SET hold = NULL WHERE hold = 'look'")
            .execute()
    }
}
