package import Foundation
import RepriseCore

/// The current part of a shared folder: a file in it, replaced whole, that an extension follows.
///
///     SHARED/
///       account                   the name of a folder beside it
///       user-…/                   spool and mirror of an account
///       anonymous/
///
/// Without the file the folder belongs to one journal, or, if it has parts, nobody is signed in.
package struct SharedAccount: Sendable {
    /// The most bytes of the file.
    package static let bytes = 1_024

    private let folder: URL
    private var file: String { folder.appendingPathComponent("account").path }

    package init(in folder: URL) { self.folder = folder }

    /// - Throws: ``RepriseCore/RepriseError`` `.diskFull`, `.notWritable`, `.diskFailed`.
    package func write(_ name: String) throws {
        try DurableFile.makeFolder(folder)
        try DurableFile.write(Array(name.utf8), to: file)
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.diskFailed`.
    package func remove() throws {
        guard unlink(file) != 0, errno != ENOENT else { return }
        throw JournalFailure.system(errno, "remove a file", at: file)
    }

    /// The folder of the spool and the mirror that an extension uses.
    ///
    /// - Returns: nil: nobody is signed in, or the file's content is unusable.
    package func current() -> URL? {
        let bytes: [UInt8]?
        do { bytes = try DurableFile.read(file, limit: Self.bytes) } catch { return nil }
        guard let bytes else { return hasParts ? nil : folder }
        let name = String(decoding: bytes, as: UTF8.self)
        // Beside it and nowhere else, whatever the file contains.
        guard name.hasPrefix("user-"), Base32.decode(name.dropFirst(5)) != nil else { return nil }
        return folder.appendingPathComponent(name)
    }

    private var hasParts: Bool {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.contains { $0 == "anonymous" || $0.hasPrefix("user-") }
    }
}
