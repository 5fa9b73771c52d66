import GRDB
import RepriseCore
import RepriseJournal

/// Removes the bodies of deleted messages from the journal, in whatever order a message, its edits
/// and its deletion arrive.
///
/// A message is deleted if its event said so, or if the log has a deletion of it. Then its body is
/// blank and so are those of its edits, present and future.
struct Blanking {
    private let db: Database
    private let log: Int64
    /// No sequence of this log above this was deleted, so that hardly any event needs a look-up.
    private var newestTarget: Int64

    init(in log: Int64, _ db: Database) throws {
        self.db = db
        self.log = log
        newestTarget =
            try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT MAX(target) FROM (
                            SELECT MAX(target) AS target FROM channelsMessage
                            INDEXED BY channelsMessageByDeletion WHERE log = :log AND change = 2
                            UNION ALL SELECT MAX(target) FROM channelsFormerChange
                            WHERE log = :log AND change = 2)
                        """), arguments: ["log": log]) ?? 0
    }

    /// Whether a deletion of this sequence came before it.
    func hasDeletion(of seq: Int64) throws -> Bool {
        guard seq <= newestTarget else { return false }
        return try exists(
            """
            SELECT 1 FROM channelsMessage INDEXED BY channelsMessageByDeletion
            WHERE log = ? AND target = ? AND change = 2
            """, seq)
            || exists(
                """
                SELECT 1 FROM channelsFormerChange WHERE log = ? AND change = 2 AND target = ?
                """, seq)
    }

    /// Whether an edit of this sequence comes too late.
    func isDeleted(_ seq: Int64) throws -> Bool {
        if try hasDeletion(of: seq) { return true }
        return try exists(
            "SELECT 1 FROM channelsMessage WHERE log = ? AND seq = ? AND deleted = 1", seq)
            || exists(
                """
                SELECT 1 FROM channelsAlias AS a JOIN channelsMessage AS m ON m.arrival = a.arrival
                WHERE a.log = ? AND a.seq = ? AND deleted = 1
                """, seq)
    }

    /// A deletion of this sequence is being stored.
    mutating func deletionStored(of seq: Int64) throws {
        newestTarget = max(newestTarget, seq)
        try blank(seq)
    }

    /// Blanks a message and its edits, as far as they are stored.
    func blank(_ seq: Int64) throws {
        try blankEdits(of: seq, in: log)
        let arrival = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT arrival FROM channelsMessage WHERE log = :log AND seq = :seq
                    UNION ALL SELECT arrival FROM channelsAlias WHERE log = :log AND seq = :seq
                    """), arguments: ["log": log, "seq": seq])
        guard let arrival else { return }
        try db.cachedStatement(
            sql: """
                UPDATE channelsMessage
                SET body = CAST('null' AS BLOB), deleted = 1, mentions = NULL
                WHERE arrival = ? AND deleted = 0
                """
        ).execute(arguments: [arrival])
        // Edits of former epochs name it by its sequence of that epoch.
        let names = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT log, seq FROM channelsAlias WHERE arrival = :arrival
                    UNION ALL SELECT log, seq FROM channelsMessage WHERE arrival = :arrival
                    """), arguments: ["arrival": arrival])
        for row in names { try blankEdits(of: try row.integer(1), in: try row.integer(0)) }
    }

    private func blankEdits(of seq: Int64, in log: Int64) throws {
        try db.cachedStatement(
            sql: """
                UPDATE channelsMessage SET body = CAST('null' AS BLOB), deleted = 1
                WHERE log = ? AND target = ? AND change = 1 AND deleted = 0
                """
        ).execute(arguments: [log, seq])
        try db.cachedStatement(
            sql: """
                UPDATE channelsMessage SET body = CAST('null' AS BLOB), deleted = 1
                WHERE deleted = 0 AND arrival IN (
                    SELECT arrival FROM channelsFormerChange
                    WHERE log = ? AND change = 1 AND target = ?)
                """
        ).execute(arguments: [log, seq])
    }

    private func exists(_ sql: String, _ seq: Int64) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (\(sql))"), arguments: [log, seq]) ?? false
    }
}
