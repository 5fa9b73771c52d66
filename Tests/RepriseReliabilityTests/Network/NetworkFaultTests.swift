import Reprise
import RepriseChannels
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Network faults by hand", .timeLimit(.minutes(1)))
struct NetworkFaultTests {
    private let channel: ChannelName
    init() throws { channel = try ChannelName("general") }

    private func messages(_ count: Int, bytes: Int = 100) -> [NewMessage] {
        (0..<count).map { _ in
            NewMessage(channel: channel, id: .random(), body: json(bytes: bytes))
        }
    }

    @Test("a message that was stored, and whose answer was cut off, is stored once")
    func betweenStoreAndAnswer() async throws {
        try await NetworkServer.with { server in
            let proxy = try FaultProxy(to: server.port)
            let device = try await NetworkDevice.open(proxy.url)
            let names = try (0..<8).map { try ChannelName("c\($0)") }
            device.start()
            var ids: [ChannelName: [EntryID]] = [:]
            var former = 0
            for round in 1...5 {
                // By a new connection: it may not have noticed the end of the former one yet.
                try await eventually("it is connected") {
                    let connections = proxy.report.connections
                    return await device.isConnected && connections > former
                }
                // Nothing comes back any more: not from the server, not its answers.
                await proxy.halfOpen([.toClient])
                for name in names {
                    ids[name, default: []].append(
                        try await device.reprise.channel(name.text).publish("1"))
                }
                // What is sent before the device notices the silence is stored by now.
                try await eventually("they are stored") {
                    for name in names {
                        guard try await server.log.state(of: name).head == round else {
                            return false
                        }
                    }
                    return true
                }
                former = proxy.report.connections
                await proxy.cut()
            }
            try await eventually("all have been answered") {
                try await device.reprise.ledger().pending == 0
            }
            for name in names {
                #expect(try await server.stored(in: name).map(\.id) == ids[name])
            }
            let sum = try await device.reprise.ledger()
            #expect(sum.accepted == 40 && sum.outcomes[.applied] == 40 && sum.isBalanced, "\(sum)")
            #expect(
                proxy.report[.halfOpened] == 5 && proxy.report.connections > 5, "\(proxy.report)")
            await device.finish()
        }
    }

    @Test(
        "a half-open connection is found by silence, by either side, and nothing is missing then",
        arguments: [[.toClient, .toServer], [.toServer], [.toClient]] as [Set<FaultProxy.Direction>]
    )
    func halfOpen(_ directions: Set<FaultProxy.Direction>) async throws {
        try await NetworkServer.with { server in
            let proxy = try FaultProxy(to: server.port)
            let device = try await NetworkDevice.open(proxy.url)
            try await device.read(channel)
            device.start()
            try await device.reprise.channel("general").caughtUp()
            await proxy.halfOpen(directions)
            let stored = try await server.store(messages(10))
            try await eventually("they have come") { try await device.effectCount() == 10 }
            // More than one after a stall: all its times are a tenth.
            try await eventually("a new connection was made") { proxy.report.connections >= 2 }
            #expect(try await device.effects(in: channel).sorted() == stored)
            try await eventually("the server has forgotten the dead one") {
                server.gateway.connectionCount == 1
            }
            #expect(device.givenUp == [])
            await device.finish()
        }
    }

    @Test("a slow reader is demoted to catch-up, keeps its connection, and gets everything once")
    func slowReader() async throws {
        var limits = ServerLimits()
        limits.unsentBytes = 262_144
        limits.unsentBytesToResume = 65_536
        try await NetworkServer.with(limits) { server in
            let proxy = try FaultProxy(to: server.port)
            let device = try await NetworkDevice.open(proxy.url, isHurried: false)
            try await device.read(channel)
            device.start()
            let general = try device.reprise.channel("general")
            try await general.caughtUp()
            let states = Mutex<[RepriseChannels.ChannelState]>([])
            let watching = Task {
                for await state in general.states { states.withLock { $0.append(state) } }
            }
            await proxy.hold()
            var stored: [Stored] = []
            for _ in 0..<10 { stored += try await server.store(messages(30, bytes: 40_000)) }
            #expect(try await device.effectCount() < 150)
            await proxy.release()
            try await eventually("it has everything") { try await device.effectCount() == 300 }
            #expect(try await device.effects(in: channel).sorted() == stored)
            try await general.caughtUp()
            watching.cancel()
            let seen = states.withLock { $0 }
            #expect(
                seen.contains { if case .catchingUp = $0 { true } else { false } },
                "it was demoted: \(seen)")
            #expect(proxy.report.connections == 1)
            await device.finish()
        }
    }

    @Test("messages of a connection that was overtaken by the next one are stored once, in order")
    func overtaken() async throws {
        try await NetworkServer.with { server in
            let proxy = try FaultProxy(to: server.port)
            let device = try await NetworkDevice.open(proxy.url)
            device.start()
            let general = try device.reprise.channel("general")
            var ids: [EntryID] = []
            for round in 1...2 {
                try await eventually("it is connected") { await device.isConnected }
                await proxy.hold()
                for _ in 0..<5 { ids.append(try await general.publish("1")) }
                // The device loses patience and dials again; the held publish comes behind the
                // repeated one.
                try await eventually("it has come back") { proxy.report.connections > round }
                try await eventually("all are stored") {
                    try await server.log.state(of: channel).head == Int64(ids.count)
                }
                await proxy.release()
            }
            try await eventually("all have been answered") {
                try await device.reprise.ledger().pending == 0
            }
            #expect(try await server.stored(in: channel).map(\.id) == ids)
            #expect(device.givenUp == [])
            await device.finish()
        }
    }

    @Test(
        "bytes lost from the middle break the framing: the device hangs up, comes back, lacks nothing"
    )
    func damagedOnTheWayToTheDevice() async throws {
        try await NetworkServer.with { server in
            let proxy = try FaultProxy(to: server.port)
            let device = try await NetworkDevice.open(proxy.url)
            try await device.read(channel)
            device.start()
            try await device.reprise.channel("general").caughtUp()
            var stored: [Stored] = []
            for round in 1...12 {
                await proxy.lose(round, .toClient)
                stored += try await server.store(messages(20, bytes: 200))
                try await eventually("round \(round) is complete") {
                    try await device.effectCount() == round * 20
                }
            }
            #expect(try await device.effects(in: channel).sorted() == stored)
            #expect(proxy.report.connections > 6, "it hung up")
            #expect(device.givenUp == [], "damage on the way is no reason never to come back")
            await device.finish()
        }
    }

    @Test("bytes lost on the way to the server store nothing wrong, and nothing is lost")
    func damagedOnTheWayToTheServer() async throws {
        try await NetworkServer.with { server in
            let proxy = try FaultProxy(to: server.port)
            let device = try await NetworkDevice.open(proxy.url)
            device.start()
            let general = try device.reprise.channel("general")
            var ids: [EntryID] = []
            for round in 1...12 {
                try await eventually("it is connected") { await device.isConnected }
                await proxy.lose(round, .toServer)
                for _ in 0..<3 { ids.append(try await general.publish(json(bytes: 300))) }
                try await eventually("round \(round) is stored") {
                    try await device.reprise.ledger().pending == 0
                }
            }
            #expect(try await server.stored(in: channel).map(\.id) == ids)
            // At the third complaint in a row the client gives up, and the app starts it again.
            #expect(device.givenUp.allSatisfy { $0.code == .refused })
            await device.finish()
        }
    }
}
