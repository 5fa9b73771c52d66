import Hummingbird
import NIOCore

/// The pieces of a request's body, to be read by the handler and, if it stops early, on by the writer of its answer.
///
/// Hummingbird ends the process if a body is iterated twice, so there is one iterator and it is handed on.
final class BodyPieces: @unchecked Sendable {
    // Unchecked, because the iterator is used by one task: the handler has returned before the answer is written.
    private var iterator: RequestBody.AsyncIterator

    init(_ body: RequestBody) { iterator = body.makeAsyncIterator() }

    /// The next piece; nil at the end.
    func next() async throws -> ByteBuffer? {
        try await iterator.next(isolation: #isolation)
    }
}
