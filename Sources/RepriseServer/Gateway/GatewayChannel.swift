package import HummingbirdCore
package import Logging
package import NIOCore
package import NIOHTTPTypes
import NIOSSL
package import RepriseNIO

/// Makes the pipelines of connections; ``HTTPRequestHandler`` routes their requests.
package struct GatewayChannel: ServerChildChannel, HTTPChannelHandler {
    /// The kind of a connection.
    package enum Outcome: Sendable {
        /// The handlers of its pipeline serve it.
        case webSocket
        case http(AcceptedChannel<HTTPRequestPart, HTTPResponsePart>)
    }

    package struct Value: ServerChildChannelValue {
        package let channel: any Channel
        let outcome: EventLoopFuture<Outcome>
    }

    package let responder: Responder
    private let gateway: Gateway
    private let accessControl: AccessControl

    package init(gateway: Gateway, accessControl: AccessControl, responder: @escaping Responder) {
        self.gateway = gateway
        self.accessControl = accessControl
        self.responder = {
            (request: Request, writer: consuming ResponseWriter, channel: any Channel) in
            var request = request
            if AwaitedBody.isAwaited(request) {
                request.body = RequestBody(
                    asyncSequence: AwaitedBody(body: request.body, channel: channel))
            }
            try await responder(request, writer, channel)
        }
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try Self.tune(channel, gateway.limits)
            let operations = channel.pipeline.syncOperations
            if let certificate = accessControl.certificate {
                try operations.addHandler(NIOSSLServerHandler(context: certificate.current))
            }
            let outcome = channel.eventLoop.makePromise(of: Outcome.self)
            let requests = HTTPRequestHandler(
                gateway: gateway, browsers: accessControl.browsers, isSecure: isSecure,
                outcome: outcome)
            do {
                for handler in requests.handlers() { try operations.addHandler(handler) }
            } catch {
                requests.abandon()
                throw error
            }
            return Value(channel: channel, outcome: outcome.futureResult)
        }
    }

    private var isSecure: Bool { accessControl.certificate != nil }

    package func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.outcome.get() {
            case .webSocket: return
            case .http(let accepted):
                let channel = accepted.take()
                let closes = gateway.httpConnections.add(channel.channel)
                defer { closes() }
                await handleHTTP(asyncChannel: channel, logger: logger)
            }
        } catch {
            logger.debug("A connection ended before its first request: \(error)")
            value.channel.close(promise: nil)
        }
    }

    /// Small receive buffers: each connection keeps one, and most are idle.
    private static func tune(_ channel: any Channel, _ limits: ServerLimits) throws {
        let options = channel.syncOptions
        try options?.setOption(
            .recvAllocator,
            value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1_024, maximum: 32_768))
        try options?.setOption(
            .writeBufferWaterMark,
            value: .init(low: limits.unsentBytesToResume, high: limits.unsentBytes))
        try limitSystemBuffer(of: channel, to: HTTPLimits.systemBufferBytes)
    }

    /// Limits the unsent bytes in the system's buffer; 0 keeps the system's own limit.
    ///
    /// Without it a connection that reads nothing gets some thirty answers, until a buffer of
    /// megabytes is full. It does not slow a peer that reads: bytes in flight do not count
    /// (`TCP_NOTSENT_LOWAT`, tcp(7)).
    static func limitSystemBuffer(of channel: any Channel, to bytes: Int) throws {
        #if canImport(Darwin)
            let name = NIOBSDSocket.Option(rawValue: 0x201)
        #else
            let name = NIOBSDSocket.Option(rawValue: 25)
        #endif
        guard channel.remoteAddress?.ipAddress != nil else { return }
        try channel.syncOptions?.setOption(
            ChannelOptions.Types.SocketOption(level: .tcp, name: name),
            value: ChannelOptions.Types.SocketOption.Value(bytes))
    }
}
