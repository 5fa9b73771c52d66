public import Foundation
import RepriseCore

/// One small file that the owner of a journal replaces and others read: mutes, read positions,
/// badge.
///
/// ```swift
/// let mirror = Mirror<Mutes>(in: sharedFolder, version: 1)
/// try await journal.replace(mirror, with: mutes)  // the app
/// let mutes = try mirror.read()?.value            // its extension
/// ```
///
/// A reader sees the old value or the new one, never a partial one.
public struct Mirror<Value: Codable & Sendable>: Sendable {
    /// The content of the file.
    public struct Content: Codable, Sendable {
        /// The version of the value's format.
        public let version: Int
        /// When it was written, by the device's calendar, in milliseconds since 1970.
        public let writtenAt: Int64
        /// The value that was written last.
        public let value: Value
    }

    /// Where the content is; replaced whole by a rename.
    public let file: URL
    /// The version of the value's format that this program writes and reads.
    public let version: Int

    /// Names the mirror of a journal.
    ///
    /// - Parameters:
    ///   - folder: the journal's folder, or the shared folder that it was configured with.
    ///   - version: raised when older programs can no longer read the value's format.
    public init(in folder: URL, version: Int = 1) {
        file = folder.appendingPathComponent("mirror.json")
        self.version = version
    }

    /// Reads the value that the owner wrote last.
    ///
    /// - Returns: nil if it never wrote one.
    /// - Throws: ``RepriseCore/RepriseError`` `.journalNewer` if a newer program wrote it;
    ///   `.malformed`, `.tooLarge`, `.diskFailed`, `.notWritable`.
    public func read() throws -> Content? {
        guard let bytes = try DurableFile.read(file.path, limit: JournalLimits.mirrorBytes) else {
            return nil
        }
        do {
            let found = try ForeignJSON.decode(MirrorVersion.self, from: bytes).version
            guard found <= version else {
                throw RepriseError(
                    .journalNewer, "The mirror was written by a newer version.",
                    remedy: "Update this program.")
            }
            return try ForeignJSON.decode(Content.self, from: bytes)
        } catch let error as RepriseError {
            throw error
        } catch {
            throw RepriseError(.malformed, "The mirror cannot be read.", cause: error)
        }
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`, and the file system's errors.
    func write(_ value: Value, at time: WallTime) throws {
        let content = Content(version: version, writtenAt: time.milliseconds, value: value)
        let bytes = [UInt8](try JSONEncoder().encode(content))
        guard bytes.count <= JournalLimits.mirrorBytes else {
            throw RepriseError(
                .tooLarge,
                "A mirror of \(bytes.count) bytes; \(JournalLimits.mirrorBytes) is the most.")
        }
        try DurableFile.write(bytes, to: file.path)
    }
}

private struct MirrorVersion: Codable {
    var version: Int
}
