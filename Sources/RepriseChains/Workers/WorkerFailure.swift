import Foundation
public import RepriseCore

extension RepriseError.Code {
    /// A path leaves the sandbox, or a link stands in it.
    public static let outsideSandbox = Self("outsideSandbox")
    /// A URL leads where the app must not ask.
    public static let addressRefused = Self("addressRefused")
    /// There is no such file.
    public static let noSuchFile = Self("noSuchFile")
    /// A file is there already, and it must not be replaced.
    public static let fileExists = Self("fileExists")
    /// The content is not what was promised.
    public static let checksumMismatch = Self("checksumMismatch")
}

/// What a worker's errors mean to the engine.
enum WorkerFailure {
    /// Trying again changes nothing about these.
    private static let permanent: Set<RepriseError.Code> = [
        .outsideSandbox, .addressRefused, .noSuchFile, .fileExists, .tooLarge, .badConfiguration,
        .refused, .notWritable,
    ]

    static func isPermanent(_ error: RepriseError) -> Bool { permanent.contains(error.code) }

    /// Does a worker's work, and says of its errors which are of no use to try again.
    ///
    /// - Throws: `HandOverFailure.permanent` with the code and the message; what `body` throws.
    static func sorting<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as RepriseError where isPermanent(error) {
            throw HandOverFailure.permanent("\(error.code): \(error)")
        }
    }

    /// What the system says, as an error with a code.
    static func system(_ number: Int32, _ what: String) -> RepriseError {
        let text = SystemText(number)
        switch number {
        case ENOSPC, EDQUOT:
            return RepriseError(
                .diskFull, "There is no room to \(what).", remedy: "Free some.", cause: text)
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
