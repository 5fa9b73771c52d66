import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket
import RepriseCore
import RepriseNIO
import RepriseTesting
import RepriseWire
import Synchronization

/// Pretends to be a server, each time up to another stage, and then sends what no server does.
struct Impostor: Sendable {
    let port: Int
    private let serving: Task<Void, any Error>

    static func start() async throws -> Impostor {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel)
                }
            }
        let port = server.channel.localAddress?.port ?? 0
        let serving = Task {
            try await server.executeThenClose { connections in
                try await withThrowingDiscardingTaskGroup { group in
                    var count: UInt64 = 0
                    for try await connection in connections {
                        count += 1
                        let number = count
                        group.addTask { try? await serve(connection, number) }
                    }
                }
            }
        }
        return Impostor(port: port, serving: serving)
    }

    func stop() async {
        serving.cancel()
        _ = await serving.result
    }

    private static func serve(
        _ peer: NIOAsyncChannel<ByteBuffer, ByteBuffer>, _ number: UInt64
    ) async throws {
        try await peer.executeThenClose { inbound, outbound in
            var random = SeededGenerator(seed: number)
            var request = ""
            var parts = inbound.makeAsyncIterator()
            while let part = try await parts.next() {
                request += String(buffer: part)
                guard request.contains("\r\n\r\n") else { continue }
                let head = try await upgraded(request, peer.channel)
                try await outbound.write(ByteBuffer(bytes: answer(head, &random)))
                break
            }
            // Some hang up, others wait for the device to do so.
            if Bool.random(using: &random) { while try await parts.next() != nil {} }
        }
    }

    private static func answer(_ head: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        let welcome = Array(
            #"{"type":"welcome","version":1,"timestamp":1,"heartbeat":100,"server":"x"}"#.utf8)
        switch Int.random(in: 0...5, using: &random) {
        case 0: return Garbage.noise(&random)
        case 1: return Array(head.prefix(Int.random(in: 1..<head.count, using: &random)))
        case 2: return head + Garbage.noise(&random)
        case 3: return head + text(welcome) + Garbage.noise(&random)
        case 4:
            return head + text(welcome) + text(Garbage.json(&random)) + text(Garbage.json(&random))
                + bad(&random)
        default:
            let frames = text(welcome) + text(Garbage.json(&random))
            return head + frames.prefix(Int.random(in: 1..<frames.count, using: &random))
        }
    }

    private static func text(_ payload: [UInt8]) -> [UInt8] {
        Garbage.header(0x81, payload.count, isMasked: false) + payload
    }

    private static func bad(_ random: inout SeededGenerator) -> [UInt8] {
        switch Int.random(in: 0...3, using: &random) {
        case 0: Garbage.header(0x81, WireLimits.frameBytes + 1, isMasked: false)
        case 1: Garbage.frame([0x31])  // masked, as no server does
        case 2: Garbage.header(0xc1, 0, isMasked: false)
        default: Garbage.header(0x81, 1 << 62, isMasked: false)
        }
    }

    /// The right answer (RFC 6455 §4.2.2), so that what follows it is looked at; NIO's upgrader
    /// does the arithmetic.
    private static func upgraded(_ request: String, _ channel: any Channel) async throws -> [UInt8]
    {
        let key = request.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }
        let head = HTTPRequestHead(
            version: .http1_1, method: .GET, uri: WireHandshake.path,
            headers: [
                "Host": "x", "Connection": "upgrade", "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": String(key?.dropFirst("Sec-WebSocket-Key: ".count) ?? ""),
            ])
        let fields = try await channel.eventLoop.flatSubmit {
            NIOWebSocketServerUpgrader(
                shouldUpgrade: { channel, _ in
                    channel.eventLoop.makeSucceededFuture(HTTPHeaders())
                },
                upgradePipelineHandler: { channel, _ in channel.eventLoop.makeSucceededVoidFuture()
                }
            ).buildUpgradeResponse(
                channel: channel, upgradeRequest: head, initialResponseHeaders: HTTPHeaders())
        }.get()
        return Array(
            """
            HTTP/1.1 101 Switching Protocols\r
            Connection: Upgrade\r
            Upgrade: websocket\r
            Sec-WebSocket-Accept: \(fields["Sec-WebSocket-Accept"].first ?? "")\r
            Sec-WebSocket-Protocol: \(WireHandshake.subprotocol)\r
            \r\n
            """.utf8)
    }
}

/// Leads a device to an impostor so many times, then to the real server.
final class Detour: SocketDialer {
    private let impostor: Int
    private let times: Int
    private let server: Int
    private let dials = Mutex(0)
    private let dialer = NIODialer(timeout: .milliseconds(300))

    init(impostor: Int, times: Int, server: Int) {
        self.impostor = impostor
        self.times = times
        self.server = server
    }

    /// How often a device has dialled an impostor.
    var detours: Int { min(times, dials.withLock { $0 }) }

    func dial(
        url: String, protocol: String, maximumFrameBytes: Int
    ) async throws -> any Socket {
        let number = dials.withLock { dials in
            dials += 1
            return dials
        }
        return try await dialer.dial(
            url: "http://127.0.0.1:\(number <= times ? impostor : server)" + WireHandshake.path,
            protocol: `protocol`, maximumFrameBytes: maximumFrameBytes)
    }
}
