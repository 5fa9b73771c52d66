import Foundation
import RepriseCore

/// The key of a development server: made once, stored in its data folder, readable by its user
/// alone.
package enum DevelopmentKey {
    private static let name = "development.key"

    /// Opens the key of a data folder, or makes it.
    ///
    /// - Parameter folder: the data folder; created if missing.
    /// - Returns: the key, for HS256.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, `.notWritable`.
    package static func open(in folder: String) async throws -> SigningKey {
        let path = folder + "/" + name
        try? FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        try makeIfMissing(path)
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let mode = (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? 0o777
        guard mode & 0o077 == 0 else {
            throw RepriseError(
                .badConfiguration, "Others can read \(path), and may have.",
                remedy: "Remove it; the next start makes another.")
        }
        let set = try await KeyFile.read(path)
        guard let key = set.keys.first, set.keys.count == 1, key.algorithm == .hs256 else {
            throw RepriseError(
                .badConfiguration, "\(path) is no key for development.",
                remedy: "Remove it; the next start makes another.")
        }
        return key
    }

    /// Written to a draft first: a kill leaves no partial key.
    private static func makeIfMissing(_ path: String) throws {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        var generator = SystemRandomNumberGenerator()
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let draft = path + ".\(UInt64.random(in: .min ... .max))"
        let descriptor = create(draft)
        guard descriptor >= 0 else { throw notWritable(path) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data((Base64URL.encoded(secret) + "\n").utf8))
            try file.synchronize()
            try file.close()
        } catch {
            unlink(draft)
            throw notWritable(path)
        }
        // link does not replace: of two servers that start at once, one key wins.
        defer { unlink(draft) }
        guard link(draft, path) == 0 || errno == EEXIST else { throw notWritable(path) }
    }

    private static func create(_ path: String) -> Int32 {
        Foundation.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    }

    private static func notWritable(_ path: String) -> RepriseError {
        RepriseError(
            .notWritable, "The key \(path) cannot be made (errno \(errno)).",
            remedy: "Check the folder's permissions.")
    }
}
