import Foundation
import RepriseCore
import Synchronization

/// The folder of a database, and the lock that excludes a second server.
///
/// The system releases the lock when the process ends in any way, so a kill needs no clean-up. The
/// lock's file tells a database that was cut to nothing from one that was never begun: it has
/// content once the database is made.
final class LogFolder: Sendable {
    let database: String
    private let lock: Mutex<Int32>

    /// Creates a missing folder, and takes the lock.
    ///
    /// Throws ``RepriseCore/RepriseError`` `.notAJournal`, `.notWritable`, `.diskFull`,
    /// `.diskFailed`, `.journalOwned`, `.corrupt`, `.badConfiguration`.
    init(_ path: String, _ kind: ServerDatabase) throws {
        if kind.file != ServerDatabase.accounts.file {
            try Self.refuseJournal(in: path)
            try Self.refuseOther(than: kind, in: path)
        }
        try Self.create(path)
        database = path + "/\(kind.file).sqlite"
        guard !Self.isFolder(database) else {
            throw RepriseError(
                .notAJournal,
                "\(database) is a folder, and the file of the \(kind.name) belongs there.",
                remedy: "Choose another data folder.")
        }
        lock = Mutex(try Self.takeLock(path + "/\(kind.file).lock", folder: path))
        if size(database) == 0, size(path + "/\(kind.file).lock") > 0 {
            throw RepriseError(
                .corrupt, "The file of the \(kind.name) is empty, and was not before.",
                remedy: "Restore a backup into the data folder; to begin anew, remove the file.")
        }
        Self.makePrivate(database)
    }

    /// Notes that the database is made.
    ///
    /// A failure is ignored: it costs the notice of a file cut to nothing, and no content.
    func begin() {
        lock.withLock { _ = pwrite($0, "begun\n", 6, 0) }
    }

    /// In bytes; -1 if there is no such file.
    private func size(_ path: String) -> Int {
        // Not `stat`: an optimised build does not find its module here.
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        return (attributes?[.size] as? NSNumber)?.intValue ?? -1
    }

    deinit { release() }

    /// Refuses a folder without a log, and creates none; `verb` names the operation.
    static func expectDatabase(in path: String, to verb: String) throws {
        let file = ServerDatabase.log.file + ".sqlite"
        guard !FileManager.default.fileExists(atPath: path + "/" + file) else { return }
        throw RepriseError(
            .notAJournal, "There is no message log in \(path) to \(verb).",
            remedy: "Check the path: \(file) belongs there.")
    }

    /// Refuses a device's folder: a new log does not begin beside a journal.
    private static func refuseJournal(in path: String) throws {
        let files = FileManager.default
        guard files.fileExists(atPath: path + "/journal.sqlite"),
            !files.fileExists(atPath: path + "/\(ServerDatabase.log.file).sqlite")
        else { return }
        throw RepriseError(
            .notAJournal, "The folder \(path) holds the journal of a device.",
            remedy: "Choose another data folder.")
    }

    /// Refuses to begin a log beside a view, or a view beside a log: neither server would see what
    /// the other has, which looks like a loss.
    private static func refuseOther(than kind: ServerDatabase, in path: String) throws {
        let isView = kind.file == ServerDatabase.view.file
        let other: ServerDatabase = isView ? .log : .view
        let files = FileManager.default
        guard files.fileExists(atPath: path + "/\(other.file).sqlite"),
            !files.fileExists(atPath: path + "/\(kind.file).sqlite")
        else { return }
        throw isView
            ? RepriseError(
                .badConfiguration, "The folder \(path) has the messages of a single server.",
                remedy: "`reprise cluster seed` moves them into a cluster; give --data a folder "
                    + "of its own.")
            : RepriseError(
                .badConfiguration, "The folder \(path) has a gateway's view of a cluster.",
                remedy: "Start it with the cluster's --log, or give --data a folder of its own.")
    }

    /// Releases the lock; a second call does nothing.
    func release() {
        lock.withLock { file in
            guard file >= 0 else { return }
            // Explicit, because a child being spawned still has the file, and with it the lock.
            flock(file, LOCK_UN)
            Foundation.close(file)
            file = -1
        }
    }

    private static func create(_ path: String) throws {
        if isFolder(path) { return }
        guard !FileManager.default.fileExists(atPath: path) else {
            throw RepriseError(
                .notAJournal, "\(path) is a file, and the log needs a folder.",
                remedy: "Choose another data folder.")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw RepriseError(
                .notWritable, "The data folder \(path) cannot be made.",
                remedy: "Choose a folder that this user may write to.", cause: error)
        }
    }

    /// Makes the database readable for this user alone; SQLite gives its companions the same mode.
    ///
    /// A missing one is created empty, so that its mode is right from the start. Failures are
    /// ignored: SQLite reports what is wrong with the file.
    private static func makePrivate(_ database: String) {
        for path in ["", "-wal", "-shm", "-journal"].map({ database + $0 }) {
            let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (path == database ? O_CREAT : 0)
            let file = open(path, flags, 0o600)
            guard file >= 0 else { continue }
            fchmod(file, 0o600)
            Foundation.close(file)
        }
    }

    /// Whether the file system of a file has less room than an opening takes.
    static func isFull(_ path: String) -> Bool {
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: path)
        guard let free = attributes?[.systemFreeSize] as? NSNumber else { return false }
        return free.int64Value < 65_536
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            && isFolder.boolValue
    }

    private static func takeLock(_ path: String, folder: String) throws -> Int32 {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw failure(errno, folder) }
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            let number = errno
            if number == EINTR { continue }
            Foundation.close(file)
            guard number == EWOULDBLOCK else { throw failure(number, folder) }
            throw RepriseError(
                .journalOwned, "Another server uses the data folder \(folder).",
                remedy: "Stop that server, or give this one a folder of its own.")
        }
        return file
    }

    private static func failure(_ number: Int32, _ folder: String) -> RepriseError {
        switch number {
        case ENOSPC, EDQUOT:
            RepriseError(
                .diskFull, "There is no space left for the data folder \(folder).",
                remedy: "Free some space.", cause: POSIXError(number))
        case EACCES, EPERM, EROFS:
            RepriseError(
                .notWritable, "The data folder \(folder) cannot be written.",
                remedy: "Let this user write to it, or choose another folder.",
                cause: POSIXError(number))
        default:
            RepriseError(
                .diskFailed, "The data folder \(folder) cannot be locked.",
                cause: POSIXError(number))
        }
    }

    /// An error number as the system names it.
    private struct POSIXError: Error, CustomStringConvertible {
        let number: Int32
        init(_ number: Int32) { self.number = number }
        var description: String { String(cString: strerror(number)) }
    }
}
