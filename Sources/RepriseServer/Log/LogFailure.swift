import GRDB
import RepriseCore

/// Says what a failure of SQLite means for the log.
enum LogFailure {
    static func typed(_ error: any Error) -> RepriseError {
        if let error = error as? RepriseError { return error }
        guard let error = error as? DatabaseError else {
            return RepriseError(.unavailable, "The log could not answer.", cause: error)
        }
        switch error.resultCode {
        case .SQLITE_FULL:
            return RepriseError(
                .diskFull, "There is no space left for the log; nothing was stored.",
                remedy: "Free some space; the log goes on by itself.", cause: error)
        case .SQLITE_NOTADB, .SQLITE_CORRUPT:
            return RepriseError(
                .corrupt, "The log's file is damaged or is no SQLite database.",
                remedy: "Keep the file for inspection and restore a backup into the data folder.",
                cause: error)
        case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
            return RepriseError(
                .notWritable, "The log's file cannot be written.",
                remedy: "Let this user write to the data folder.", cause: error)
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            return RepriseError(
                .busy, "Another process holds the log's file.",
                remedy: "Close the tool that has it open.", cause: error)
        case .SQLITE_MISUSE:
            return RepriseError(.closed, "The log is closed.", cause: error)
        default:
            return RepriseError(
                .diskFailed, "The log's file could not be read or written.", cause: error)
        }
    }
}
