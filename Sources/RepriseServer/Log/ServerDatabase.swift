import GRDB
import RepriseCore

/// The common part of the server's databases: identification, migration and durability.
struct ServerDatabase: Sendable {
    /// The name in error messages: "the log".
    let name: String
    /// The file's name without its extension.
    let file: String
    /// Identifies the file as Reprise's.
    let applicationID: Int32
    /// The writer's page cache, in KiB.
    let writerCache: Int
    /// Whether a commit is on the disk when it returns.
    var isDurable = true

    /// "RPSL" in ASCII.
    static let log = ServerDatabase(
        name: "log", file: "messages", applicationID: 0x5250_534c, writerCache: 16_384)
    /// "RPAC" in ASCII.
    static let accounts = ServerDatabase(
        name: "accounts", file: "accounts", applicationID: 0x5250_4143, writerCache: 8_192)
    /// "RPVW" in ASCII.
    ///
    /// The journal of a cluster is durable: what a power loss takes is applied again.
    static let view = ServerDatabase(
        name: "view", file: "view", applicationID: 0x5250_5657, writerCache: 16_384,
        isDurable: false)

    /// Refuses a foreign, newer or damaged file before it is opened for writing: that alone changes
    /// it, and an operator may need it as it is.
    ///
    /// - Parameters:
    ///   - path: the file; this process has its lock.
    ///   - migrator: see ``prepare(_:_:)``.
    ///   - check: more to check in a database that is begun.
    /// - Throws: as ``prepare(_:_:)``, and the error of `check`.
    func inspect(
        _ path: String, _ migrator: DatabaseMigrator, _ check: (Database) throws -> Void = { _ in }
    ) throws {
        var settings = GRDB.Configuration()
        settings.readonly = true
        settings.busyMode = .timeout(Double(Self.busyMilliseconds) / 1_000)
        do {
            let queue = try DatabaseQueue(path: path, configuration: settings)
            defer { try? queue.close() }
            try queue.read { db in
                try expectOurs(db, migrator)
                if try !migrator.appliedIdentifiers(db).isEmpty { try check(db) }
            }
        } catch let error as DatabaseError
            where [.SQLITE_READONLY, .SQLITE_CANTOPEN].contains(error.resultCode)
        {
            // A process was killed in its first transaction, which only a writer can roll back; or
            // the folder cannot be written. Opening it for writing tells which.
            return
        }
    }

    /// Migrates the database to this version.
    ///
    /// - Parameters:
    ///   - writer: a pool's writer or a queue.
    ///   - migrator: its first migration sets the application id.
    /// - Throws: ``RepriseCore/RepriseError`` `.notAJournal`, `.journalNewer`; a `DatabaseError`.
    func prepare(_ writer: some DatabaseWriter, _ migrator: DatabaseMigrator) throws {
        try writer.writeWithoutTransaction { try expectOurs($0, migrator) }
        try migrator.migrate(writer)
    }

    private func expectOurs(_ db: Database, _ migrator: DatabaseMigrator) throws {
        let found = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        // GRDB's migrator creates its table in a transaction before the first migration: a server
        // killed in between leaves that table alone.
        let isEmpty =
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM sqlite_schema WHERE tbl_name <> 'grdb_migrations'")
            == 0 && migrator.appliedIdentifiers(db).isEmpty
        guard found != applicationID || !isEmpty else {
            // SQLite takes an emptied first page for a new database.
            throw DatabaseError(
                resultCode: .SQLITE_CORRUPT, message: "the schema is empty, and no statement did it"
            )
        }
        guard found == applicationID || (found == 0 && isEmpty) else {
            throw RepriseError(
                .notAJournal, "The file of the \(name) is a database of another program.",
                remedy: "Choose another data folder.")
        }
        guard try !migrator.hasBeenSuperseded(db) else {
            throw RepriseError(
                .journalNewer, "The \(name) was written by a newer version of Reprise.",
                remedy: "Update the server, or restore the backup made before the update.")
        }
    }

    /// Marks a new file; the first migration does it.
    ///
    /// A view is marked before what it consists of.
    func identify(_ db: Database) throws {
        guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == 0 else { return }
        try db.execute(sql: "PRAGMA application_id = \(applicationID)")
    }

