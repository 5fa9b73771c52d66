import HTTPTypes
import Hummingbird
import NIOCore

/// A body that its sender withholds until `100 Continue` (`Expect: 100-continue`, RFC 9110
/// §10.1.1).
///
/// `100 Continue` is sent at the first read, so a request that is refused without its body is
/// refused before the body is sent.
struct AwaitedBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let body: RequestBody
    let channel: any Channel

    static func isAwaited(_ request: Request) -> Bool {
        request.headers[values: .expect].contains { $0.lowercased() == "100-continue" }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var pieces: RequestBody.AsyncIterator
        var channel: (any Channel)?

        mutating func next() async throws -> ByteBuffer? {
            try await next(isolation: nil)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> ByteBuffer? {
            if let channel {
                self.channel = nil
                channel.triggerUserOutboundEvent(BodyAwaited(), promise: nil)
            }
            return try await pieces.next(isolation: actor)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pieces: body.makeAsyncIterator(), channel: channel)
    }
}
