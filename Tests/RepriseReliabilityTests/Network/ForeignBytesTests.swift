import NIOCore
import NIOPosix
import Reprise
import RepriseNIO
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import Testing

/// Nothing that the wire or the peer sends ends either process.
@Suite("Foreign bytes", .timeLimit(.minutes(1)))
struct ForeignBytesTests {
    private let channel: ChannelName
    init() throws { channel = try ChannelName("general") }

    @Test("100 clients that send garbage at every stage of a connection leave the server as it was")
    func server() async throws {
        try await NetworkServer.with { server in
            let device = try await NetworkDevice.open("http://127.0.0.1:\(server.port)")
            try await device.read(channel)
            device.start()
            try await device.reprise.channel("general").caughtUp()
            var random = SeededGenerator(seed: 1)
            for round in 0..<2 {
                let scripts = (0..<50).map { _ in Garbage.client(&random) }
                await withTaskGroup(of: Void.self) { group in
                    for script in scripts { group.addTask { await Self.play(script, server.port) } }
                }
                _ = try await server.store([
                    NewMessage(channel: channel, id: .random(), body: Array("\(round)".utf8))
                ])
            }
            try await eventually("the device has what was stored meanwhile") {
                try await device.effectCount() == 2
            }
            try await eventually("only the device is left") { server.gateway.connectionCount == 1 }
            #expect(try await server.log.state(of: channel).head == 2)
            #expect(device.givenUp == [])
            await device.finish()
        }
    }

    @Test("a client that drips its handshake byte by byte is closed at the limit")
    func slowLoris() async throws {
        try await NetworkServer.with { server in
            let clients = 20
            let began = ContinuousClock.now
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<clients {
                    // Some never finish the request, others drip the hello behind it.
                    let request = Garbage.upgrade
                    let script = index % 2 == 0 ? Array(request.dropLast(4)) : request
                    group.addTask {
                        let rest = index % 2 == 0 ? [] : Garbage.frame(Array("{\"type\":".utf8))
                        await Self.play(
                            .init(bytes: script + rest, piece: 1, pause: .milliseconds(250)),
                            server.port)
                    }
                }
            }
            // Undisturbed, a request of 170 bytes and more takes longer.
            #expect(ContinuousClock.now - began < .seconds(30))
            try await eventually("all are gone") { server.gateway.connectionCount == 0 }
        }
    }

    /// Connects, sends, and reads until the server ends it, which it has to.
    private static func play(_ script: Garbage.Script, _ port: Int) async {
        let peer = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel)
                }
            }
        guard let peer else {
            Issue.record("the server does not take connections any more")
            return
        }
        try? await peer.executeThenClose { inbound, outbound in
            await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for start in stride(from: 0, to: script.bytes.count, by: script.piece) {
                        let piece = script.bytes[start...].prefix(script.piece)
                        try await outbound.write(ByteBuffer(bytes: piece))
                        if script.pause > .zero { try await Task.sleep(for: script.pause) }
                    }
                    if script.hangsUp { outbound.finish() }
                }
                group.addTask { for try await _ in inbound {} }
                // The one that reads ends last, unless writing failed.
                while (try? await group.next()) != nil {}
            }
        }
    }

    @Test("servers that send garbage at every stage do not stop a device, nor make it believe them")
    func device() async throws {
        try await NetworkServer.with { server in
            let impostor = try await Impostor.start()
            let stored = try await server.store(
                (0..<20).map { _ in NewMessage(channel: channel, id: .random(), body: [0x31]) })
            let dialer = Detour(impostor: impostor.port, times: 12, server: server.port)
            let device = try await NetworkDevice.open("http://ignored", dialer: dialer)
            try await device.read(channel)
            device.start()
            let id = try await device.reprise.channel("general").publish("2")
            try await eventually("it has met the impostors and then the server") {
                try await device.effectCount() >= 21
            }
            let effects = try await device.effects(in: channel)
            #expect(effects.sorted() == stored + [Stored(seq: 21, id: id)])
            #expect(dialer.detours == 12)
            await device.finish()
            await impostor.stop()
        }
    }
}
