import Foundation
import RepriseCore

/// A folder for a play with processes of this same program, gone when the play is over.
struct DemoFolder: Sendable {
    let url: URL
    /// This program.
    let program: URL

    /// Creates a folder, calls `body` with it, and removes it.
    ///
    /// - Throws: ``CommandFailure``; what `body` throws.
    static func with<T>(_ body: (DemoFolder) async throws -> T) async throws -> T {
        guard let program = Bundle.main.executableURL else {
            throw CommandFailure(.internal, "The tool does not find its own executable.")
        }
        let folder = DemoFolder(url: try make(), program: program)
        defer { try? FileManager.default.removeItem(at: folder.url) }
        return try await body(folder)
    }

    /// A new folder with a short path, because there may be a socket in it.
    ///
    /// - Throws: ``CommandFailure`` `.cannotCreate`.
    static func make() throws -> URL {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "reprise-demo-\(EntryID.random().text.prefix(8))")
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .cannotCreate, "The folder \(url.path) cannot be created. Set TMPDIR to another.")
        }
        return url
    }
}
