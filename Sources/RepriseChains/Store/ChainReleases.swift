package import GRDB
import RepriseCore
import RepriseJournal

/// Waiting tasks, and the commands that release them.
package enum ChainReleases {
    /// At most so many at a time.
    package static let page = 500

    private static let readable = """
        typeof(c.id) = 'text' AND typeof(t.place) = 'integer' AND typeof(t.name) = 'text'
        """

    /// Records a command for each task that meets a condition, of the first ``page``.
    ///
    /// Where a task cannot be read, its chain is looked at, which quarantines it. Tasks that can be
    /// read are released first.
    ///
    /// - Returns: how many could be read.
    package static func page(
        where condition: String, _ arguments: StatementArguments, _ journal: some ChainEntries,
        _ db: Database
    ) throws -> Int {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT c.seq, c.id, t.place, t.name FROM chainTask AS t
                    INDEXED BY chainTaskHeld JOIN chain AS c ON c.seq = t.chain
                    WHERE (\(condition)) AND \(readable) LIMIT \(page)
                    """), arguments: arguments)
        for row in rows {
            try record(try row.text(1), try row.text(3), journal, db)
            try db.cachedStatement(
                sql: "UPDATE chainTask SET hold = 'released' WHERE chain = ? AND place = ?"
            ).execute(arguments: [try row.integer(0), try row.integer(2)])
        }
        guard rows.count < page else { return rows.count }
        // Only after the last page: the query reads each held task.
        let broken = try String.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT DISTINCT c.id FROM chainTask AS t
                    INDEXED BY chainTaskHeld JOIN chain AS c ON c.seq = t.chain
                    WHERE (\(condition)) AND NOT (\(readable)) AND typeof(c.id) = 'text'
                    AND c.state <> 13 LIMIT \(page)
                    """), arguments: arguments)
        for id in broken { try look(at: id, journal, db) }
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

    private static func look(
        at id: String, _ journal: some ChainEntries, _ db: Database
    ) throws {
        _ = try journal.record(
            owed: NewEntry(
                kind: Chains.commandKind, source: "chains",
                payload: ChainCommand(.look, chain: id).bytes), in: db)
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
        for id in ids { try look(at: id, journal, db) }
        try db.cachedStatement(sql: "UPDATE chainTask SET hold = NULL WHERE hold = 'look'")
            .execute()
    }
}
