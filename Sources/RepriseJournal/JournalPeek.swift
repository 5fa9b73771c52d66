package import Foundation
import GRDB
import RepriseCore

/// Reads a journal that another process may own, without disturbing it.
enum JournalPeek {
    /// Takes no lock, runs no recovery and writes nothing.
    ///
    /// - Returns: nil if the owner has not made its tables yet.
    static func read<T>(
        at folder: JournalFolder, schemas: [JournalSchema], _ body: (Database) throws -> T
    ) throws -> T? {
        try inspected(folder, schemas) { db, migrator in
            guard try db.tableExists("journal") else { return nil }
            // The owner was killed while it made or migrated its tables, or is of an older version.
            guard try migrator.hasCompletedMigrations(db) else {
                return try migrated(db, by: migrator, body)
            }
            return try body(db)
        }
    }

    /// Checks the whole database: a reader of some tables does not notice what others have lost.
    ///
    /// - Throws: `.corrupt` if it is damaged.
    static func check(_ folder: JournalFolder, schemas: [JournalSchema]) throws {
        try inspected(folder, schemas) { db, _ in
            let report = try String.fetchAll(db, sql: "PRAGMA quick_check(1)")
            guard report == ["ok"] else {
                throw DatabaseError(
                    resultCode: .SQLITE_CORRUPT, message: report.joined(separator: " "))
            }
        }
    }

    private static func inspected<T>(
        _ folder: JournalFolder, _ schemas: [JournalSchema],
        _ body: (Database, DatabaseMigrator) throws -> T
    ) throws -> T {
        do {
            return try read(folder) { db in
                let migrator = JournalSchema.migrator(schemas)
                try JournalDatabase.inspect(db, migrator: migrator)
                return try body(db, migrator)
            }
        } catch  where JournalFailure.isDamage(error) {
            throw RepriseError(
                .corrupt, "The database \(folder.database) is damaged.",
                remedy: "An opening that finds the damage keeps the file in the folder “aside” and "
                    + "begins anew. To begin anew now, end the journal's owner and move the file "
                    + "away, with its -wal and -shm.", cause: error)
        } catch {
            throw JournalFailure.classify(error, path: folder.database)
        }
    }

    /// Reads a copy migrated to the current tables; the journal itself must not change.
    private static func migrated<T>(
        _ db: Database, by migrator: DatabaseMigrator, _ body: (Database) throws -> T
    ) throws -> T {
        try withTemporaryFolder { folder in
            let copy = try DatabaseQueue(
                path: folder.appendingPathComponent("journal.sqlite").path)
            defer { try? copy.close() }
            try copy.writeWithoutTransaction { try db.backup(to: $0) }
            try migrator.migrate(copy)
            return try copy.read(body)
        }
    }

    private static func withTemporaryFolder<T>(_ body: (URL) throws -> T) throws -> T {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "reprise-\(EntryID.random().text)")
        defer { try? FileManager.default.removeItem(at: folder) }
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw RepriseError(.diskFailed, "The journal cannot be copied.", cause: error)
        }
        return try body(folder)
    }

    private static func read<T>(_ folder: JournalFolder, _ body: (Database) throws -> T) throws -> T
    {
        let path = folder.database
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
            !isFolder.boolValue
        else { throw folder.absence }
        try JournalDatabase.expectContent(path)
        if FileManager.default.fileExists(atPath: path + "-shm"), !hasOnlyHeader(path + "-wal") {
            return try open(uri(path), body)
        }
        return try readCopy(path, body)
    }

    /// Whether the log has a header and nothing else.
    ///
    /// A kill before the first frame leaves it so. A reader that may not write to the index then
    /// waits 10 s for a dead writer, and gives up with SQLITE_PROTOCOL.
    private static func hasOnlyHeader(_ log: String) -> Bool {
        var information = stat()
        return stat(log, &information) == 0 && information.st_size == 32
    }

    /// Reads a copy, where SQLite would have to write: to make the log's index, or to repair it.
    ///
    /// The folder belongs to another process. No process has the database open, or its log is
    /// empty: so the copy is whole.
    private static func readCopy<T>(_ path: String, _ body: (Database) throws -> T) throws -> T {
        try withTemporaryFolder { folder in
            let files = FileManager.default
            let copy = folder.appendingPathComponent("journal.sqlite").path
            do {
                try files.copyItem(atPath: path, toPath: copy)
                if files.fileExists(atPath: path + "-wal") {
                    try files.copyItem(atPath: path + "-wal", toPath: copy + "-wal")
                }
            } catch {
                throw RepriseError(.diskFailed, "The journal cannot be copied.", cause: error)
            }
            return try open(copy, body)
        }
    }

    /// An opening owner has yet to make the index of its log, and a reader must not make it: SQLite
    /// then reports that a reader cannot write.
    ///
    /// The index appears in a moment; or the owner dies first, and its log is read without one.
    private static func open<T>(_ path: String, _ body: (Database) throws -> T) throws -> T {
        let end = ContinuousClock.now + .seconds(5)
        while true {
            do {
                return try openNow(path, body)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
                guard ContinuousClock.now < end else {
                    throw RepriseError(
                        .busy, "The journal's owner is opening it.", remedy: "Try again.",
                        cause: error)
                }
                usleep(5_000)
            }
        }
    }

    private static func openNow<T>(_ path: String, _ body: (Database) throws -> T) throws -> T {
        var configuration = GRDB.Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read(body)
    }

    private static func uri(_ path: String) -> String {
        let escaped = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
        return "file:\(escaped)?mode=ro&readonly_shm=1"
    }
}

extension Journal {
    /// Checks the whole database of a journal that another process may own, without disturbing it.
    ///
    /// - Parameters:
    ///   - folder: the journal's folder.
    ///   - schemas: all schemas of the features.
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt` if it is damaged; as
    ///   ``ledger(at:schemas:)``.
    package static func check(at folder: URL, schemas: [JournalSchema]) throws {
        try JournalPeek.check(JournalFolder(folder), schemas: schemas)
    }
}
