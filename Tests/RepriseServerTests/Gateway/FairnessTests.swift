import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Synchronization
import Testing

@Suite("Fair catch-ups")
struct FairnessTests {
    static func channels(_ count: Int) -> [ChannelName] { (0..<count).map { channel("c\($0)") } }

    static func request(
        _ names: [ChannelName], first: ChannelName? = nil
    ) -> ClientFrame {
        .subscribe(
            names.map { .init(channel: $0, epoch: nil, coverage: .init(), isFirst: $0 == first) })
    }

    static func completions(
        _ client: TestClient, _ count: Int
    ) async throws -> [ChannelName] {
        var done: [ChannelName] = []
        while done.count < count {
            if case .syncComplete(let complete) = try await client.nextFrame() {
                done.append(complete.channel)
            }
        }
        return done
    }

    @Test("a thousand channels in one frame are all caught up")
    func thousandChannels() async throws {
        try await RunningServer.withUsers { server, _ in
            let names = Self.channels(1_000)
            for name in names { try await server.fill(name, messages: 2) }
            let client = try await server.client(as: "ada")
            try await client.send(Self.request(names))
            #expect(Set(try await Self.completions(client, 1_000)) == Set(names))
        }
    }

    @Test("the channel on screen is caught up before the others of the connection")
    func first() async throws {
        var limits = ServerLimits()
        limits.pageMessages = 2
        try await RunningServer.with(limits) { server in
            let names = Self.channels(50)
            for name in names { try await server.fill(name, messages: 8) }
            server.log.change { $0.readDelay = .milliseconds(1) }
            let client = try await server.client()
            try await client.send(Self.request(names, first: names[40]))
            let done = try await Self.completions(client, 50)
            #expect(done.first == names[40])
        }
    }

    @Test(
        "the channel on screen is the first, though 599 stand before it and rights are asked in parts"
    )
    func firstOfManyWithUsers() async throws {
        try await RunningServer.withUsers { server, accounts in
            let names = Self.channels(600)
            for name in names { try await server.fill(name, messages: 1) }
            accounts.change { $0.delay = .microseconds(100) }
            let client = try await server.client(as: "ada")
            try await client.send(Self.request(names, first: names[599]))
            #expect(try await Self.completions(client, 1) == [names[599]])
        }
    }

    @Test(
        "a channel that is asked for again as the one on screen is caught up before those that wait"
    )
    func becomesFirst() async throws {
        try await RunningServer.with { server in
            let names = Self.channels(50)
            for name in names { try await server.fill(name, messages: 2) }
            server.log.change { $0.readDelay = .milliseconds(2) }
            let client = try await server.client()
            try await client.send([
                Self.request(names), Self.request([names[45]], first: names[45]),
            ])
            let done = try await Self.completions(client, 50)
            #expect(done.prefix(3).contains(names[45]))
        }
    }

    @Test("a client with a thousand channels does not starve one with a single channel")
    func starvation() async throws {
        var limits = ServerLimits()
        limits.logReaders = 2
        try await RunningServer.with(limits) { server in
            let names = Self.channels(1_000)
            for name in names { try await server.fill(name, messages: 1) }
            try await server.fill(channel("single"), messages: 1)
            server.log.change { $0.readDelay = .milliseconds(2) }
            var many: [TestClient] = []
            for _ in 0..<3 {
                let client = try await server.client()
                try await client.send(Self.request(names))
                many.append(client)
            }
            for client in many { _ = try await Self.completions(client, 1) }
            let one = try await server.client()
            try await one.send(Self.request([channel("single")]))
            _ = try await Self.completions(one, 1)
            var done = 0
            for frame in try await many[0].everythingSoFar() {
                if case .syncComplete = frame { done += 1 }
            }
            #expect(done < 900, "the single one came in its turn, and not behind all the others")
        }
    }

    @Test(
        "no more catch-ups read the log at a time than there are readers", .limit("server.readers"))
    func readers() async throws {
        var limits = ServerLimits()
        limits.logReaders = 3
        try await RunningServer.with(limits) { server in
            let names = Self.channels(10)
            for name in names { try await server.fill(name, messages: 1) }
            server.log.change { $0.readDelay = .milliseconds(2) }
            var clients: [TestClient] = []
            for _ in 0..<8 { clients.append(try await server.client()) }
            for client in clients { try await client.send(Self.request(names)) }
            for client in clients { _ = try await Self.completions(client, 10) }
            #expect(server.log.state.withLock { $0.mostReaders } == 3)
        }
    }
}
