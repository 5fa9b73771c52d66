import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import ServiceLifecycle
import Synchronization
import Testing

@Suite("A device that connects again")
struct TakeoverTests {
    let general = channel()

    /// What a device publishes, with ids of which one can tell on which connection it was.
    private func publish(_ client: TestClient, _ id: String) async throws {
        try await client.send(AccessTests.publish(id: try EntryID(id)))
    }

    @Test(
        "its older connection ends with 4104, and later publishes on it are not stored",
        .limit("server.connectionsOfDevice"))
    func stale() async throws {
        try await RunningServer.with { server in
            let device = EntryID.random()
            let older = try await server.client(device: device)
            let newer = try await server.client(device: device)
            try await publish(older, "stuck")
            try await publish(newer, "fresh")
            guard case .published(let published) = try await newer.nextFrame() else {
                Issue.record("not stored")
                return
            }
            #expect(published.id.text == "fresh")
            let (told, code) = try await older.ending()
            #expect(told == .replaced && code == 4104)
            #expect(told?.advice == .reconnectLater)
            #expect(server.log.ids(in: general) == ["fresh"])
            #expect(try await newer.everythingSoFar().isEmpty, "it goes on")
        }
    }

    @Test("a message that was refused on the newer connection is not stored through the older one")
    func refusedForGood() async throws {
        try await RunningServer.with { server in
            let device = EntryID.random()
            let older = try await server.client(device: device)
            let newer = try await server.client(device: device)
            let first = try EntryID("first")
            let second = ClientFrame.publish(
                .init(channel: general, id: try EntryID("second"), after: first, body: [0x31]))
            try await newer.send(second)
            #expect(AccessTests.refusal(try await newer.nextFrame())?.2 == .predecessorMissing)
            try await publish(older, "first")
            _ = try await older.ending()
            try await newer.send(second)
            #expect(AccessTests.refusal(try await newer.nextFrame())?.2 == .predecessorMissing)
            #expect(server.log.ids(in: general).isEmpty)
        }
    }

    /// The two are on different loops, mostly: which of them is first is left to the machine.
    @Test("publishes of the older connection are never stored after the welcome of the newer one")
    func race() async throws {
        try await RunningServer.with { server in
            for round in 0..<16 {
                let device = EntryID.random()
                let older = try await server.client(device: device)
                let socket = older.socket
                let general = general
                let frames = try (0..<400).map { index in
                    TestClient.frame(
                        0x81,
                        ClientFrame.publish(
                            .init(
                                channel: general, id: try EntryID("\(round)-old-\(index)"),
                                body: [0x31])
                        ).encoded())
                }
                async let flood: Void = {
                    for frame in frames {
                        do { try await socket.send(frame) } catch { return }
                    }
                }()
                let newer = try await server.client(device: device)
                try await publish(newer, "\(round)-new")
                while true {
                    guard case .published(let published) = try await newer.nextFrame() else {
                        continue
                    }
                    #expect(published.id.text == "\(round)-new")
                    break
                }
                _ = try? await older.ending()
                await flood
                let ids = server.log.ids(in: general).filter { $0.hasPrefix("\(round)-") }
                #expect(ids.last == "\(round)-new", "of \(ids.count)")
            }
        }
    }

    @Test("of many connections at the same moment one is left")
    func crowd() async throws {
        try await RunningServer.with { server in
            let device = EntryID.random()
            let endings = try await withThrowingTaskGroup(of: UInt16?.self) { group in
                for _ in 0..<48 {
                    group.addTask {
                        let client = try await server.client(hello: false)
                        try await client.send(.hello(.init(device: device, client: "test")))
                        while true {
                            switch try await client.next(within: .seconds(60)) {
                            case .close(let code): return code
                            case .ended: return nil
                            case .frame, .ping, .pong: continue
                            }
                        }
                    }
                }
                var codes: [UInt16?] = []
                while codes.count < 47, let code = try await group.next() { codes.append(code) }
                try await eventually("one is left") { server.connections == 1 }
                await server.group.triggerGracefulShutdown()
                return codes
            }
            #expect(endings == Array(repeating: 4104, count: 47))
        }
    }

    @Test("other devices go on, and so do other users' devices with the same id")
    func others() async throws {
        try await RunningServer.withUsers { server, _ in
            let device = EntryID.random()
            let phone = try await server.client(as: "ada", device: device)
            let tablet = try await server.client(as: "ada")
            let thief = try await server.client(as: "eve", device: device)
            for client in [phone, tablet, thief] {
                #expect(try await client.everythingSoFar().isEmpty)
            }
            _ = try await server.client(as: "ada", device: device)
            #expect(try await phone.ending().0 == .replaced)
            for client in [tablet, thief] {
                #expect(try await client.everythingSoFar().isEmpty)
            }
        }
    }

    @Test("replaced connections do not count towards the user's limit")
    func seat() async throws {
        var limits = ServerLimits()
        limits.connectionsPerUser = 1
        try await RunningServer.withUsers(limits) { server, _ in
            let device = EntryID.random()
            var clients: [TestClient] = []
            for _ in 0..<5 { clients.append(try await server.client(as: "ada", device: device)) }
            let other = try await server.client(hello: false)
            try await other.hello(as: "ada")
            #expect(try await other.ending().0 == .tooManyConnections)
            #expect(try await clients[4].everythingSoFar().isEmpty)
        }
    }

    @Test("a connection without a valid token replaces no other")
    func stranger() async throws {
        try await RunningServer.withUsers { server, _ in
            let device = EntryID.random()
            let phone = try await server.client(as: "ada", device: device)
            let stranger = try await server.client(hello: false)
            try await stranger.send(.hello(.init(device: device, client: "test")))
            #expect(try await stranger.ending().0 == .unauthorized)
            #expect(try await phone.everythingSoFar().isEmpty)
        }
    }
}

extension MemoryLog {
    /// In the order in which they were stored.
    func ids(in channel: ChannelName) -> [String] {
        state.withLock { ($0.channels[channel] ?? []).map(\.id.text) }
    }
}
