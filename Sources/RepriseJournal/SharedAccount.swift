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
    /// The part of the journal from before a sign-in.
    package static let anonymous = "anonymous"

    /// What an extension finds.
    package enum Part: Hashable, Sendable {
        /// The folder of the spool and the mirror, and whose they are; nil: of one journal, which
        /// knows its user.
        case folder(URL, user: String?)
        /// Nobody is signed in.
        case nobody
        /// The file cannot be read, as before the first unlock, or its content is unusable.
        case unusable
    }

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

    /// The part that an extension uses.
    package func current() -> Part {
        let bytes: [UInt8]?
        do { bytes = try DurableFile.read(file, limit: Self.bytes) } catch { return .unusable }
        guard let bytes else { return hasParts ? .nobody : .folder(folder, user: nil) }
        let name = String(decoding: bytes, as: UTF8.self)
        // Beside it and nowhere else, whatever the file contains.
        guard name.hasPrefix("user-"), let user = Base32.decode(name.dropFirst(5)) else {
            return .unusable
        }
        return .folder(folder.appendingPathComponent(name), user: user)
    }

    private var hasParts: Bool {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.contains { $0 == Self.anonymous || $0.hasPrefix("user-") }
    }
}
