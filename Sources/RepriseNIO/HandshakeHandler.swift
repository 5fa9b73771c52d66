import NIOCore
import NIOWebSocket
import RepriseCore

/// Asks the server to speak WebSocket (RFC 6455 §4.1), and makes a `NIOSocket` of the connection
/// when it agrees.
///
/// NIO's own upgrade takes the HTTP decoder out of the pipeline one tick later than it reads the
/// answer. A server that answers, sends and hangs up at once (because it is full, say) then loses
/// its last words: the end comes before the decoder is gone. Here the pipeline changes before
/// another byte is read.
final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: HandshakeRequest
    private let maximumFrameBytes: Int
    private let closePatience: Duration
    private let promise: EventLoopPromise<NIOSocket>
    private var received = ByteBuffer()
    private var searched = 0

    init(
        request: HandshakeRequest, maximumFrameBytes: Int, closePatience: Duration,
        promise: EventLoopPromise<NIOSocket>
    ) {
        self.closePatience = closePatience
        self.request = request
        self.maximumFrameBytes = maximumFrameBytes
        self.promise = promise
    }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request.text)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        do {
            let answer = try HandshakeResponse(readingFrom: &received, searched: &searched)
            guard let head = answer else { return }
            try request.check(head)
            try upgrade(context)
        } catch {
            promise.fail(request.failure(error))
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        // A server that is just being started or stopped looks like this; it is worth another try.
        promise.fail(
            RepriseError(
                .unreachable, "\(request.endpoint) closed the connection before it answered.",
                remedy: "Try again; if it stays so, look at the server's log."))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let failure = CertificateFailure.explain(error, context, request.endpoint) {
            promise.fail(failure)
            return context.close(promise: nil)
        }
        promise.fail(
            RepriseError(
                .unreachable, "The connection to \(request.endpoint) broke during the handshake.",
                remedy: "Try again; if it stays so, look at the server's log.", cause: error))
        context.close(promise: nil)
    }

    private func upgrade(_ context: ChannelHandlerContext) throws {
        let inbox = Inbox()
        let pipeline = context.pipeline.syncOperations
        let decoder = WebSocketFrameDecoder(maxFrameSize: maximumFrameBytes)
        try pipeline.addHandlers([
            ByteToMessageHandler(decoder),
            SocketHandler(
                inbox: inbox, maximumFrameBytes: maximumFrameBytes, patience: closePatience),
        ])
        promise.succeed(NIOSocket(channel: context.channel, inbox: inbox))
        // What came with the answer is frames already. The end of this read is passed on by whoever
        // called us.
        if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
        pipeline.removeHandler(context: context, promise: nil)
    }
}
