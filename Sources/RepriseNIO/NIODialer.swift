public import NIOCore
import NIOPosix
import NIOSSL
public import RepriseCore

/// Opens WebSocket connections on SwiftNIO: for Linux, for tests and for the command line.
///
/// ```swift
/// let socket = try await NIODialer().dial(
///     url: "ws://127.0.0.1:8080/v1/connect", protocol: "reprise.v1", maximumFrameBytes: 1_048_576)
/// ```
///
/// Over `wss://` and `https://` the server must prove that it is the host of the URL, by a
/// certificate of a trusted authority.
public struct NIODialer: SocketDialer {
    /// The timeout of connecting where none is given.
    public static let timeout = Duration.seconds(10)

    private let group: any EventLoopGroup
    private let timeout: Duration
    private let trust: TrustedServers
    /// How long ``RepriseCore/Socket/close(code:)`` waits for queued frames and for the peer's
    /// answer.
    package var closeTimeout = Duration.seconds(1)

    /// Makes a dialer.
    ///
    /// - Parameters:
    ///   - group: the threads of the connections; nil for the process's shared ones.
    ///   - timeout: the timeout of connecting, proving and upgrading together.
    ///   - authorities: the path of a PEM file with certificates that are trusted besides the
    ///     system's.
    public init(
        group: (any EventLoopGroup)? = nil, timeout: Duration = NIODialer.timeout,
        authorities: String? = nil
    ) {
        trust = TrustedServers(authorities: authorities)
        self.group = group ?? MultiThreadedEventLoopGroup.singleton
        self.timeout = timeout
    }

    /// Opens a WebSocket connection (RFC 6455), over TLS where the URL says so.
    ///
    /// - Parameters:
    ///   - url: `ws://`, `http://`, `wss://` or `https://`, with host, port and path.
    ///   - protocol: the subprotocol to request; empty to request none, and then to accept none.
    ///   - maximumFrameBytes: a larger frame, and a larger message of many frames, closes the
    ///     connection with 1009.
    /// - Returns: the open connection.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` for a URL that cannot be dialled;
    ///   `.unreachable` if nothing answers; `.unavailable` if the server is overloaded;
    ///   `.notReprise` if it does not upgrade to the requested subprotocol; `.untrusted` if its
    ///   certificate is not trusted, with the reason; `.timedOut`. `CancellationError` if the task
    ///   was cancelled.
    public func dial(
        url: String, protocol: String, maximumFrameBytes: Int
    ) async throws -> any Socket {
        let endpoint = try Endpoint(url)
        let context = endpoint.isSecure ? try trust.context() : nil
        let loop = group.next()
        let promise = loop.makePromise(of: NIOSocket.self)
        let request = HandshakeRequest(endpoint: endpoint, subprotocol: `protocol`)
        let deadline = loop.scheduleTask(in: TimeAmount(timeout)) {
            promise.fail(Self.timedOut(endpoint))
        }
        defer { deadline.cancel() }
        let closeTimeout = closeTimeout
        connect(to: endpoint, on: loop, context, promise) {
            HandshakeHandler(
                request: request, maximumFrameBytes: maximumFrameBytes, closeTimeout: closeTimeout,
                promise: promise)
        }
        return try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            promise.fail(CancellationError())
        }
    }

    private func connect(
        to endpoint: Endpoint, on loop: any EventLoop, _ context: NIOSSLContext?,
        _ promise: EventLoopPromise<NIOSocket>,
        handler: @escaping @Sendable () -> HandshakeHandler
    ) {
        ClientBootstrap(group: loop)
            .connectTimeout(TimeAmount(timeout))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let operations = channel.pipeline.syncOperations
                    if let context {
                        try operations.addHandler(
                            NIOSSLClientHandler(
                                context: context, serverHostname: endpoint.certifiedName))
                    }
                    try operations.addHandler(handler())
                }
            }
            .connect(host: endpoint.host, port: endpoint.port)
            .whenComplete { result in
                switch result {
                case .success(let channel):
                    // A caller that has timed out or was cancelled leaves no connection behind.
                    promise.futureResult.whenFailure { _ in channel.close(promise: nil) }
                case .failure(let error): promise.fail(Self.error(error, endpoint))
                }
            }
    }

    private static func error(_ error: any Error, _ endpoint: Endpoint) -> RepriseError {
        if case ChannelError.connectTimeout = error { return timedOut(endpoint) }
        return RepriseError(
            .unreachable, "No server answers at \(endpoint).",
            remedy: "Start one with `reprise serve`.", cause: error)
    }

    private static func timedOut(_ endpoint: Endpoint) -> RepriseError {
        RepriseError(
            .timedOut, "The server at \(endpoint) did not answer in time.",
            remedy: "Check the address and the network, and try again.")
    }
}
