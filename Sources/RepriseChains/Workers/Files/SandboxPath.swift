import RepriseCore

/// A file below one of the named folders of a ``Sandbox``.
///
/// ```swift
/// SandboxPath("documents", "photos/1.jpg")
/// ```
///
/// Stored with a chain's input, and still right after an update of the app has moved its container.
public struct SandboxPath: Hashable, Sendable, Codable, CustomStringConvertible {
    /// Which of the sandbox's folders.
    public var root: String
    /// The relative path: parts with `/` between them; no `..`, `.`, empty part or NUL, at most
    /// 1,024 bytes.
    public var path: String

    /// Names a file, without any check.
    ///
    /// - Parameters:
    ///   - root: the name of the sandbox's folder.
    ///   - path: relative to it.
    public init(_ root: String, _ path: String) {
        self.root = root
        self.path = path
    }

    /// As a person reads it.
    public var description: String { "\(root):\(path)" }

    /// The parts of the path.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.outsideSandbox`.
    func parts() throws -> [String] {
        guard !path.isEmpty, path.utf8.count <= WorkerLimits.path else {
            throw refused("A path has 1 to \(WorkerLimits.path) bytes")
        }
        guard path.utf8.first != UInt8(ascii: "/") else { throw refused("It is absolute") }
        guard !path.utf8.contains(0) else { throw refused("It holds a NUL") }
        // By bytes: a character may join the slash with a combining mark.
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.count <= WorkerLimits.pathParts else { throw refused("It has too many parts") }
        guard parts.allSatisfy({ (1...WorkerLimits.pathPart).contains($0.utf8.count) }) else {
            throw refused("Each of its parts has 1 to \(WorkerLimits.pathPart) bytes")
        }
        guard !parts.contains(where: { $0 == "." || $0 == ".." }) else {
            throw refused("It climbs")
        }
        return parts
    }

    private func refused(_ why: String) -> RepriseError {
        RepriseError(
            .outsideSandbox,
            "This is no path in the sandbox: \(String(reflecting: "\(self)")). \(why).",
            remedy: "Name a file below one of the sandbox's folders, as in photos/1.jpg.")
    }
}
