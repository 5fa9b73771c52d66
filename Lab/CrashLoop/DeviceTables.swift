import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal

/// The app's own tables in a device's journal: effects that share the journal's transaction.
///
/// They have no unique index, so that what takes effect twice stands there twice. Each version
/// rewrites them whole, so that there is something to kill in a migration.
enum DeviceTables {
    static let kind = EntryKind("crash.spooled")
    static let reader = "sink"
    static let versions = 60

    static func schema(version: Int = versions, onMigration: @escaping @Sendable () -> Void = {})
        -> JournalSchema
    {
        let rewriting: [JournalSchema.Migration] = (0..<version).map { _ in
            { db in
                onMigration()
                try rewrite("crashSink", db)
                try rewrite("crashSpooled", db)
            }
        }
        return JournalSchema(name: "crash", migrations: [create] + rewriting)
    }

    private static let create: JournalSchema.Migration = { db in
        try db.execute(
            sql: """
                CREATE TABLE crashSink (id TEXT NOT NULL) STRICT;
                CREATE TABLE crashSpooled (id TEXT NOT NULL) STRICT;
                """)
    }

    private static func rewrite(_ table: String, _ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE \(table)Next (id TEXT NOT NULL) STRICT;
                INSERT INTO \(table)Next SELECT id FROM \(table);
                DROP TABLE \(table);
                ALTER TABLE \(table)Next RENAME TO \(table);
                """)
    }

    static let sink: @Sendable (Database, [Message]) throws -> Void = { db, messages in
        for message in messages {
            try db.execute(
                sql: "INSERT INTO crashSink VALUES (?)", arguments: [message.id.text])
        }
    }

    static let spooled: @Sendable (Database, Entry) throws -> Void = { db, entry in
        try db.execute(sql: "INSERT INTO crashSpooled VALUES (?)", arguments: [entry.id.text])
    }
}
