import Hummingbird
import NIOCore

/// The pieces of a request's body, read by the handler and, if it stops early, then by the writer
/// of its answer.
///
/// Hummingbird ends the process if a body is iterated twice, so both share one iterator.
final class BodyPieces: @unchecked Sendable {
    // Unchecked, because one task at a time uses the iterator: the handler returns before the
    // answer is written.
    private var iterator: RequestBody.AsyncIterator
    /// A cancelled caller's pending read: its piece goes to the next caller.
    private var reading: Task<ByteBuffer?, any Error>?

    init(_ body: RequestBody) { iterator = body.makeAsyncIterator() }

    /// The next piece; nil at the end.
    func next() async throws -> ByteBuffer? {
        guard let reading else { return try await iterator.next(isolation: #isolation) }
        self.reading = nil
        return try await reading.value
    }

    /// The next piece, for a caller that may be cancelled without losing it: cancelling the
    /// iterator would end it, and with it the connection before its answer.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func nextUnlessCancelled() async throws -> ByteBuffer? {
        try Task.checkCancellation()
        let (arrivals, arrived) = AsyncThrowingStream<ByteBuffer?, any Error>.makeStream()
        reading = Task {
            do {
                let piece = try await iterator.next(isolation: nil)
                arrived.yield(piece)
                return piece
            } catch {
                arrived.finish(throwing: error)
                throw error
            }
        }
        do {
            for try await piece in arrivals {
                reading = nil
                return piece
            }
        } catch {
            reading = nil
            throw error
        }
        throw CancellationError()
    }
}
