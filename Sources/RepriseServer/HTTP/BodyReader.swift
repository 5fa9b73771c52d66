import Hummingbird
import NIOCore
import RepriseCore

/// Reads a request's body piece by piece, within limits of bytes and time.
///
/// The time is checked whenever something arrives; a silent peer meets the connection's idle
/// timeout.
struct BodyReader {
    /// The rest of the body.
    let pieces: BodyPieces
    private let byteLimit: Int
    private let deadline: ContinuousClock.Instant
    private(set) var byteCount = 0
    private(set) var isAtEnd = false
    /// Whether reading has stopped because the server is ending.
    private(set) var isCutShort = false

    init(_ request: Request, byteLimit: Int, time: Duration) {
        pieces = BodyPieces(request.body)
        self.byteLimit = byteLimit
        deadline = .now + time
    }

    /// Refuses by `Content-Length`, before anything is read.
    func checkLength(_ request: Request) throws {
        guard let length = request.headers[.contentLength].flatMap({ Int($0) }) else { return }
        guard length <= byteLimit else { throw Self.tooLarge(byteLimit) }
    }

    /// The next piece; nil at the end.
    mutating func next() async throws -> ByteBuffer? {
        try await next { try await $0.next() }
    }

    /// The next piece; nil at the end.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    mutating func nextUnlessCancelled() async throws -> ByteBuffer? {
        do {
            return try await next { try await $0.nextUnlessCancelled() }
        } catch let error as CancellationError {
            isCutShort = true
            throw error
        }
    }

    private mutating func next(
        _ take: (BodyPieces) async throws -> ByteBuffer?
    ) async throws -> ByteBuffer? {
        guard let piece = try await nextPiece(take) else {
            isAtEnd = true
            return nil
        }
        byteCount += piece.readableBytes
        guard byteCount <= byteLimit else { throw Self.tooLarge(byteLimit) }
        guard ContinuousClock.now < deadline else {
            throw RepriseError(
                .timedOut, "The body took too long to arrive.",
                remedy: "What was stored is stored: send it again with the same ids.")
        }
        return piece
    }

    /// An incomplete body or invalid chunks are the peer's error, not the server's.
    private mutating func nextPiece(
        _ take: (BodyPieces) async throws -> ByteBuffer?
    ) async throws -> ByteBuffer? {
        do {
            return try await take(pieces)
        } catch let error as RepriseError {
            throw error  // the connection knows better what is wrong
        } catch let error where !(error is CancellationError) {
            isAtEnd = true
            throw RepriseError(
                .malformed, "The body ended before it was whole.",
                remedy: "What was stored is stored: send it again with the same ids.",
                cause: error)
        }
    }

    /// The whole body.
    mutating func all() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await next() { bytes.append(contentsOf: piece.readableBytesView) }
        return bytes
    }

    private static func tooLarge(_ limit: Int) -> RepriseError {
        RepriseError(.tooLarge, "A request of this kind has at most \(limit) bytes.")
    }
}
