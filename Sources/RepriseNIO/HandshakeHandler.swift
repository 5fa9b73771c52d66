import NIOCore
import NIOWebSocket
import RepriseCore

/// Requests the WebSocket upgrade (RFC 6455 §4.1), and makes a `NIOSocket` of the connection when
/// the server accepts.
///
/// NIO's own upgrade removes the HTTP decoder from the pipeline one tick after it reads the answer.
/// The last frames of a server that answers, sends and closes at once (because it is full) are then
/// lost: the end arrives before the decoder is gone. Here the pipeline changes before another byte
/// is read.
final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: HandshakeRequest
    private let maximumFrameBytes: Int
    private let closeTimeout: Duration
    private let promise: EventLoopPromise<NIOSocket>
    private(set) var received = ByteBuffer()
    private var searched = 0
    /// Whether what still comes is dropped: a connection with TLS takes its time to close.
    private var hasFailed = false

    init(
        request: HandshakeRequest, maximumFrameBytes: Int, closeTimeout: Duration,
        promise: EventLoopPromise<NIOSocket>
    ) {
        self.closeTimeout = closeTimeout
        self.request = request
        self.maximumFrameBytes = maximumFrameBytes
        self.promise = promise
    }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request.text)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasFailed else { return }
        received.writeImmutableBuffer(unwrapInboundIn(data))
        do {
            let answer = try HandshakeResponse(readingFrom: &received, searched: &searched)
            guard let head = answer else { return }
            try request.check(head)
            try upgrade(context)
        } catch {
            fail(request.failure(error), context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // A server that is starting or stopping looks like this; a retry may succeed.
        promise.fail(
            RepriseError(
                .unreachable, "\(request.endpoint) closed the connection before it answered.",
                remedy: "Try again; if it stays so, look at the server's log."))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let failure = CertificateFailure.explain(error, context, request.endpoint) {
            return fail(failure, context)
        }
        fail(
            RepriseError(
                .unreachable, "The connection to \(request.endpoint) broke during the handshake.",
                remedy: "Try again; if it stays so, look at the server's log.", cause: error),
            context)
    }

    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        hasFailed = true
        received = ByteBuffer()
        promise.fail(error)
        context.close(promise: nil)
    }

    private func upgrade(_ context: ChannelHandlerContext) throws {
        let inbox = Inbox()
        let pipeline = context.pipeline.syncOperations
        let decoder = WebSocketFrameDecoder(maxFrameSize: maximumFrameBytes)
        try pipeline.addHandlers([
            ByteToMessageHandler(decoder),
            SocketHandler(
                inbox: inbox, maximumFrameBytes: maximumFrameBytes, timeout: closeTimeout),
        ])
        promise.succeed(NIOSocket(channel: context.channel, inbox: inbox))
        // Bytes behind the answer are already frames. The caller passes the end of this read on.
        if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
        pipeline.removeHandler(context: context, promise: nil)
    }
}
