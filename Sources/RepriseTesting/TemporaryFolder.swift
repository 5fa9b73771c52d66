public import Foundation

/// A test's own folder; removed with the last reference to it.
///
/// ```swift
/// let folder = try TemporaryFolder()
/// let journal = try await Journal.open(at: folder.url, kinds: kinds)
/// ```
public final class TemporaryFolder: Sendable {
    /// Its path.
    public let url: URL

    /// Makes a folder.
    ///
    /// - Throws: the file system's errors.
    public init() throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// A path in the folder.
    ///
    /// - Parameter path: below the folder.
    /// - Returns: the path; nothing is made.
    public func appending(_ path: String) -> URL { url.appendingPathComponent(path) }
}
