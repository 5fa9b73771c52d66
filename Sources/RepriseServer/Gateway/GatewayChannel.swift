import HTTPTypes
package import HummingbirdCore
package import Logging
package import NIOCore
import NIOHTTP1
package import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOSSL
import NIOWebSocket
import RepriseWire

/// Sorts connections: a WebSocket handshake becomes a `ConnectionHandler`, anything else goes to Hummingbird's router.
package struct GatewayChannel: ServerChildChannel, HTTPChannelHandler {
    /// What became of a connection.
    package enum Outcome: Sendable {
        /// The handlers of its pipeline do the rest.
        case webSocket
        case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
    }

    package struct Value: ServerChildChannelValue {
        package let channel: any Channel
        let outcome: EventLoopFuture<Outcome>
    }

    package let responder: Responder
    private let gateway: Gateway
    private let entrance: Entrance

    package init(gateway: Gateway, entrance: Entrance, responder: @escaping Responder) {
        self.gateway = gateway
        self.entrance = entrance
        self.responder = responder
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try Self.tune(channel, gateway.limits)
            let upgrade = NIOTypedHTTPServerUpgradeConfiguration<Outcome>(
                upgraders: [upgrader()],
                notUpgradingCompletionHandler: { notUpgraded($0, logger) })
            var pipeline = NIOUpgradableHTTPServerPipelineConfiguration(
                upgradeConfiguration: upgrade)
            pipeline.enablePipelining = false  // NIOAsyncChannel reads one request after the other
            pipeline.enableErrorHandling = true  // or garbage hangs instead of getting a 400
            pipeline.enableResponseHeaderValidation = false  // HTTPTypes has done it
            let operations = channel.pipeline.syncOperations
            // First of all, so that the time for the first request is the handshake's too.
            if let certificate = entrance.certificate {
                try operations.addHandler(NIOSSLServerHandler(context: certificate.current))
            }
            let outcome = try operations.configureUpgradableHTTPServerPipeline(
                configuration: pipeline)
            let upgradeHandler = try operations.handler(
                type: NIOTypedHTTPServerUpgradeHandler<Outcome>.self)
            try operations.addHandler(
                UpgradeGuard(
                    timeout: TimeAmount(gateway.limits.handshake), browsers: entrance.browsers,
                    isSecure: isSecure),
                position: .before(upgradeHandler))
            return Value(channel: channel, outcome: outcome)
        }
    }

    private var isSecure: Bool { entrance.certificate != nil }

    package func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.outcome.get() {
            case .webSocket: return
            case .http(let channel):
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
    }

    private func upgrader() -> NIOTypedWebSocketServerUpgrader<Outcome> {
        NIOTypedWebSocketServerUpgrader(
            maxFrameSize: WireLimits.frameBytes,
            enableAutomaticErrorHandling: false,  // the machine says how a connection ends
            shouldUpgrade: { channel, _ in
                channel.eventLoop.makeSucceededFuture([
                    "Sec-WebSocket-Protocol": WireHandshake.subprotocol
                ])
            },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    try gateway.attach(channel)
                    return .webSocket
                }
            })
    }

    /// What Hummingbird's own HTTP/1 channel puts behind the decoder.
    private func notUpgraded(_ channel: any Channel, _ logger: Logger) -> EventLoopFuture<Outcome> {
        channel.eventLoop.makeCompletedFuture {
            let operations = channel.pipeline.syncOperations
            // Hummingbird answers what cannot be parsed itself; two answers would be one too many.
            operations.removeHandler(
                try operations.handler(type: HTTPServerProtocolErrorHandler.self), promise: nil)
            try operations.addHandler(HTTP1ToHTTPServerCodec(secure: isSecure))
            try operations.addHandler(
                HTTPConnectionStateHandler(idleTimeout: gateway.limits.httpIdle, logger: logger))
            return .http(
                try NIOAsyncChannel(
                    wrappingChannelSynchronously: channel,
                    configuration: .init(isOutboundHalfClosureEnabled: true)))
        }
    }
}
