import NIOCore
import NIOSSL
import NIOWebSocket
import RepriseCore

/// Moves frames between the network and an `Inbox`, and follows RFC 6455 on the way.
///
/// Backpressure is NIO's own: with the inbox full, `read` is not passed on, so the kernel's buffer
/// fills and the peer has to wait. Taking from the inbox calls `read` again.
final class SocketHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Requests a close frame with this code; sent through the pipeline, so that it stays behind
    /// earlier writes.
    struct CloseRequest: Sendable { let code: UInt16 }

    /// Requests a ping; its promise succeeds at the next pong.
    struct PingRequest: Sendable {}

    private let inbox: Inbox
    /// The timeout of a close.
    private let timeout: Duration
    private var assembler: MessageAssembler
    private var batch: [[UInt8]] = []
    private var isClosing = false
    /// The promises that wait for a pong.
    private var pings: [EventLoopPromise<Void>] = []
    /// The code with which this side has reported a violation by the peer.
    ///
    /// Its answer repeats that code (RFC 6455 §5.5.1) and says nothing about the peer's wishes:
    /// taken for the peer's own code, bytes damaged on the way would keep a client from ever
    /// reconnecting.
    private var complaint: UInt16?

    init(inbox: Inbox, maximumFrameBytes: Int, timeout: Duration) {
        self.inbox = inbox
        self.timeout = timeout
        assembler = MessageAssembler(maximumBytes: maximumFrameBytes)
    }

    // MARK: From the network

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        if isClosing {
            // Only the peer's answer to the close frame matters.
            if frame.opcode == .connectionClose { ended(context, frame) }
            return
        }
        switch assembler.frameReceived(frame) {
        case .message(let message): batch.append(message)
        case .none:
            if frame.opcode == .pong { endPings { $0.succeed() } }
        case .ping(let payload):
            // RFC 6455 §5.5.3 allows answering only some: so pings of a peer that does not read the
            // pongs cost nothing.
            guard context.channel.isWritable else { return }
            let pong = FrameWriter.control(
                .pong, payload, allocator: context.channel.allocator)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .close(let code): peerCloses(context, code)
        case .violation(let code, let reason): fail(context, code, reason)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        hand()
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        hand()
        inbox.finish(SocketFailure("The connection ended without a close frame."))
        endPings { $0.fail(ChannelError.ioOnClosedChannel) }
        context.fireChannelInactive()
    }

    private func endPings(_ end: (EventLoopPromise<Void>) -> Void) {
        let ended = pings
        pings = []
        for ping in ended { end(ping) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        hand()
        switch error {
        case NIOWebSocketError.invalidFrameLength:
            fail(context, 1009, "A frame is larger than was agreed.")
        // After its close frame a peer need not end TLS as well.
        case NIOSSLError.uncleanShutdown: break
        case is NIOWebSocketError:
            fail(context, 1002, "The peer sent what is not a WebSocket frame.")
        default:
            inbox.finish(SocketFailure("The connection failed: \(error)"))
            context.close(promise: nil)
        }
    }

    private func hand() {
        guard !batch.isEmpty else { return }
        inbox.deliver(batch)
        batch.removeAll(keepingCapacity: true)
    }

    private func peerCloses(_ context: ChannelHandlerContext, _ code: UInt16?) {
        hand()
        inbox.peerCode = code ?? 1005
        inbox.finish(nil)
        isClosing = true
        let channel = context.channel
        // The peer's code is echoed; a close without a code gets a frame without a code.
        writeClose(context, code).assumeIsolated().whenComplete { _ in
            channel.close(promise: nil)
        }
        closeAtLast(context)
    }

    private func ended(_ context: ChannelHandlerContext, _ frame: WebSocketFrame) {
        if case .close(let code) = assembler.frameReceived(frame), code == nil || code != complaint
        {
            inbox.peerCode = code ?? 1005
        }
        context.close(promise: nil)
    }

    private func fail(_ context: ChannelHandlerContext, _ code: UInt16, _ reason: String) {
        hand()
        inbox.finish(SocketFailure(reason))
        if !isClosing { complaint = code }
        beginClosing(context, code)
    }

    // MARK: From the socket

    func read(context: ChannelHandlerContext) {
        if !inbox.isFull { context.read() }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isClosing else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.write(data, promise: promise)
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        if event is PingRequest { return ping(context, promise) }
        guard let request = event as? CloseRequest else {
            context.triggerUserOutboundEvent(event, promise: promise)
            return
        }
        inbox.discard()
        beginClosing(context, request.code)
        context.read()  // the peer's answer may wait behind what nobody will read now
        promise?.succeed()
    }

    private func ping(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
        guard let promise else { return }
        guard !isClosing, context.channel.isActive else {
            return promise.fail(ChannelError.ioOnClosedChannel)
        }
        pings.append(promise)
        let frame = FrameWriter.control(
            .ping, context.channel.allocator.buffer(capacity: 0),
            allocator: context.channel.allocator)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    private func beginClosing(_ context: ChannelHandlerContext, _ code: UInt16) {
        guard !isClosing else { return }
        isClosing = true
        _ = writeClose(context, code)
        closeAtLast(context)
    }

    private func writeClose(
        _ context: ChannelHandlerContext, _ code: UInt16?
    ) -> EventLoopFuture<Void> {
        var payload = context.channel.allocator.buffer(capacity: 2)
        if let code { payload.writeInteger(code) }
        let frame = FrameWriter.control(
            .connectionClose, payload, allocator: context.channel.allocator)
        return context.writeAndFlush(wrapOutboundOut(frame))
    }

    private func closeAtLast(_ context: ChannelHandlerContext) {
        let channel = context.channel
        let timer = context.eventLoop.scheduleTask(in: TimeAmount(timeout)) {
            channel.close(promise: nil)
        }
        channel.closeFuture.whenComplete { _ in timer.cancel() }
    }
}
