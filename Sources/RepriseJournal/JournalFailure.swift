import Foundation
import GRDB
import RepriseCore

/// Tells a failing disk from a damaged journal from a caller's mistake: each needs its own
/// reaction, and only proved damage ever moves a file.
enum JournalFailure {
    /// The typed error for SQLite's reports about the file or the disk; any other error is the
    /// caller's own and stays unchanged.
    static func classify(_ error: any Error, path: String) -> any Error {
        guard let failure = error as? DatabaseError else { return error }
        switch failure.resultCode {
        case .SQLITE_FULL:
            return full(cause: error)
        case .SQLITE_IOERR:
            return isFull(path)
                ? full(cause: error)
                : RepriseError(
                    .diskFailed, "The disk failed under the journal.",
                    remedy: "Nothing was discarded; try again.", cause: error)
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL:
            return RepriseError(
                .busy, "Another process keeps the journal locked.",
                remedy: "Try again; if a frozen process holds it, end that process.", cause: error)
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_CANTOPEN, .SQLITE_AUTH:
            return RepriseError(
                .notWritable, "The journal cannot be opened or written.",
                remedy: "Check the permissions of its folder.", cause: error)
        case .SQLITE_CORRUPT, .SQLITE_NOTADB:
            return RepriseError(
                .corrupt, "SQLite reports damage in the journal.",
                remedy: "Open the journal again: it will be checked.", cause: error)
        case .SQLITE_MISUSE where failure.message?.contains("closed") == true:
            return RepriseError(.closed, "The journal is closed.")
        default:
            return error
        }
    }

    static func isFullDisk(_ error: any Error) -> Bool {
        (error as? DatabaseError)?.resultCode == .SQLITE_FULL
    }

    static func isDamage(_ error: any Error) -> Bool {
        guard let failure = error as? DatabaseError else { return false }
        return failure.resultCode == .SQLITE_CORRUPT || failure.resultCode == .SQLITE_NOTADB
    }

    /// Whether a statement met a row that SQLite does not change, because a value in it is not of
    /// its column's type: a damaged one, or a mistake of the caller.
    static func isOfAType(_ error: any Error) -> Bool {
        guard let failure = error as? DatabaseError else { return false }
        return failure.extendedResultCode == .SQLITE_CONSTRAINT_DATATYPE
            || failure.extendedResultCode == .SQLITE_CONSTRAINT_NOTNULL
    }

    /// Whether it is about one row: a damaged one, or one that its reader does not understand.
    static func isOfARow(_ error: any Error) -> Bool {
        (error as? RepriseError)?.code == .corrupt || error is RowDecodingError || isOfAType(error)
    }

    /// The typed error for a system call on a file of the journal; `path` is its argument, nil for
    /// a file that is open already.
    static func system(_ number: Int32, _ doing: String, at path: String? = nil) -> RepriseError {
        let cause = SystemFailure(number: number, doing: doing)
        if let path, [ENOTDIR, EISDIR].contains(number) { return misplaced(path, cause) }
        switch number {
        case ENOSPC, EDQUOT:
            return full(cause: cause)
        case EACCES, EPERM, EROFS:
            return RepriseError(
                .notWritable, "The file system refuses to let us write.",
                remedy: "Check the permissions of the journal's folder.", cause: cause)
        default:
            return RepriseError(
                .diskFailed, "The disk failed.", remedy: "Nothing was discarded; try again.",
                cause: cause)
        }
    }

    /// A file in the place of a folder, or the other way round.
    private static func misplaced(_ path: String, _ cause: SystemFailure) -> RepriseError {
        // The nearest that exists: of a path through a file, the file.
        var place = URL(fileURLWithPath: path)
        var information = stat()
        while stat(place.path, &information) != 0, place.pathComponents.count > 1 {
            place.deleteLastPathComponent()
        }
        let isFolder = information.st_mode & S_IFMT == S_IFDIR
        return RepriseError(
            .notAJournal,
            isFolder
                ? "\(place.path) is a folder, and a file belongs there."
                : "\(place.path) is a file, and a folder belongs there.",
            remedy: "Name another folder, or move it away.", cause: cause)
    }

    private static func full(cause: any Error) -> RepriseError {
        RepriseError(
            .diskFull, "The disk is full.", remedy: "Free some space and try again.", cause: cause)
    }

    /// SQLite reports a full disk as an I/O error when it fills a hole in its index of the
    /// write-ahead log.
    private static func isFull(_ path: String) -> Bool {
        var information = statvfs()
        guard statvfs(path, &information) == 0 else { return false }
        return UInt64(information.f_bavail) * UInt64(information.f_frsize) < 65_536
    }
}

/// A system call that failed.
struct SystemFailure: Error, CustomStringConvertible {
    let number: Int32
    let doing: String

    var description: String { "\(doing): \(String(cString: strerror(number)))" }
}
