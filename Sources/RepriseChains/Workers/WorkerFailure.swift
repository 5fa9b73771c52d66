import Foundation
public import RepriseCore

extension RepriseError.Code {
    /// A path leaves the sandbox, or contains a link.
    public static let outsideSandbox = Self(ChainsErrorCode.outsideSandbox.rawValue)
    /// A URL whose address the app must not access.
    public static let addressRefused = Self(ChainsErrorCode.addressRefused.rawValue)
    /// The file does not exist.
    public static let noSuchFile = Self(ChainsErrorCode.noSuchFile.rawValue)
    /// A file is there already, and it must not be replaced.
    public static let fileExists = Self(ChainsErrorCode.fileExists.rawValue)
    /// The content differs from its expected checksum.
    public static let checksumMismatch = Self(ChainsErrorCode.checksumMismatch.rawValue)
}

/// Maps a worker's errors for the engine.
enum WorkerFailure {
    /// A retry is pointless after these.
    private static let permanent: Set<RepriseError.Code> = [
        .outsideSandbox, .addressRefused, .noSuchFile, .fileExists, .tooLarge, .badConfiguration,
        .refused, .notWritable,
    ]

    static func isPermanent(_ error: RepriseError) -> Bool { permanent.contains(error.code) }

    /// Runs a worker, and marks the errors after which a retry is pointless.
    ///
    /// - Throws: `DispatchFailure.permanent` with the code and the message; what `body` throws.
    static func sorting<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as RepriseError where isPermanent(error) {
            throw DispatchFailure.permanent("\(error.code): \(error)")
        }
    }

    /// A system error as an error with a code.
    static func system(_ number: Int32, _ what: String) -> RepriseError {
        let text = SystemText(number)
        switch number {
        case ENOSPC, EDQUOT:
            return RepriseError(
                .diskFull, "There is no space to \(what).", remedy: "Free some.", cause: text)
        case EACCES, EPERM, EROFS:
            return RepriseError(
                .notWritable, "The system does not let us \(what).",
                remedy: "Look at the permissions of the folder.", cause: text)
        case ENOENT:
            return RepriseError(
                .noSuchFile, "There is nothing there to \(what).", remedy: "Look at the path.",
                cause: text)
        case ELOOP:
            return RepriseError(
                .outsideSandbox, "A link stands where we should \(what).",
                remedy: "Name the file itself; no link is followed.", cause: text)
        default:
            return RepriseError(
                .diskFailed, "The disk failed to \(what).", remedy: "Try again.", cause: text)
        }
    }
}

private struct SystemText: Error, CustomStringConvertible {
    let description: String

    init(_ number: Int32) { description = String(cString: strerror(number)) }
}
