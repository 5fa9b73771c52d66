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
    private(set) lazy var requests = ConnectionRequests(of: self)
    private(set) lazy var subscriptions = ConnectionSubscriptions(of: self)
    private(set) var isWritable = true

    private var decoder = FrameDecoder()
    private var assembler = ServerMessageAssembler()
    private var context: ChannelHandlerContext?
    private let output = ConnectionOutput()
    private var admission = ConnectionAdmission()
    /// Brings its hello into a cluster's journal.
    private var arriving: Task<Void, Never>?
    /// Its place among the connections of strangers, until `welcome`.
    private var seat: HTTPConnections.Seat?
    private var isReadHeld = false
    /// Whether the peer has violated the framing, so that not even its close frame can be found.
    private var isUnreadable = false
    /// The code echoed once everything before the peer's close frame is answered.
    private var echo = CloseCode.normal
    private var turn = 0
    /// Messages of the same read that follow a token being authenticated.
    private var waiting: [[UInt8]] = []

    init(id: UInt64, loopHub: EventLoopHub, seat: HTTPConnections.Seat?, now: Duration) {
        self.id = id
        self.loopHub = loopHub
        self.seat = seat
        let gateway = loopHub.gateway
        machine = ServerConnectionMachine(now: now, asksWho: gateway.asksWho)
    }

    var gateway: Gateway { loopHub.gateway }
    var now: Duration { gateway.clock.uptime() }
    /// The connection's user.
    var principal: Principal { machine.principal }
    private var limits: ServerConnectionMachine.Limits { gateway.connectionLimits }

    // MARK: Life

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        output.open(context.pipeline)
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
        output.close()
        machine.connectionEnded(now: now)
        subscriptions.endAll()
        loopHub.remove(self)
        leaveSeat()
        arriving?.cancel()
        admission.end(place, at: gateway)
        gateway.presence?.ended(id)
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
        requests.submitPublishes()
        requests.askForAccess()
        loopHub.flush()
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        if mayRead { context.read() } else { isReadHeld = true }
    }

    /// False while the peer does not read: answers would only accumulate.
    private var mayRead: Bool {
        guard machine.maySend else { return machine.mayRead(limits) }
        return isWritable && machine.mayRead(limits) && requests.mayWait
    }

    func readAgain() {
        guard isReadHeld, mayRead else { return }
        isReadHeld = false
        context?.read()
    }

    private func received(_ text: [UInt8]) {
        do {
            let request = try decoder.clientRequest(text)
            if case .hello(let hello) = request.frame {
                logHello(hello)
                admission.heard(hello)
            }
            perform(machine.frameReceived(request.frame, now: now), for: request)
        } catch {
            unreadable(text, error)
        }
    }

    private func perform(
        _ disposition: ServerConnectionMachine.Disposition, for request: ClientRequest?
    ) {
        switch disposition {
        case .identify(let token): identify(token)
        case .takeOver(let device): takeOver(as: device)
        case .welcome: if admit() { welcome() }
        case .authenticated: if let session { send(.authenticated(session)) }
        case .accept: if let request { requests.accept(request) }
        case .ignore: break
        case .close(let code, let message): close(code, message)
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
        violated(.malformedFrame, error?.messageAndRemedy ?? "The frame cannot be read.")
    }

    // MARK: Identity: the user by its token, the device by its hello

    private func identify(_ token: AccessToken?) {
        let shard = loopHub.shard
        gateway.identify(token) { [id] answer in shard.post(.identified(id, answer)) }
    }

    func identified(_ answer: Result<Principal, RepriseError>) {
        let ends = (try? answer.get())?.expires.map { expires in
            now + gateway.clock.wall().duration(to: expires) + gateway.leeway
        }
        let before = principal
        perform(machine.identified(answer, ends: ends, now: now), for: nil)
        if principal.isAdmin != before.isAdmin, before.user != nil { requests.rightsChanged() }
        goOn()
    }

    /// Resumes frames that waited for authentication.
    private func goOn() {
        lookLater()
        receiveWaiting()
        requests.submitPublishes()
        requests.askForAccess()
        leaveIfAnswered()
        readAgain()
    }

    /// Orders its hello among those of its device; in a cluster by the journal.
    private func takeOver(as device: EntryID) {
        let device = ConnectingDevice(user: principal.user, device: device)
        admission.enter(place, as: device, at: gateway)
        guard let cluster = gateway.cluster else { return arrived(.success(nil)) }
        let shard = loopHub.shard
        arriving = gateway.arrive(device, at: cluster) { [id] in shard.post(.arrived(id, $0)) }
    }

    /// Ends the device's older connections, on any loop; it is welcomed once all have confirmed
    /// their end.
    private func arrived(_ answer: Result<Generation?, RepriseError>) {
        switch answer {
        case .failure(let error):
            violated(error.code == .full ? .overloaded : .unavailable, error.messageAndRemedy)
        case .success(let generation):
            guard case .newest(let older) = admission.arrive(place, generation, at: gateway)
            else { return replaced() }
            if let device = machine.device, let generation {
                requests.fence = FencingToken(device: device, generation: generation)
            }
            for other in older { other.shard.post(.replace(other.id, by: place)) }
            perform(machine.takeOver(from: older.count, now: now), for: nil)
        }
    }

    /// The same, with the cluster's answer.
    func arrivedLater(_ answer: Result<Generation?, RepriseError>) {
        arriving = nil
        arrived(answer)
        goOn()
    }

    /// The device has reconnected: nothing more is accepted here.
    func replaced() {
        perform(machine.replaced(now: now))
        admission.release(at: gateway)
    }

    /// One of the older connections accepts nothing more.
    func olderEnded() {
        perform(machine.olderEnded(now: now), for: nil)
        goOn()
    }

    var place: Gateway.Place { .init(id: id, shard: loopHub.shard) }

    /// Counts it as a connection of its user, within the limit.
    private func admit() -> Bool {
        guard let user = principal.user else { return true }
        guard admission.admit(user, by: gateway) else {
            violated(
                .tooManyConnections,
                "This server takes at most \(gateway.limits.connectionsPerUser) connections of a "
                    + "user. End another one first.")
            return false
        }
        log(.debug, "identified", ["user": "\(user)"])
        loopHub.identified(self, as: user)
        if let device = machine.device { gateway.sawDevice(device, of: user) }
        return true
    }

    /// The device is in use, or idle.
    func reported(isIdle: Bool, to presence: PresenceService) {
        admission.reported(isIdle: isIdle, to: presence)
    }

    private func receiveWaiting() {
        var messages = waiting[...]
        waiting = []
        while !machine.mustWait, machine.maySend, let message = messages.popFirst() {
            received(message)
        }
        if machine.mustWait { waiting = Array(messages) }
    }

    /// The session as sent to the client.
    private var session: ServerFrame.Session? {
        guard let user = principal.user, let expires = principal.expires else { return nil }
        return ServerFrame.Session(user: user, expires: expires)
    }

    // MARK: Hello

    private func logHello(_ hello: ClientFrame.Hello) {
        log(.debug, "hello", ["device": "\(hello.device)", "client": "\(hello.client)"])
    }

    /// Gives its place among strangers back; a second call does nothing.
    func leaveSeat() {
        if let seat = seat.take() { gateway.httpConnections.giveBack(seat) }
    }

    private func welcome() {
        leaveSeat()
        send(
            .welcome(
                .init(
                    version: ClientFrame.Hello.currentVersion, time: gateway.clock.wall(),
                    heartbeat: gateway.limits.heartbeat, server: "reprise", session: session,
                    directory: session.flatMap { gateway.directory(of: $0.user) },
                    hasPresence: session != nil && gateway.presence != nil)))
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
        if output.write(bytes, promise: promise) { loopHub.flushLater(self) }
    }

    func flush() { output.flush() }

    /// Refuses a subscription: a requested one, by the request's number, or an open one.
    func refuse(
        _ channel: ChannelName, _ code: RefusalCode, _ message: String,
        retryAfter: Duration? = nil, number: Int64? = nil
    ) {
        gateway.metrics.refused("subscribe", code)
        send(
            .refused(
                .init(
                    channel: channel.text, id: nil, code: code, message: message,
                    retryAfter: retryAfter, request: number)))
    }

    func refuse(
        _ message: ClientFrame.Publish, _ code: RefusalCode, _ text: String,
        retryAfter: Duration? = nil
    ) {
        gateway.metrics.refused("publish", code)
        log(
            .debug, "A message is refused.",
            [
                "message": message.id.text, "channel": message.channel.text,
                "user": principal.user?.text, "code": "\(code)", "reason": text,
            ])
        send(
            .refused(
                .init(
                    channel: message.channel.text, id: message.id.text, code: code, message: text,
                    retryAfter: retryAfter)))
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        isWritable = context.channel.isWritable
        if isWritable {
            readAgain()
            subscriptions.readWhatWasMissed()
            requests.tellMissedPresence()
        } else {
            gateway.metrics.demotions.increment()
            log(.debug, "too much is unsent")
        }
        context.fireChannelWritabilityChanged()
    }

    func sendHeartbeat(_ time: WallTime, _ heads: [ChannelName: Int64]) {
        guard machine.isOpen else { return }
        send(.heartbeat(time: time, heads: heads))
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
            requests.submitPublishes()
            quiesce()
            loopHub.flush()
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Requests before the peer's close frame are answered before it is echoed.
    private func closeReceived(_ code: CloseCode?) {
        requests.submitPublishes()
        requests.askForAccess()
        switch machine.closeReceived(isAnswered: isAnswered, now: now) {
        case .wait:
            echo = code ?? .normal
            subscriptions.endAll()
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
        requests.isEmpty && waiting.isEmpty
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
        subscriptions.endAll()
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

    // MARK: Time

    func ticked(turn: Int, now: Duration) {
        guard turn == self.turn, let context else { return }
        noteProgress(context, now)
        perform(machine.ticked(limits, isReading: !isReadHeld, now: now))
        if self.turn == turn { lookLater() }
    }

    private func lookLater() {
        turn = loopHub.look(at: self, after: machine.nextTick(limits, now: now))
    }

    /// Measures whether the peer reads, by the bytes that the transport still holds.
    private func noteProgress(_ context: ChannelHandlerContext, _ now: Duration) {
        let waiting =
            (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        if output.hasProgressed(waiting: waiting) { machine.bytesTaken(now: now) }
    }

    /// After a publish was answered.
    func answered(_ count: Int) {
        perform(machine.publishesAnswered(count, now: now))
        leaveIfAnswered()
        readAgain()
    }

    /// Runs `work` in a second, if the connection is still open then.
    func later(_ work: @escaping (ConnectionHandler) -> Void) {
        loopHub.shard.loop.assumeIsolated().scheduleTask(in: .seconds(1)) {
            guard self.machine.isOpen else { return }
            work(self)
            self.loopHub.flush()
        }
    }

    /// Logs a line of this connection; `values` is not called while the level is off.
    ///
    /// The log's output escapes them.
    func log(
        _ level: Logger.Level, _ what: Logger.Message,
        _ values: @autoclosure () -> [String: String?] = [:]
    ) {
        let logger = gateway.logger
        guard logger.logLevel <= level else { return }
        var metadata: Logger.Metadata = ["connection": "\(id)"]
        for (key, value) in values() {
            if let value { metadata[key] = .string(value) }
        }
        logger.log(level: level, what, metadata: metadata)
    }
}
