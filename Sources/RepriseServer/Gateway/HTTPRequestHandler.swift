import DequeModule
import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOWebSocket
import RepriseCore
import RepriseNIO
import RepriseWire

/// Routes the requests of a connection: a WebSocket handshake, as the first request or a later one,
/// makes it a `ConnectionHandler`; others go to Hummingbird's router.
///
/// Hummingbird's handlers are added at the router's first request, so a connection that begins as a
/// WebSocket never pays for them. They cannot be removed: for a later handshake the WebSocket
/// handlers go before this handler, which then withholds everything from those behind it.
final class HTTPRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private(set) var machine: HTTPConnectionMachine
    private let gateway: Gateway
    private let browsers: BrowserRules
    private let isSecure: Bool
    private let outcome: EventLoopPromise<GatewayChannel.Outcome>
    private var isDecided = false
    private var hasRouter = false
    private var context: ChannelHandlerContext?
    private var bytes: HTTPByteHandler?
    private let encoder = HTTPResponseEncoder()
    private var decoder = HTTPRequestHandler.makeDecoder()
    /// Whether the parser has stopped: it treats what follows the request as another protocol.
    private var isDecoderSpent = false
    /// Parts after the current request, and what the parser found after them.
    private var queue: Deque<HTTPServerRequestPart> = []
    private var queuedError: (any Error)?
    private var key: String?
    /// Whether the router receives the parts of this request.
    private var isForwarding = false
    /// Whether this request is a HEAD, whose answer has no body (RFC 9110 §9.3.2).
    private var asksForHead = false
    /// Whether the client supports HTTP/1.1, and so informational answers.
    private var isModern = false
    private var timer: (task: Scheduled<Void>, deadline: NIODeadline)?

    init(
        gateway: Gateway, browsers: BrowserRules, isSecure: Bool,
        outcome: EventLoopPromise<GatewayChannel.Outcome>
    ) {
        self.gateway = gateway
        self.browsers = browsers
        self.isSecure = isSecure
        self.outcome = outcome
        machine = HTTPConnectionMachine(.init(gateway.limits), now: .now())
    }

    /// The pipeline's handlers, from the transport on.
    func handlers() -> [any ChannelHandler] {
        let bytes = HTTPByteHandler(for: self, gateway.httpConnections, isSecure: isSecure)
        self.bytes = bytes
        return [bytes, encoder, decoder, self]
    }

    private static func makeDecoder() -> ByteToMessageHandler<HTTPRequestDecoder> {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = HTTPLimits.headBytes
        limits.maxHeaderListSize = HTTPLimits.headBytes
        limits.maxHeaderFieldCount = HTTPLimits.headFields
        return ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: limits))
    }

    // MARK: Lifecycle

    /// Its handlers could not be added.
    func abandon() {
        bytes = nil
        decide(.failure(ChannelError.ioOnClosedChannel))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        tickLater()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer?.task.cancel()
        timer = nil
        queue = []
        abandon()
    }

    private func decide(_ result: Result<GatewayChannel.Outcome, any Error>) {
        guard !isDecided else { return }
        isDecided = true
        outcome.completeWith(result)
    }

    // MARK: Bytes

    var feedable: Int { isDecoderSpent && machine.phase == .head ? 0 : machine.feedable }

    func bytesReceived(_ count: Int) { perform(machine.bytesReceived(count, now: .now())) }

    func bytesFed(_ count: Int) { machine.bytesFed(count) }

    func readBegan() {
        machine.readBegan(now: .now())
        tickLater()
    }

    func bytesWritten(_ count: Int) {
        machine.bytesWritten(count, now: .now())
        tickLater()
    }

    func bytesSent(_ count: Int) { perform(machine.bytesSent(count, now: .now())) }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch machine.phase {
        case .closing, .upgraded: return
        case .head where queue.isEmpty, .body where queue.isEmpty: take(unwrapInboundIn(data))
        case .head, .body, .answering: queue.append(unwrapInboundIn(data))
        }
    }

    private func take(_ part: HTTPServerRequestPart) {
        switch part {
        case .head(let head): take(head)
        case .body: if isForwarding { forward(part) }
        case .end:
            if isForwarding { forward(part) }
            let action = machine.requestEnded(now: .now())
            if let key { upgrade(key) } else { perform(action) }
        }
    }

    private func take(_ head: HTTPRequestHead) {
        let bodyBytes =
            head.headers.contains(name: "Transfer-Encoding")
            ? nil : Int(head.headers.first(name: "Content-Length") ?? "0")
        let switches = UpgradeRequest.asksToSwitch(head) || head.method == .CONNECT
        // After a body, or a CONNECT, the start of the next request is unknown.
        let isLost = switches && (bodyBytes != 0 || head.method == .CONNECT)
        isDecoderSpent = switches
        isForwarding = false
        asksForHead = head.method == .HEAD
        isModern = (head.version.major, head.version.minor) >= (1, 1)
        key = nil
        machine.headRead(bodyBytes: bodyBytes, isLast: !head.isKeepAlive || isLost)
        if let fault = RequestCheck.fault(in: head) { return refuse(fault) }
        if UpgradeRequest.isHandshake(head), isOurs(head) {
            key = UpgradeRequest.key(of: head)
            if key == nil {
                refuse("Sec-WebSocket-Key is the base64 of 16 bytes, and there is one.")
            }
            return
        }
        do {
            try addRouter()
        } catch {
            context?.close(promise: nil)
            return
        }
        isForwarding = true
        forward(.head(head))
    }

    private func isOurs(_ head: HTTPRequestHead) -> Bool {
        browsers.refusal(
            origins: head.headers["Origin"], host: head.headers.first(name: "Host"),
            isSecure: isSecure, mustBeOurs: true) == nil
    }

    private func forward(_ part: HTTPServerRequestPart) {
        context?.fireChannelRead(wrapInboundOut(part))
    }

    /// The handlers that Hummingbird's own HTTP/1 channel puts behind the parser.
    private func addRouter() throws {
        guard !hasRouter, let context else { return }
        hasRouter = true
        try context.pipeline.syncOperations.addHandler(HTTP1ToHTTPServerCodec(secure: isSecure))
        let channel = try NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>(
            wrappingChannelSynchronously: context.channel,
            configuration: .init(isOutboundHalfClosureEnabled: true))
        decide(.success(.http(AcceptedChannel(channel))))
    }

    /// The last request's answer was sent.
    private func readNext() {
        guard !isDecoderSpent else { return renewDecoder() }
        while !queue.isEmpty, machine.takesParts { take(queue.removeFirst()) }
        guard queue.isEmpty else {
            context?.fireChannelReadComplete()
            return
        }
        if let error = queuedError {
            queuedError = nil
            return failed(error)
        }
        bytes?.readNext()
    }

    private func renewDecoder() {
        guard let context, let bytes else { return }
        let operations = context.pipeline.syncOperations
        operations.removeHandler(decoder).assumeIsolated().whenComplete { [self] _ in
            guard let context = self.context else { return }
            decoder = Self.makeDecoder()
            isDecoderSpent = false
            do {
                try context.pipeline.syncOperations.addHandler(decoder, position: .before(self))
                bytes.readNext()
            } catch {
                context.close(promise: nil)
            }
        }
    }

    // MARK: Answers

    /// As RFC 9110 §5.6.7 writes a moment.
    private static let dates = Date.VerbatimFormatStyle(
        format: """
            \(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \
            \(year: .padded(4)) \
            \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\
            \(minute: .twoDigits):\(second: .twoDigits) GMT
            """, locale: Locale(identifier: "en_US_POSIX"), timeZone: .gmt,
        calendar: Calendar(identifier: .gregorian))

    /// Answers a request that the router cannot process, and ends the connection: the client
    /// violates HTTP.
    private func refuse(_ message: String, _ status: HTTPResponse.Status = .badRequest) {
        guard let context else { return }
        let response = HTTPFailure(status, "malformed", message)
        let text = response.json
        let head = HTTPResponseHead(
            version: .http1_1, status: .init(statusCode: status.code),
            headers: [
                "Content-Type": "application/json; charset=utf-8",
                "Content-Length": "\(text.count)", "Connection": "close",
                "Date": Date.now.formatted(Self.dates),
            ])
        _ = machine.answerBegan(isLast: true)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if !asksForHead {
            context.write(
                wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: text)))), promise: nil)
        }
        context.write(wrapOutboundOut(.end(nil)), promise: nil)
        let action = machine.answerEnded(now: .now())
        context.flush()
        perform(action)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard machine.mayAnswer else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.code >= 200:
            let ends = head.headers[canonicalForm: "Connection"].contains {
                $0.lowercased() == "close"
            }
            if machine.answerBegan(isLast: ends), !ends {
                head.headers.add(name: "Connection", value: "close")
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .head, .body: context.write(data, promise: promise)
        case .end:
            context.write(data, promise: promise)
            perform(machine.answerEnded(now: .now()))
        }
    }

    func triggerUserOutboundEvent(
        context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?
    ) {
        guard event is BodyAwaited else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        promise?.succeed()
        guard machine.mayContinue, isModern else { return }
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    // MARK: WebSocket

    private func upgrade(_ key: String) {
        guard let context, let bytes else { return }
        machine.upgraded()
        timer?.task.cancel()
        timer = nil
        let head = HTTPResponseHead(
            version: .http1_1, status: .switchingProtocols,
            headers: UpgradeRequest.acceptance(of: key))
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        let operations = context.pipeline.syncOperations
        // The parser leaves the pipeline in a later tick: it is the caller.
        EventLoopFuture.andAllSucceed(
            [operations.removeHandler(decoder), operations.removeHandler(encoder)],
            on: context.eventLoop
        ).assumeIsolated().whenComplete { [self] _ in
            guard let context = self.context else { return }
            do {
                try becomeWebSocket(context, bytes)
            } catch {
                context.close(promise: nil)
            }
        }
    }

    private func becomeWebSocket(
        _ context: ChannelHandlerContext, _ bytes: HTTPByteHandler
    ) throws {
        let operations = context.pipeline.syncOperations
        let encoder = WebSocketFrameEncoder()
        let decoder = ByteToMessageHandler(
            WebSocketFrameDecoder(maxFrameSize: WireLimits.frameBytes))
        try operations.addHandler(encoder, position: .after(bytes))
        try operations.addHandler(decoder, position: .after(encoder))
        try GatewayChannel.limitSystemBuffer(of: context.channel, to: 0)
        try gateway.attach(context.channel, behind: decoder, seat: bytes.giveUpSeat())
        bytes.open()
        self.bytes = nil
        context.read()
        if hasRouter {
            // The router's loop ends; its later effects on the connection are dropped here.
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        } else {
            decide(.success(.webSocket))
            operations.removeHandler(context: context, promise: nil)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if machine.phase == .upgraded {
            context.read()  // Hummingbird's handlers ask for nothing any more
        } else {
            context.fireChannelReadComplete()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if machine.phase != .upgraded { context.fireChannelWritabilityChanged() }
    }

    // MARK: Closing

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch mode {
        case .output:
            promise?.succeed()
            perform(machine.routerEnded())
        case .input where machine.phase == .upgraded: context.close(promise: promise)
        case .input, .all: context.close(mode: mode, promise: promise)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { failed(error) }

    private func failed(_ error: any Error) {
        guard let context else { return }
        guard error is HTTPParserError else { return context.close(promise: nil) }
        switch machine.phase {
        case .closing, .upgraded: break
        case .answering: queuedError = queuedError ?? error
        case .body:
            machine.inputFailed()
            if isForwarding { context.fireErrorCaught(error) }
        case .head:
            isForwarding = false
            asksForHead = false
            machine.headRead(bodyBytes: nil, isLast: true)
            if error as? HTTPParserError == .headerOverflow {
                refuse("The head of the request is too large.", .requestHeaderFieldsTooLarge)
            } else {
                refuse("This is no HTTP/1.1.")
            }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard machine.phase != .upgraded else { return }
        switch event {
        case ChannelEvent.inputClosed:
            let action = machine.inputClosed()
            context.fireUserInboundEventTriggered(event)
            perform(action)
        case is ChannelShouldQuiesceEvent: perform(machine.quiesced(now: .now()))
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    private func perform(_ action: HTTPConnectionMachine.Action?) {
        defer { tickLater() }
        switch action {
        case nil: break
        case .readNext: readNext()
        case .failBody:
            if isForwarding { context?.fireErrorCaught(RepriseError.bodyTooSlow) }
        case .endOutput: bytes?.endOutput()
        case .close: context?.close(promise: nil)
        }
    }

    // MARK: Time

    private func tickLater() {
        guard let context, let deadline = machine.nextTick(now: .now()) else { return }
        if let timer {
            guard deadline < timer.deadline else { return }
            timer.task.cancel()
        }
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            timer = nil
            guard let context = self.context else { return }
            let buffered =
                (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
            perform(machine.ticked(buffered: buffered, now: .now()))
        }
        timer = (task, deadline)
    }
}

/// A route has begun to read the body of a request with `Expect: 100-continue` (RFC 9110 §10.1.1).
struct BodyAwaited: Sendable {}
