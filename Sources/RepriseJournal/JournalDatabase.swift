import Foundation
import GRDB
import GRDBSQLite
import RepriseCore

/// Opens a journal's database so that "committed" means "on the disk".
enum JournalDatabase {
    /// Opens the database that this process owns.
    static func open(_ path: String, busyTimeout: Duration) throws -> DatabasePool {
        var configuration = GRDB.Configuration()
        configuration.label = "reprise.journal"
        configuration.busyMode = .timeout(busyTimeout.inSeconds)
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF")
            #if canImport(Darwin)
                // There fsync leaves the data in the drive's cache.
                try db.execute(sql: "PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON")
            #endif
            if !db.configuration.readonly { try prepareWriter(db) }
        }
        DurableFile.makePrivate(path)
        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction(makeDurable)
        return pool
    }

    /// The pool sets `synchronous` to NORMAL implicitly, which loses acknowledged commits at a
    /// power loss.
    private static func makeDurable(_ db: Database) throws {
        try db.execute(sql: "PRAGMA synchronous = FULL")
        guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else {
            throw RepriseError(.internal, "SQLite does not take synchronous = FULL.")
        }
    }

    private static func prepareWriter(_ db: Database) throws {
        // The log stays when the owner closes, so that others can read a closed journal without
        // writing to its folder.
        var isPersistent: CInt = 1
        let code = sqlite3_file_control(
            db.sqliteConnection, nil, SQLITE_FCNTL_PERSIST_WAL, &isPersistent)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        // Random ids dirty pages all over their index: a larger log and cache write and read each
        // page less often.
        try db.execute(
            sql: """
                PRAGMA journal_size_limit = 16777216;
                PRAGMA wal_autocheckpoint = 4000;
                PRAGMA cache_size = -8192;
                """)
    }

    /// Opens a database for inspection: before this process owns it, or to prove damage.
    static func look<T>(_ path: String, _ body: (Database) throws -> T) throws -> T {
        try expectContent(path)
        do {
            return try look(path, readonly: true, body)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
            // A process was killed in its very first transaction, before the write-ahead log
            // existed: only a writable connection can roll it back. Nothing else is written.
            return try look(path, readonly: false, body)
        }
    }

    private static func look<T>(
        _ path: String, readonly: Bool, _ body: (Database) throws -> T
    ) throws -> T {
        var configuration = GRDB.Configuration()
        configuration.readonly = readonly
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read(body)
    }

    /// Refuses a foreign or newer database, before anything is written.
    static func inspect(_ db: Database, migrator: DatabaseMigrator) throws {
        guard try isBegun(db) else { return }  // a process was killed while it made it
        guard
            try Int32.fetchOne(db, sql: "PRAGMA application_id") == EntryTable.applicationID
        else {
            // The migrator's table comes in a transaction before the first migration of Reprise.
            if try migrator.appliedIdentifiers(db).isEmpty, try hasOnlyMigrations(db) { return }
            throw RepriseError(
                .notAJournal, "journal.sqlite is the database of another program.",
                remedy: "Name another folder.")
        }
        try SchemaSeal.check(db)
        guard try !migrator.hasBeenSuperseded(db) else {
            throw RepriseError(
                .journalNewer,
                "The journal was written by a newer version, or with features that are missing here.",
                remedy: "Update Reprise.")
        }
    }

    /// Whether anything was ever committed to the database.
    ///
    /// - Throws: a `DatabaseError` of damage if it was, and is gone: SQLite takes an emptied first
    ///   page for a new database, and all entries would be missing in silence.
    static func isBegun(_ db: Database) throws -> Bool {
        let tables = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM sqlite_schema") ?? 0
        guard tables == 0 else { return true }
        let id = try Int32.fetchOne(db, sql: "PRAGMA application_id")
        let seal = try Int32.fetchOne(db, sql: "PRAGMA user_version")
        // Not the number of pages: GRDB makes and drops a table before anything is committed.
        guard id == 0, seal == 0 else {
            throw DatabaseError(
                resultCode: .SQLITE_CORRUPT, message: "the schema is empty, and no statement did it"
            )
        }
        return false
    }

    /// Refuses a file cut to nothing; before SQLite opens it, which would delete its log.
    ///
    /// A write-ahead log beside an empty file tells it from a database that was never begun: SQLite
    /// makes the log after the file's first page. So the log is looked for first: the database may
    /// just be made.
    static func expectContent(_ path: String) throws {
        var information = stat()
        guard access(path + "-wal", F_OK) == 0, stat(path, &information) == 0,
            information.st_size == 0
        else { return }
        throw DatabaseError(
            resultCode: .SQLITE_CORRUPT, message: "the file is empty beside its write-ahead log")
    }

    private static func hasOnlyMigrations(_ db: Database) throws -> Bool {
        let names = try String.fetchAll(db, sql: "SELECT tbl_name FROM sqlite_master")
        return names.allSatisfy { $0 == "grdb_migrations" }
    }
}
