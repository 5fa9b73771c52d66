import Foundation
package import Reprise
import Synchronization

/// The proof of a delivery: download → frame → three uploads → a note to the customer.
package enum Proof {
    package struct Input: Codable, Sendable {
        package var order: String

        package init(order: String) { self.order = order }
    }

    package static let chain = Chain<Input>("proof") { input in
        let (raw, framed) = ("\(input.order).raw", "\(input.order).framed")
        Work("download", DownloadWorker.self) { _ in
            .init(url: "http://127.0.0.1:80/photos/\(input.order)", to: SandboxPath("photos", raw))
        }
        Work("frame", FramePhoto.self) { _ in .init(from: raw, to: framed) }
        Parallel {
            for copy in ["customer", "office", "archive"] {
                Work("upload-\(copy)", UploadWorker.self) { _ in
                    .init(
                        SandboxPath("photos", framed),
                        to: "http://127.0.0.1:80/\(copy)/\(input.order)")
                }
            }
        }
        Work("tell", Tell.self) { _ in input.order }
    }
}

/// Puts a frame around a photo, a piece at a time.
package struct FramePhoto: Worker {
    package struct Input: Codable, Sendable {
        package var from: String
        package var to: String

        package init(from: String, to: String) { (self.from, self.to) = (from, to) }
    }

    package static let identifier = "frame"
    private let photos: URL

    package init(photos: URL) { self.photos = photos }

    package func run(_ input: Input, _ work: WorkContext) async throws -> Int {
        let photo = try Data(contentsOf: photos.appendingPathComponent(input.from))
        var framed = work.saved(as: Data.self) ?? Data("[".utf8)
        for byte in photo.dropFirst(framed.count - 1) {
            framed.append(byte)
            try await work.checkpoint(framed)
            await work.progress(Double(framed.count - 1) / Double(photo.count))
        }
        framed.append(UInt8(ascii: "]"))
        try framed.write(to: photos.appendingPathComponent(input.to), options: .atomic)
        return framed.count
    }
}

/// Tells the customer, once: the message's id is the task's key.
struct Tell: Worker {
    static let identifier = "tell"
    let client = ClientReference()

    func run(_ order: String, _ work: WorkContext) async throws -> String {
        let note = OrderNote(text: "It is delivered.")
        let chat = try client.get().channel("order-\(order)", of: OrderNote.self)
        return try await chat.publish(note, id: EntryID(work.key)).text
    }
}

/// The client, which is made after its workers.
final class ClientReference: Sendable {
    private let client = Mutex<RepriseClient?>(nil)

    func set(_ client: RepriseClient) { self.client.withLock { $0 = client } }

    func get() throws -> RepriseClient {
        guard let client = client.withLock(\.self) else { throw CancellationError() }
        return client
    }
}
