import Foundation
import NIOCore
import RepriseCore
import RepriseJournal

/// The phone's state on disk: one file, replaced atomically before any effect of it.
struct PhoneDisk {
    /// The file's content.
    struct Content: Codable {
        var state: PhoneState
        /// The events of the newest change: also in the log, unless the phone was killed between
        /// the two.
        var events: [PhoneEvent]
        /// The origin of the monotonic clock, and the time of this write: the clock continues after
        /// the machine was restarted.
        var boot: String
        var at: PhoneMoment
    }

    private let folder: PhoneFolder
    private let lock: OwnerLock
    private static let limit = 268_435_456

    /// Takes the folder.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.journalOwned` if a phone runs in it.
    init(_ folder: PhoneFolder) throws {
        self.folder = folder
        try DurableFile.makeFolder(folder.url)
        try DurableFile.makeFolder(folder.url.appendingPathComponent("apps"))
        do {
            lock = try OwnerLock(at: folder.lock, takeOver: false)
        } catch let error as RepriseError where error.code == .journalOwned {
            throw RepriseError(
                .journalOwned, "A phone runs in this folder already.",
                remedy: "Talk to that one, or end it with `reprise-lab phone shutdown`.")
        }
        DurableFile.sweep(folder.url, prefixes: [DurableFile.temporaryPrefix])
    }

    func read() throws -> Content? {
        guard let bytes = try DurableFile.read(folder.state, limit: Self.limit) else { return nil }
        do {
            return try PhoneJSON.decode(Content.self, from: ByteBuffer(bytes: bytes))
        } catch {
            throw RepriseError(
                .corrupt, "The phone's state cannot be read.",
                remedy: "Use another folder, or take this one away.", cause: error)
        }
    }

    func write(_ content: Content) throws {
        try DurableFile.write(try PhoneJSON.encode(content), to: folder.state)
    }

    func release() { lock.release() }
}
