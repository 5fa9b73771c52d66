import Foundation
import GRDB
import RepriseCore
import RepriseWire

/// Copies a data folder that a server is using, and restores such a copy.
///
/// Works beside a running server, in its process or in another: it copies SQLite's own snapshots,
/// never files.
///
/// ```swift
/// try Backup.make(of: "/var/lib/reprise", to: "/backup/monday")
/// // The folder is empty, and no server runs.
/// try Backup.restore(from: "/backup/monday", to: "/var/lib/reprise")
/// ```
///
/// **Consistency.** The log is a snapshot taken after the call. The accounts are a snapshot taken
/// after the log's: they contain each channel of the copied log with its settings and members, and
/// users removed by then stay removed. Positions and joining heads beyond the copied log, which
/// come from messages between the two snapshots, are cut back to it; else a restored channel's next
/// messages would count as read.
///
/// **Restoring.** A restored log may assign sequences again that devices have seen, so it gets a
/// new epoch. The copy itself has one too, in case its files are put in place by hand. Only its
/// first use is safe then: a second needs `reprise serve --restored`.
package enum Backup {
    /// The contents of a copy.
    package struct Report: Hashable, Sendable {
        package let channels: Int
        package let messages: Int64
        package let bytes: Int64
    }

    /// Copies a data folder's log and accounts.
    ///
    /// - Parameters:
    ///   - data: the data folder; a server may be using it. Writes continue meanwhile, and the
    ///     log's WAL grows until the copy is complete.
    ///   - path: the copy's folder: empty or missing. The copy is complete once `messages.sqlite`
    ///     is in it.
    /// - Returns: the contents of the copy; both files have been checked.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if `path` is not empty,
    ///   `.notAJournal` without a log, `.corrupt` if the check of the copy fails, `.diskFull`,
    ///   `.notWritable`, `.diskFailed`.
    @discardableResult
    package static func make(of data: String, to path: String) throws -> Report {
        try LogFolder.expectDatabase(in: data, to: "back up")
        // Not read-only: a reader of a log in use takes part in its locks.
        return try copy(from: data, isReadOnly: false, to: path)
    }

    /// Restores a copy, with a new epoch and this version's schema.
    ///
    /// - Parameters:
    ///   - path: a copy by ``make(of:to:)``; it is not changed.
    ///   - data: the data folder: empty or missing.
    /// - Returns: the restored contents.
    /// - Throws: as ``make(of:to:)``; and `.journalNewer` if a newer version made the copy.
    @discardableResult
    package static func restore(from path: String, to data: String) throws -> Report {
        try LogFolder.expectDatabase(in: path, to: "restore")
        return try copy(from: path, isReadOnly: true, to: data)
    }

    private static func copy(
        from source: String, isReadOnly: Bool, to target: String
    ) throws -> Report {
        try Placement.fill(target) { place in
            // The order matters: see **Consistency** above.
            try copy(.log, from: source, isReadOnly: isReadOnly, to: place)
            try copy(.accounts, from: source, isReadOnly: isReadOnly, to: place)
            let copied = try change(.log, in: place) { log -> Report in
                try ServerDatabase.log.prepare(log, LogSchema.migrator(newEpoch: { .random() }))
                try log.write { try LogSchema.setEpoch(.random(), $0) }
                return try log.read { try report($0) }
            }
            // The log is of this version now.
            try change(.accounts, in: place) { accounts in
                try ServerDatabase.accounts.prepare(accounts, AccountsSchema.migrator())
                try cutBack(accounts, to: place)
            }
            guard let copied else {
                throw RepriseError(.diskFailed, "The copied log has vanished.")
            }
            return copied
        }
    }

    private static func file(_ kind: ServerDatabase, in folder: String) -> String? {
        let path = folder + "/\(kind.file).sqlite"
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }

    /// Copies one database as a snapshot; nil if it does not exist.
    private static func copy(
        _ kind: ServerDatabase, from source: String, isReadOnly: Bool, to target: String
    ) throws {
        guard let file = file(kind, in: source) else { return }
        do {
            var settings = GRDB.Configuration()
            settings.busyMode = .timeout(5)
            settings.readonly = isReadOnly
            let from = try DatabaseQueue(path: file, configuration: settings)
            let to = try DatabaseQueue(path: target + "/\(kind.file).sqlite")
            // In one step: a copy in several restarts whenever another process writes.
            try from.backup(to: to, pagesPerStep: -1)
            try to.close()
            try from.close()
        } catch {
            throw kind.typed(error)
        }
    }

    /// Opens a copy, changes it, checks it and leaves it as one file; nil if it does not exist.
    @discardableResult
    private static func change<Value>(
        _ kind: ServerDatabase, in folder: String, _ body: (DatabaseQueue) throws -> Value
    ) throws -> Value? {
        guard let file = file(kind, in: folder) else { return nil }
        do {
            let queue = try DatabaseQueue(path: file)
            let value = try body(queue)
            let disposition = try queue.read {
                try String.fetchOne($0, sql: "PRAGMA quick_check(1)")
            }
            guard disposition == "ok" else {
                throw RepriseError(
                    .corrupt, "The copy of the \(kind.name) is damaged: \(disposition ?? "").",
                    remedy: "Take another backup, and look at the disk.")
            }
            // Without a WAL, so that the copy can be read from a read-only place.
            try queue.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA journal_mode = DELETE")
            }
            try queue.close()
            return value
        } catch {
            throw kind.typed(error)
        }
    }

    /// Cuts positions back to the head of the log in a folder; the accounts learn the log's epoch
    /// anew.
    static func cutBack(_ accounts: some DatabaseWriter, to folder: String) throws {
        try accounts.writeWithoutTransaction { db in
            try db.execute(
                sql: "ATTACH DATABASE ? AS log",
                arguments: [folder + "/\(ServerDatabase.log.file).sqlite"])
            for (table, column) in [
                ("positions", "read"), ("positions", "delivered"),
                ("device_positions", "delivered"), ("device_positions", "pushed"),
                ("push_walks", "through"), ("members", "joined"),
            ] {
                try db.execute(
                    sql: """
                        UPDATE main.\(table) SET \(column) = min(\(column), coalesce(
                        (SELECT head FROM log.heads WHERE name = \(table).channel), 0))
                        """)
            }
            // A scan beyond the head restarts, and pending pushes of missing messages are dropped.
            let head = "coalesce((SELECT head FROM log.heads WHERE name = channel), 0)"
            try db.execute(
                sql: """
                    UPDATE main.push_walks SET target = NULL, user = '' WHERE target > \(head);
                    DELETE FROM main.push_queue WHERE seq > \(head);
                    DELETE FROM main.push_early WHERE through > \(head);
                    """)
            // Directories are told anew, under ids that the log cannot have.
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO directory_changes (user, channel)
                    SELECT user, '' FROM directories;
                    DELETE FROM directories;
                    UPDATE directory_key SET key = randomblob(32);
                    """)
            try db.execute(sql: "DELETE FROM its_log; DETACH DATABASE log")
        }
    }

    static func report(_ db: Database) throws -> Report {
        let row = try Row.fetchOne(
            db, sql: "SELECT count(*), coalesce(sum(count), 0) FROM heads")
        let pages = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
        let pageBytes = try Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 0
        return Report(
            channels: try row?.checked(0) ?? 0, messages: try row?.checked(1) ?? 0,
            bytes: pages * pageBytes)
    }
}
