import Foundation
import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal

/// The demo's other effect: a table in the journal, written in the transaction that moves the
/// reader on.
///
/// It has no unique index, so that a duplicate message would be in it twice.
enum SinkTable {
    static let schema = JournalSchema(
        name: "demo",
        migrations: [
            { db in
                try db.execute(sql: "CREATE TABLE demoSink (seq INTEGER, id TEXT NOT NULL) STRICT")
            }
        ])

    static let insert: @Sendable (Database, [Message]) throws -> Void = { db, messages in
        let statement = try db.cachedStatement(sql: "INSERT INTO demoSink VALUES (?, ?)")
        for message in messages {
            try statement.execute(arguments: [message.seq, message.id.text])
        }
    }

    /// Every row's id, read without the SDK.
    ///
    /// - Parameter journal: the journal's folder, without an owner.
    /// - Returns: one for each row.
    /// - Throws: SQLite's errors.
    static func ids(in journal: URL) throws -> [EntryID] {
        var configuration = GRDB.Configuration()
        configuration.readonly = true
        let path = journal.appendingPathComponent("journal.sqlite").path
        let database = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? database.close() }
        return try database.read { db in
            try String.fetchAll(db, sql: "SELECT id FROM demoSink").map { try EntryID($0) }
        }
    }
}
