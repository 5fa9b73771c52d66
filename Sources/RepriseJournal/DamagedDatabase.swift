import Foundation
import GRDB
import RepriseCore

/// Decides whether a database is damaged, and moves it aside only on proof: it may hold the only
/// copy of its content, so a doubt is never enough.
struct DamagedDatabase {
    let folder: JournalFolder

    /// Moves the database aside if `error` or a check proves the damage.
    ///
    /// - Returns: its new place.
    /// - Throws: ``RepriseCore/RepriseError`` `.diskFailed` if the check finds nothing: the
    ///   database stays in its place.
    func setAside(reportedBy error: any Error) throws -> URL {
        let isNoDatabase = (error as? DatabaseError)?.resultCode == .SQLITE_NOTADB
        if try !isNoDatabase && !isDamaged() {
            throw RepriseError(
                .diskFailed, "SQLite reported damage in the journal that a check does not confirm.",
                remedy: "Nothing was discarded; try again.", cause: error)
        }
        return try move()
    }

    /// Checks the database and moves it aside if it is damaged.
    func setAsideIfDamaged() throws -> URL? {
        guard FileManager.default.fileExists(atPath: folder.database) else { return nil }
        return try isDamaged() ? try move() : nil
    }

    private func isDamaged() throws -> Bool {
        do {
            return try JournalDatabase.look(folder.database) { db in
                guard try JournalDatabase.isBegun(db) else { return false }
                try SchemaSeal.check(db)
                return try String.fetchAll(db, sql: "PRAGMA integrity_check(1)") != ["ok"]
            }
        } catch  where JournalFailure.isDamage(error) {
            return true
        }
    }

    /// The database first: otherwise SQLite could take its log for that of a new one.
    private func move() throws -> URL {
        try DurableFile.makeFolder(folder.aside)
        let name = "journal-\(SystemTimekeeper().wall().milliseconds)"
        let target = folder.aside.appendingPathComponent("\(name).sqlite")
        try DurableFile.move(folder.database, to: target.path)
        for suffix in ["-wal", "-shm"]
        where FileManager.default.fileExists(atPath: folder.database + suffix) {
            try DurableFile.move(folder.database + suffix, to: target.path + suffix)
        }
        makeRoom()
        return target
    }

    private func makeRoom() {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.aside.path)) ?? []
        let databases = files.filter { $0.hasPrefix("journal-") && $0.hasSuffix(".sqlite") }
        for old in databases.sorted().dropLast(JournalLimits.databasesAside) {
            let path = folder.aside.appendingPathComponent(old).path
            for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        }
    }
}
