import Logging
import Metrics
import NIOCore
import NIOWebSocket
import RepriseCore
import RepriseWire

/// One WebSocket connection: performs the decisions of `ServerConnectionMachine` and the
/// `ServerSubscriptionMachine`s.
///
/// Runs on the connection's event loop. Allocates nothing for unused features.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    let id: UInt64
    let loopHub: EventLoopHub
    var machine: ServerConnectionMachine
    var subscriptions: [ChannelName: HubSubscription] = [:]
    /// Subscriptions queued for a read of the log.
    var turns = ReadTurns<HubSubscription>()
    /// Requests that wait for the user's grant.
    var cache: AuthorizationCache<ChannelRequest, Grant>
    var receipts = ReceiptCoalescer()
    /// Its key in the roster of devices; nil before authentication.
    var key: Gateway.Roster.Key?
    /// Whether it counts among the connections of its user.
    var isAdmitted = false
    var subscribeBucket: TokenBucket
    /// Publishes of the current read; they are submitted together.
    var publishes: [NewMessage] = []

    private var decoder = FrameDecoder()
    private var assembler = ServerMessageAssembler()
    private var context: ChannelHandlerContext?
    /// The frame encoder's context: writing from there bypasses it, because frames are framed
    /// already.
    private var outbound: ChannelHandlerContext?
    private var isUnflushed = false
    private var isReadHeld = false
    /// Whether the peer has violated the framing, so that not even its close frame can be found.
    private var isUnreadable = false
    /// The code echoed once everything before the peer's close frame is answered.
    private var echo = CloseCode.normal
    private(set) var isWritable = true
    private var written = 0
    private var taken = 0
    private var turn = 0
    /// Messages of the same read that follow a token being authenticated.
    var waiting: [[UInt8]] = []

    init(id: UInt64, loopHub: EventLoopHub, now: Duration) {
        self.id = id
        self.loopHub = loopHub
        let gateway = loopHub.gateway
        machine = ServerConnectionMachine(now: now, asksWho: gateway.asksWho)
        cache = AuthorizationCache(remembered: 2 * gateway.limits.channelsPerConnection)
        subscribeBucket = TokenBucket(gateway.subscribeRate, now: now)
    }

    var gateway: Gateway { loopHub.gateway }
    var now: Duration { gateway.clock.uptime() }
    /// The connection's user.
    var principal: Principal { machine.principal }
    private var limits: ServerConnectionMachine.Limits { gateway.connectionLimits }

    // MARK: Life

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        outbound = try? context.pipeline.syncOperations.context(
            handlerType: WebSocketFrameEncoder.self)
        loopHub.add(self)
        log(.debug, "connected")
        lookLater()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
        guard context != nil else { return }
        context = nil
        outbound = nil
        machine.connectionEnded(now: now)
        endSubscriptions()
        loopHub.remove(self)
        if let key { gateway.left(place, as: key) }
        giveSeatBack()
        log(.debug, "disconnected")
    }

    func quiesce() { perform(machine.quiesceRequested(now: now)) }

    func violated(_ code: CloseCode, _ message: String) {
        perform(machine.violated(code, message, now: now))
    }

    func cut() { context?.close(promise: nil) }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        machine.bytesReceived(now: now)
        let frame = unwrapInboundIn(data)
        guard machine.maySend else {
            if frame.opcode == .connectionClose { closeReceived(nil) }
            return
        }
        switch assembler.add(frame, limit: machine.frameLimit, text: &loopHub.text) {
        case .message where machine.mustWait: waiting.append(loopHub.text)
        case .message: received(loopHub.text)
        case .incomplete, .pong: break
        case .ping(let payload): write(WebSocketFraming.control(.pong, payload))
        case .close(let code): closeReceived(code)
        case .violation(let code, let message): violated(code, message)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        submitPublishes()
        askForAccess()
        loopHub.flush()
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        if mayRead { context.read() } else { isReadHeld = true }
    }

    /// False while the peer does not read: answers would only accumulate.
    private var mayRead: Bool {
        guard machine.maySend else { return machine.mayRead(limits) }
        return isWritable && machine.mayRead(limits)
            && cache.waitingCount < gateway.limits.publishesInFlight
    }

    func readAgain() {
        guard isReadHeld, mayRead else { return }
        isReadHeld = false
        context?.read()
    }

    func received(_ text: [UInt8]) {
        do {
            let request = try decoder.clientRequest(text)
            if case .hello(let hello) = request.frame { logHello(hello) }
            perform(machine.frameReceived(request.frame, now: now), for: request)
        } catch {
            unreadable(text, error)
        }
    }

    func perform(_ disposition: ServerConnectionMachine.Disposition, for request: ClientRequest?) {
        switch disposition {
        case .identify(let token): identify(token)
        case .takeOver(let device): takeOver(as: device)
        case .welcome: if admit() { welcome() }
        case .authenticated: if let session { send(.authenticated(session)) }
        case .accept: if let request { accept(request) }
        case .ignore: break
        case .close(let code, let message): close(code, message)
        }
    }

    private func accept(_ asked: ClientRequest) {
        for refused in asked.refused {
            gateway.metrics.refused("subscribe", refused.code)
            send(.refused(refused))
        }
        switch asked.frame {
        case .publish(let publish): request(.publish(publish), in: publish.channel)
        case .subscribe(let requests):
            // Channels that a person is looking at go first, wherever they are in the frame.
            for isFirst in [true, false] {
                for wanted in requests where wanted.isFirst == isFirst {
                    request(.subscribe(wanted, number: asked.number), in: wanted.channel)
                }
            }
        case .unsubscribe(let channels): channels.forEach(leave)
        case .receipt(let receipt): request(.receipt(receipt), in: receipt.channel)
        case .typing(let channel, let isTyping): request(.typing(isTyping), in: channel)
        case .hello, .authenticate: break  // the machine has answered with more than accept
        }
    }

    private func unreadable(_ text: [UInt8], _ error: any Error) {
        let error = error as? RepriseError
        if let refused = machine.takesRequests ? PublishAnswer.refusal(of: text, error) : nil {
            return send(.refused(refused))
        }
        if String(validating: text, as: UTF8.self) == nil {
            return violated(.invalidText, "The text is not UTF-8.")
        }
        violated(.malformedFrame, error?.message ?? "The frame cannot be read.")
    }

    // MARK: Hello

    private func logHello(_ hello: ClientFrame.Hello) {
        log(.debug, "hello", ["device": "\(hello.device)", "client": "\(hello.client)"])
    }

    private func welcome() {
        send(
            .welcome(
                .init(
                    version: ClientFrame.Hello.currentVersion, time: gateway.clock.wall(),
                    heartbeat: gateway.limits.heartbeat, server: "reprise", session: session)))
        lookLater()
    }

    // MARK: Writing

    func send(_ frame: ServerFrame) { send(WebSocketFraming.frame(frame)) }

    /// Sends whole text frames.
    func send(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>? = nil) {
        machine.frameSent(now: loopHub.time)
        write(bytes, promise: promise)
    }

    private func write(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>? = nil) {
        guard let outbound else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        written += bytes.readableBytes
        outbound.write(NIOAny(bytes), promise: promise)
        guard !isUnflushed else { return }
        isUnflushed = true
        loopHub.flushLater(self)
    }

    func flush() {
        isUnflushed = false
        outbound?.flush()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        isWritable = context.channel.isWritable
        if isWritable {
            readAgain()
            readWhatWasMissed()
        } else {
            gateway.metrics.demotions.increment()
            log(.debug, "too much is unsent")
        }
        context.fireChannelWritabilityChanged()
    }

    // MARK: Closing

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        isUnreadable = true
        switch error {
        case FrameHeaderGuard.Violation.tooLong(let limit):
            violated(.frameTooLarge, "A frame has at most \(limit) bytes here.")
        case FrameHeaderGuard.Violation.lengthNotMinimal:
            violated(.protocolError, "A length is written as shortly as it can be.")
        case NIOWebSocketError.invalidFrameLength:
            violated(.frameTooLarge, "A frame has at most \(WireLimits.frameBytes) bytes.")
        case NIOWebSocketError.fragmentedControlFrame,
            NIOWebSocketError.multiByteControlFrameLength:
            violated(.protocolError, "A control frame is short and whole.")
        default:
            log(.debug, "failed", ["error": "\(error)"])
            context.close(promise: nil)
        }
        loopHub.flush()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed: context.close(promise: nil)  // half a WebSocket is none
        case is ChannelShouldQuiesceEvent:
            submitPublishes()
            quiesce()
            loopHub.flush()
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Requests before the peer's close frame are answered before it is echoed.
    private func closeReceived(_ code: CloseCode?) {
        submitPublishes()
        askForAccess()
        switch machine.closeReceived(isAnswered: isAnswered, now: now) {
        case .wait:
            echo = code ?? .normal
            endSubscriptions()
            lookLater()
        case .echo:
            echo = code ?? .normal
            echoClose()
        case .end:
            flush()
            context?.close(promise: nil)
        }
    }

    /// Whether no request is pending here; the machine counts those being stored.
    private var isAnswered: Bool {
        cache.waitingCount == 0 && waiting.isEmpty && publishes.isEmpty
    }

    /// Ends a connection that the peer has closed, once all requests are answered.
    func leaveIfAnswered() {
        guard isAnswered, machine.requestsAnswered(now: now) else { return }
        echoClose()
    }

    private func echoClose() {
        let sent = loopHub.shard.loop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { _ in self.cut() }
        write(WebSocketFraming.close(echo), promise: sent)
        flush()  // not in its turn: what is unflushed is lost with the close
        lookLater()
    }

    func perform(_ action: ServerConnectionMachine.Action?) {
        switch action {
        case nil: break
        case .ping: write(WebSocketFraming.control(.ping))
        case .heartbeat: write(loopHub.emptyHeartbeat())
        case .cut: cut()
        case .close(let code, let message): close(code, message)
        }
    }

    private func close(_ code: CloseCode, _ message: String) {
        gateway.metrics.closed(code)
        log(.debug, "closing", ["code": "\(code)", "reason": "\(message)"])
        var buffer = WebSocketFraming.frame(.error(code: code, message: message))
        buffer.writeImmutableBuffer(WebSocketFraming.close(code))
        send(buffer, promise: isUnreadable ? endOfOutput() : nil)
        endSubscriptions()
        lookLater()
        readAgain()  // for the peer's close frame
    }

    /// The peer's answer cannot be read: our close frame ends the output (RFC 6455 §7.1.7), but
    /// input is still read, because closing a socket with unread bytes would discard the close
    /// frame.
    private func endOfOutput() -> EventLoopPromise<Void> {
        let sent = loopHub.shard.loop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenSuccess {
            self.context?.close(mode: .output, promise: nil)
        }
        return sent
    }

    private func endSubscriptions() {
        for subscription in subscriptions.values { loopHub.remove(subscription) }
        subscriptions = [:]
        turns.left { _ in true }
    }

    // MARK: Time

    func ticked(turn: Int, now: Duration) {
        guard turn == self.turn, let context else { return }
        noteProgress(context, now)
        perform(machine.ticked(limits, isReading: !isReadHeld, now: now))
        if self.turn == turn { lookLater() }
    }

    func lookLater() {
        turn = loopHub.look(at: self, after: machine.nextTick(limits, now: now))
    }

    /// Measures whether the peer reads, by the bytes that the transport still holds.
    private func noteProgress(_ context: ChannelHandlerContext, _ now: Duration) {
        let waiting =
            (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        if written - waiting > taken || waiting == 0 { machine.bytesTaken(now: now) }
        taken = written - waiting
    }

    /// After a publish was answered.
    func answered(_ count: Int) {
        perform(machine.publishesAnswered(count, now: now))
        leaveIfAnswered()
        readAgain()
    }

    func log(_ level: Logger.Level, _ what: Logger.Message, _ metadata: Logger.Metadata = [:]) {
        gateway.logger.log(
            level: level, what, metadata: metadata.merging(["connection": "\(id)"]) { $1 })
    }
}
