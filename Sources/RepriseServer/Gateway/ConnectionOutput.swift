import NIOCore
import NIOWebSocket

/// Writes a connection's frames, and measures whether the peer takes them.
///
/// A class, because a flush may call the connection back, which then writes.
final class ConnectionOutput {
    /// The frame encoder's context: writing from there bypasses it, because frames are framed
    /// already.
    private var context: ChannelHandlerContext?
    private var isUnflushed = false
    private var written = 0
    private var taken = 0

    func open(_ pipeline: ChannelPipeline) {
        context = try? pipeline.syncOperations.context(handlerType: WebSocketFrameEncoder.self)
    }

    /// What is written from now on fails.
    func close() { context = nil }

    /// - Returns: whether a flush must be scheduled.
    func write(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>?) -> Bool {
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return false
        }
        written += bytes.readableBytes
        context.write(NIOAny(bytes), promise: promise)
        defer { isUnflushed = true }
        return !isUnflushed
    }

    func flush() {
        isUnflushed = false
        context?.flush()
    }

    /// - Parameter waiting: the bytes that the transport still holds.
    /// - Returns: whether the peer has taken bytes since the last call, or none are left.
    func hasProgressed(waiting: Int) -> Bool {
        defer { taken = written - waiting }
        return written - waiting > taken || waiting == 0
    }
}
