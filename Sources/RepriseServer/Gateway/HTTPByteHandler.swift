import NIOCore

/// Stands between the transport and the HTTP parser: gives the parser one request at a time, and
/// counts unsent bytes.
///
/// `HTTPRequestHandler`, behind the parser, performs the decisions of `HTTPConnectionMachine`.
final class HTTPByteHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let connections: HTTPConnections
    private let isSecure: Bool
    private let requests: HTTPRequestHandler
    private var scanner = RequestHeadScanner()
    private var context: ChannelHandlerContext?
    private var held = ByteBuffer()
    private var isFeeding = false
    private var isReadHeld = false
    private var isEndHeld = false
    private var seat: HTTPConnections.Seat?
    private var reported = 0

    /// A reference cycle, until the pipeline releases `requests`.
    init(for requests: HTTPRequestHandler, _ connections: HTTPConnections, isSecure: Bool) {
        self.requests = requests
        self.connections = connections
        self.isSecure = isSecure
    }

    // MARK: Lifecycle

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func channelActive(context: ChannelHandlerContext) {
        seat = connections.take(for: context.remoteAddress)
        guard seat != nil else { return context.close(promise: nil) }
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        held = ByteBuffer()
        leave()
    }

    private func leave() {
        if let seat { connections.giveBack(seat) }
        seat = nil
        report(0)
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        requests.bytesReceived(bytes.readableBytes)
        if case .closing = requests.machine.phase { return }
        if held.readableBytes == 0 { held = bytes } else { held.writeBuffer(&bytes) }
        feed()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // The router reads no more once its answer is written.
        if case .closing = requests.machine.phase { context.read() }
    }

    func read(context: ChannelHandlerContext) {
        guard requests.machine.mayRead(isHoldingBytes: held.readableBytes > 0) else {
            isReadHeld = true
            return
        }
        requests.readBegan()
        context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed else {
            return context.fireUserInboundEventTriggered(event)
        }
        isEndHeld = true
        endIfEmpty()
    }

    /// Gives the parser the bytes it may have, then reads the socket.
    func readNext() {
        feed()
        context?.fireChannelReadComplete()
        endIfEmpty()
        guard let context, isReadHeld else { return }
        isReadHeld = false
        read(context: context)
    }

    private func feed() {
        guard !isFeeding else { return }
        isFeeding = true
        defer { isFeeding = false }
        while let context, let bytes = nextBytes() {
            requests.bytesFed(bytes.readableBytes)
            context.fireChannelRead(wrapInboundOut(bytes))
        }
        if held.readableBytes == 0 { held = ByteBuffer() }
    }

    private func nextBytes() -> ByteBuffer? {
        let most = min(requests.feedable, held.readableBytes)
        guard most > 0 else { return nil }
        let isHead = requests.machine.phase == .head
        return held.readSlice(
            length: isHead ? scanner.length(in: held.readableBytesView) : most)
    }

    /// The parser learns of the end after all earlier bytes.
    private func endIfEmpty() {
        guard isEndHeld, held.readableBytes == 0, requests.machine.phase != .answering else {
            return
        }
        isEndHeld = false
        context?.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    /// The connection keeps its place, which is given back by whoever calls this.
    func giveUpSeat() -> HTTPConnections.Seat? {
        defer { seat = nil }
        return seat
    }

    /// Input now goes to the WebSocket handlers, including buffered bytes.
    func open() {
        guard let context else { return }
        leave()
        if held.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(held)) }
        held = ByteBuffer()
        context.fireChannelReadComplete()
        if isEndHeld { context.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    // MARK: Writing

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let count = unwrapOutboundIn(data).readableBytes
        guard count > 0, seat != nil else { return context.write(data, promise: promise) }
        let promise = promise ?? context.eventLoop.makePromise()
        requests.bytesWritten(count)
        report(requests.machine.unsent)
        promise.futureResult.assumeIsolated().whenComplete { [self] result in
            // A closed connection's bytes are already accounted for.
            guard case .success = result, self.context != nil else { return }
            requests.bytesSent(count)
            report(requests.machine.unsent)
        }
        context.write(data, promise: promise)
    }

    private func report(_ unsent: Int) {
        guard unsent != reported, unsent == 0 || unsent > connections.bounds.quietBytes else {
            return
        }
        guard let channel = context?.channel ?? lastChannel else { return }
        reported = unsent
        lastChannel = unsent == 0 ? nil : channel
        connections.isWaiting(channel, unsent)
    }

    /// Needed to retract reported bytes once the context is gone.
    private var lastChannel: (any Channel)?

    // MARK: Closing

    /// Closes the output, and drops input.
    func endOutput() {
        held = ByteBuffer()
        guard let context else { return }
        if isEndHeld { return context.close(promise: nil) }
        // With TLS the answer's length marks its end; not every peer supports a half-close.
        if !isSecure { context.close(mode: .output, promise: nil) }
        context.read()
    }
}
