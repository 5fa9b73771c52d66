import Foundation
import NIOCore
import RepriseCore
import RepriseJournal

/// The state of a phone on its disk: one file, replaced whole, before anything that it says is
/// done.
struct PhoneDisk {
    /// What the file holds.
    struct Content: Codable {
        var state: PhoneState
        /// What happened with the newest change: in the log too, unless the phone was killed
        /// between the two.
        var events: [PhoneEvent]
        /// What the clock that never jumps counts from, and when this was written: after the
        /// machine was restarted it is set to go on.
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
                remedy: "Talk to that one, or end it with `reprise phone shutdown`.")
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