    /// GRDB's pool sets `synchronous` to NORMAL while it opens; that would lose acknowledged writes
    /// at a power loss.
    func makeDurable(_ db: Database) throws {
        // With a larger cache and rarer checkpoints, a page that many commits change is written
        // once.
        try db.execute(
            sql: """
                PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL");
                PRAGMA secure_delete = ON;
                PRAGMA cache_size = -\(writerCache);
                PRAGMA wal_autocheckpoint = 4096
                """)
        let synchronous = try Int.fetchOne(db, sql: "PRAGMA synchronous")
        let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode")
        guard synchronous == (isDurable ? 2 : 1), mode == "wal" else {
            throw RepriseError(
                .diskFailed, "The data folder's file system does not support SQLite's WAL mode.",
                remedy: "Choose a folder on a local disk.")
        }
    }

    /// Checkpoints and truncates the write-ahead log, so that content erased from the database is
    /// in neither file.
    ///
    /// - Parameter db: the writer, outside of a transaction.
    /// - Returns: whether the write-ahead log is empty; false while a reader holds an older
    ///   snapshot: try again later.
    /// - Throws: a `DatabaseError`.
    func emptyWriteAheadLog(_ db: Database) throws -> Bool {
        // A backup may read for minutes; the writer does not wait for it.
        try db.execute(sql: "PRAGMA busy_timeout = 50")
        defer { try? db.execute(sql: "PRAGMA busy_timeout = \(Self.busyMilliseconds)") }
        return try Int.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") == 0
    }

    /// How long to wait for another process that locks the file.
    static let busyMilliseconds = 5_000

    /// Closes an unused pool and leaves one file with all content.
    ///
    /// The last connection to close checkpoints the write-ahead log, which a reader may not do: the
    /// pool would close the writer first. This fails only while a statement runs; then the
    /// process's end closes the files as safely, and the next open recovers.
    func close(_ pool: DatabasePool) {
        pool.invalidateReadOnlyConnections()
        try? pool.close()
    }

    /// Translates a failure of SQLite; `path` is the file where its disk may be full.
    func typed(_ error: any Error, at path: String? = nil) -> RepriseError {
        if let error = error as? RepriseError { return error }
        guard let error = error as? DatabaseError else {
            return RepriseError(.unavailable, "The \(name) could not answer.", cause: error)
        }
        switch error.resultCode {
        case .SQLITE_FULL where !isDurable:
            return RepriseError(
                .diskFull, "There is no space left for the \(name): this gateway has stopped.",
                remedy: "Free some space, and start it again: it goes on where it was.",
                cause: error)
        case .SQLITE_FULL:
            return RepriseError(
                .diskFull, "There is no space left for the \(name); nothing was stored.",
                remedy: "Free some space; the server goes on by itself.", cause: error)
        case .SQLITE_IOERR where path.map(LogFolder.isFull) ?? false:
            // SQLite reports so that it cannot make its index of the write-ahead log.
            return RepriseError(
                .diskFull, "There is no space left for the \(name).",
                remedy: "Free some space, and start the server again.", cause: error)
        case .SQLITE_NOTADB where !isDurable, .SQLITE_CORRUPT where !isDurable:
            return RepriseError(
                .corrupt, "The file of the \(name) is damaged or is no SQLite database.",
                remedy: "Remove it: it is made anew from the journal.", cause: error)
        case .SQLITE_NOTADB, .SQLITE_CORRUPT:
            return RepriseError(
                .corrupt, "The file of the \(name) is damaged or is no SQLite database.",
                remedy: "Keep the file for inspection and restore a backup into the data folder.",
                cause: error)
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
            return RepriseError(
                .notWritable, "The file of the \(name) cannot be written.",
                remedy: "Let this user write to the data folder.", cause: error)
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL:
            return RepriseError(
                .busy, "Another process holds the file of the \(name).",
                remedy: "Close the tool that has it open.", cause: error)
        case .SQLITE_MISUSE:
            return RepriseError(.closed, "The \(name) is closed.", cause: error)
        default:
            return RepriseError(
                .diskFailed, "The file of the \(name) could not be read or written.",
                remedy: "Check the disk and its free space.", cause: error)
        }
    }
}
