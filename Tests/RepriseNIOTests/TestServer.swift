import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import RepriseCore
import RepriseNIO
import Testing

/// The other end of a connection, at the level of frames or of bytes.
typealias FramePeer = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>
typealias BytePeer = NIOAsyncChannel<ByteBuffer, ByteBuffer>

/// Servers on free loopback ports that do what a test tells them, once.
enum TestServer {
    static let subprotocol = "reprise.v1"

    /// Speaks WebSocket with whoever comes.
    static func webSocket(
        choosing subprotocol: String? = subprotocol,
        serve: @escaping @Sendable (FramePeer) async throws -> Void,
        test: (String) async throws -> Void
    ) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try upgradable(channel, choosing: subprotocol)
                }
            }
        try await run(server, test) { upgrade in
            guard let peer = try await upgrade.get() else { return }
            try await serve(peer)
        }
    }

    /// Speaks bytes.
    static func bytes(
        serve: @escaping @Sendable (BytePeer) async throws -> Void,
        test: (String) async throws -> Void
    ) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeSucceededFuture(channel)
            }
        // Wrapped only where it is served: one that comes while the test ends is dropped, which a
        // wrapped one does not bear.
        try await run(server, test) { channel in
            let peer = try await channel.eventLoop.submit {
                let peer = try BytePeer(wrappingChannelSynchronously: channel)
                try channel.syncOptions?.setOption(.autoRead, value: true)
                return peer
            }.get()
            try await serve(peer)
        }
    }

    /// Reads the request, then answers with these bytes.
    static func answering(
        _ answer: String, test: (String) async throws -> Void
    ) async throws {
        try await bytes { peer in
            try await peer.executeThenClose { inbound, outbound in
                var request = ""
                for try await part in inbound {
                    request += String(buffer: part)
                    guard request.hasSuffix("\r\n\r\n") else { continue }
                    if answer.isEmpty { return }
                    try await outbound.write(ByteBuffer(string: answer))
                }
            }
        } test: {
            try await test($0)
        }
    }

    private static func run<Peer: Sendable>(
        _ server: NIOAsyncChannel<Peer, Never>, _ test: (String) async throws -> Void,
        _ serve: @escaping @Sendable (Peer) async throws -> Void
    ) async throws {
        let port = try #require(server.channel.localAddress?.port)
        let serving = Task {
            try await server.executeThenClose { connections in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await connection in connections {
                        // A connection that the test breaks on purpose is no failure of the server.
                        group.addTask { try? await serve(connection) }
                    }
                }
            }
        }
        do {
            try await test("ws://127.0.0.1:\(port)/v1/connect")
        } catch {
            serving.cancel()
            throw error
        }
        serving.cancel()
    }

    private static func upgradable(
        _ channel: any Channel, choosing subprotocol: String?
    ) throws -> EventLoopFuture<FramePeer?> {
        let upgrader = NIOTypedWebSocketServerUpgrader<FramePeer?>(
            maxFrameSize: 1 << 24, enableAutomaticErrorHandling: false,
            shouldUpgrade: { channel, _ in
                var headers = HTTPHeaders()
                if let subprotocol {
                    headers.add(name: "Sec-WebSocket-Protocol", value: subprotocol)
                }
                return channel.eventLoop.makeSucceededFuture(headers)
            },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    try FramePeer(wrappingChannelSynchronously: channel)
                }
            })
        return try channel.pipeline.syncOperations.configureUpgradableHTTPServerPipeline(
            configuration: .init(
                upgradeConfiguration: NIOTypedHTTPServerUpgradeConfiguration(
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { $0.eventLoop.makeSucceededFuture(nil) })))
    }
}

extension FramePeer {
    /// Sends bytes past the frame encoder.
    func sendRaw(_ bytes: [UInt8]) async throws {
        try await channel.eventLoop.flatSubmit {
            let promise = channel.eventLoop.makePromise(of: Void.self)
            do {
                try channel.pipeline.syncOperations.context(handlerType: WebSocketFrameEncoder.self)
                    .writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: promise)
            } catch { promise.fail(error) }
            return promise.futureResult
        }.get()
    }
}

extension WebSocketFrame {
    static func text(_ text: String, fin: Bool = true) -> WebSocketFrame {
        WebSocketFrame(fin: fin, opcode: .text, data: ByteBuffer(string: text))
    }

    static func close(_ code: UInt16?) -> WebSocketFrame {
        var data = ByteBuffer()
        if let code { data.writeInteger(code) }
        return WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
    }
}

/// Dials with the defaults of the tests.
func dial(_ url: String, timeout: Duration = .seconds(5)) async throws -> any Socket {
    var dialer = NIODialer(timeout: timeout)
    // A busy machine must not make a test fail; that a second is enough elsewhere has a test of its
    // own.
    dialer.closeTimeout = .seconds(10)
    return try await dialer.dial(
        url: url, protocol: TestServer.subprotocol, maximumFrameBytes: 1_048_576)
}

/// Everything until the end, as text.
func texts(_ socket: any Socket) async throws -> [String] {
    var all: [String] = []
    while let frames = try await socket.receive() {
        all += frames.map { String(decoding: $0, as: UTF8.self) }
    }
    return all
}
