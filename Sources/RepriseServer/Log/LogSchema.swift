import GRDB
import RepriseCore
import RepriseWire

/// The tables of the SQLite log.
///
/// - `log`: one row, the epoch and a counter that `MessageLog/probe()` writes.
/// - `channels`: the head rows. Trimming moves `floor` and `count`, never `head`.
/// - `messages`: clustered by channel and sequence, because catch-up reads it in that order: an index over rows in order
///   of arrival reads a tenth as fast. `prev` is null where it is `seq - 1`.
/// - `recent_ids`, `id_runs`, `ids`: see `KnownIDs`.
enum LogSchema {
    /// "RPSL" in ASCII: how the log knows its own file.
    private static let applicationID: Int32 = 0x5250_534c

    private static func migrator(newEpoch: @escaping @Sendable () -> Epoch) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 messages") { try createFirst($0, epoch: newEpoch()) }
        return migrator
    }

    /// Brings the database to this version.
    ///
    /// - Parameters:
    ///   - writer: a pool's writer or a queue.
    ///   - newEpoch: mints the epoch of a log that is made here.
    /// - Throws: ``RepriseCore/RepriseError`` `.notAJournal`, `.journalNewer`; a `DatabaseError`.
    static func prepare(
        _ writer: some DatabaseWriter, newEpoch: @escaping @Sendable () -> Epoch
    ) throws {
        let migrator = migrator(newEpoch: newEpoch)
        try writer.writeWithoutTransaction { db in
            let found = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
            // The migrator makes its table in a transaction of its own, before the first that is ours: a server that
            // was killed in between has left that table and nothing in it.
            let isEmpty =
                try Int.fetchOne(
                    db,
                    sql: "SELECT count(*) FROM sqlite_schema WHERE tbl_name <> 'grdb_migrations'")
                == 0 && migrator.appliedIdentifiers(db).isEmpty
            guard found == applicationID || (found == 0 && isEmpty) else {
                throw RepriseError(
                    .notAJournal, "The log's file is a database of another program.",
                    remedy: "Choose another data folder.")
            }
            guard try !migrator.hasBeenSuperseded(db) else {
                throw RepriseError(
                    .journalNewer, "The log was written by a newer version of Reprise.",
                    remedy: "Update the server, or restore the backup made before the update.")
            }
        }
        try migrator.migrate(writer)
    }

    /// The epoch that was minted when the log was made, or restored.
    static func epoch(_ db: Database) throws -> Epoch {
        guard let text = try String.fetchOne(db, sql: "SELECT epoch FROM log") else {
            throw RepriseError(.corrupt, "The log has lost its epoch.")
        }
        return try Epoch(text)
    }

    /// Makes all positions void.
    static func setEpoch(_ epoch: Epoch, _ db: Database) throws {
        try db.execute(sql: "UPDATE log SET epoch = ?", arguments: [epoch.text])
    }

    private static func createFirst(_ db: Database, epoch: Epoch) throws {
        try db.execute(
            sql: """
                PRAGMA application_id = \(applicationID);
                CREATE TABLE log (
                  one INTEGER PRIMARY KEY CHECK (one = 1),
                  epoch TEXT NOT NULL,
                  probes INTEGER NOT NULL DEFAULT 0
                );
                CREATE TABLE channels (
                  key INTEGER PRIMARY KEY,
                  name TEXT NOT NULL UNIQUE,
                  head INTEGER NOT NULL,
                  floor INTEGER NOT NULL DEFAULT 0,
                  count INTEGER NOT NULL,
                  time INTEGER NOT NULL
                );
                CREATE TABLE messages (
                  channel INTEGER NOT NULL,
                  seq INTEGER NOT NULL,
                  prev INTEGER,
                  id TEXT NOT NULL,
                  time INTEGER NOT NULL,
                  body BLOB NOT NULL,
                  PRIMARY KEY (channel, seq)
                ) WITHOUT ROWID;
                CREATE TABLE recent_ids (
                  n INTEGER PRIMARY KEY,
                  id TEXT NOT NULL,
                  channel INTEGER NOT NULL,
                  seq INTEGER NOT NULL
                );
                CREATE TABLE id_runs (
                  run INTEGER PRIMARY KEY,
                  newest INTEGER NOT NULL,
                  filter BLOB NOT NULL
                );
                CREATE TABLE ids (
                  run INTEGER NOT NULL,
                  id TEXT NOT NULL,
                  channel INTEGER NOT NULL,
                  seq INTEGER NOT NULL,
                  PRIMARY KEY (run, id)
                ) WITHOUT ROWID;
                """)
        try db.execute(
            sql: "INSERT INTO log (one, epoch) VALUES (1, ?)", arguments: [epoch.text])
    }
}
