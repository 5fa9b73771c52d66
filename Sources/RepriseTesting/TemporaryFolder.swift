public import Foundation

/// A folder of its own for a test; gone with the last reference to it.
///
/// ```swift
/// let folder = try TemporaryFolder()
/// let journal = try await Journal.open(at: folder.url, kinds: kinds)
/// ```
public final class TemporaryFolder: Sendable {
    /// Where it is.
    public let url: URL

    /// Makes a folder.
    ///
    /// - Throws: what the file system says.
    public init() throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// A name in the folder.
    ///
    /// - Parameter path: below the folder.
    /// - Returns: where that is; nothing is made.
    public func appending(_ path: String) -> URL { url.appendingPathComponent(path) }
}
