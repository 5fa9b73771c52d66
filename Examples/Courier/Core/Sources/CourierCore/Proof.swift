public import Foundation
public import Reprise
import Synchronization

/// The proof of a delivery: the customer's photo → a frame around it → three uploads → a note.
enum Proof {
    /// Written into the journal, so that a running proof goes on after an update.
    struct Input: Codable, Sendable {
        var order: Order
        var office: String
        /// Whether the system fetches the photo, also while the app is dead.
        var isTransferred: Bool
    }

    static let chain = Chain<Input>("proof") { input in
        let (raw, framed) = ("\(input.order.id).raw", "\(input.order.id).framed")
        let photo = "\(input.office)/photos/\(input.order.id)"
        if input.isTransferred {
            Work("download", TransferWorker.self) { _ in
                .init(.download(to: SandboxPath("photos", raw)), url: photo)
            }
        } else {
            Work("download", DownloadWorker.self) { _ in
                .init(url: photo, to: SandboxPath("photos", raw))
            }
        }
        Work("frame", FramePhoto.self) { _ in .init(from: raw, to: framed) }
        Parallel {
            for copy in ["customer", "office", "archive"] {
                Work("upload-\(copy)", UploadWorker.self) { _ in
                    .init(
                        SandboxPath("photos", framed),
                        to: "\(input.office)/\(copy)/\(input.order.id)")
                }
            }
        }
        Work("tell", Tell.self) { _ in input.order.chat }
    }
}

/// Puts a frame around a photo, a piece at a time.
public struct FramePhoto: Worker {
    /// The names of two files.
    public struct Input: Codable, Sendable {
        var from: String
        var to: String

        /// Names them.
        public init(from: String, to: String) { (self.from, self.to) = (from, to) }
    }

    /// Kept: running chains name it.
    public static let identifier = "frame"
    private let photos: URL

    /// - Parameter photos: the folder of both files.
    public init(photos: URL) { self.photos = photos }

    /// Goes on from its checkpoint, which is a position: the bytes are in a file.
    public func run(_ input: Input, _ work: WorkContext) async throws -> Int {
        let photo = try Data(contentsOf: photos.appending(path: input.from))
        let framed = photos.appending(path: input.to)
        let part = photos.appending(path: input.to + ".part")
        var done = work.saved(as: Int.self) ?? 0
        if done == 0 || !FileManager.default.fileExists(atPath: part.path) {
            done = 0
            try Data("[".utf8).write(to: part)
        }
        let file = try FileHandle(forUpdating: part)
        defer { try? file.close() }
        try file.truncate(atOffset: UInt64(done + 1))
        try file.seekToEnd()
        while done < photo.count {
            let piece = photo.dropFirst(done).prefix(max(1, photo.count / 100))
            try file.write(contentsOf: piece)
            try file.synchronize()
            done += piece.count
            try await work.checkpoint(done)
            await work.progress(Double(done) / Double(photo.count))
        }
        try file.write(contentsOf: Data("]".utf8))
        try? FileManager.default.removeItem(at: framed)
        try FileManager.default.moveItem(at: part, to: framed)
        return done + 2
    }
}

/// Tells the customer, once: the message's id is the task's key.
struct Tell: Worker {
    static let identifier = "tell"
    let client: ClientReference

    func run(_ chat: String, _ work: WorkContext) async throws -> String {
        let chat = try client.get().channel(chat, of: OrderNote.self)
        let note = OrderNote(text: "It is delivered.")
        return try await chat.publish(note, id: EntryID(work.key)).text
    }
}

/// The client, which is made after its workers.
final class ClientReference: Sendable {
    private let client = Mutex<RepriseClient?>(nil)

    func set(_ client: RepriseClient) { self.client.withLock { $0 = client } }

    /// A worker that comes too early is tried again.
    func get() throws -> RepriseClient {
        guard let client = client.withLock(\.self) else {
            throw RepriseError(.unavailable, "The app has not begun.")
        }
        return client
    }
}
