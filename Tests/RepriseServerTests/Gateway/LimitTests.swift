import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Limits of users and connections")
struct LimitTests {
    let general = channel()

    @Test(
        "a connection beyond a user's limit is refused; when another ends it is accepted",
        .limit("server.connectionsOfUser")
    )
    func connectionsPerUser() async throws {
        var limits = ServerLimits()
        limits.connectionsPerUser = 2
        try await RunningServer.withUsers(limits) { server, _ in
            let first = try await server.client(as: "ada")
            let second = try await server.client(as: "ada")
            let third = try await server.client(hello: false)
            try await third.hello(as: "ada")
            guard
                case .error(.tooManyConnections, let message) = try await third.nextFrame()
            else {
                Issue.record("another frame")
                return
            }
            #expect(message.contains("at most 2 connections") && message.contains("End another"))
            #expect(try await third.ending().1 == 4102)
            let ben = try await server.client(as: "ben")
            #expect(try await first.everythingSoFar().isEmpty, "those that work go on")
            try await second.socket.send(TestClient.frame(0x88, [0x03, 0xe8]))
            _ = try await second.ending()
            try await eventually("it is counted out") { server.connections == 2 }
            _ = try await server.client(as: "ada")
            #expect(try await ben.everythingSoFar().isEmpty)
        }
    }

    @Test(
        "a user who publishes too fast is told how long to wait, over all his connections together; an admin is not limited",
        .limit("server.publishes", "http.rate")
    )
    func publishRate() async throws {
        var limits = ServerLimits()
        limits.publishesAtOnce = 10
        limits.publishesPerSecond = 1
        try await RunningServer.withUsers(limits) { server, _ in
            var codes: [RefusalCode] = []
            var waits: [Duration] = []
            for _ in 0..<2 {
                let client = try await server.client(as: "ada")
                try await client.send((0..<10).map { _ in AccessTests.publish() })
                for _ in 0..<10 {
                    guard case .refused(let refused) = try await client.nextFrame() else {
                        continue
                    }
                    codes.append(refused.code)
                    waits += [refused.retryAfter].compactMap { $0 }
                }
            }
            // A machine that is slow gives a token or two meanwhile.
            #expect((7...10).contains(codes.count))
            #expect(codes.allSatisfy { $0 == .rateLimited })
            #expect(waits.count == codes.count)
            #expect(waits.allSatisfy { $0 > .zero && $0 <= .seconds(1) })
            let admin = try await server.client(as: "ada", isAdmin: true)
            try await admin.send((0..<30).map { _ in AccessTests.publish() })
            for _ in 0..<30 {
                guard case .published = try await admin.nextFrame() else {
                    Issue.record("an admin is refused")
                    return
                }
            }
        }
    }

    @Test(
        "ten thousand subscriptions of one connection: those beyond the bound are refused, the others live"
    )
    func tenThousand() async throws {
        try await RunningServer.withUsers { server, _ in
            let client = try await server.client(as: "ada")
            let names = FairnessTests.channels(10_000)
            let socket = client.socket
            async let sending: Void = {
                for start in stride(from: 0, to: 10_000, by: 1_000) {
                    try await socket.send(
                        TestClient.frame(
                            0x81,
                            FairnessTests.request(Array(names[start..<start + 1_000])).encoded()))
                }
            }()
            var (refused, complete) = (0, 0)
            while refused + complete < 10_000 {
                switch try await client.nextFrame() {
                case .refused(let refusal):
                    #expect(refusal.code == .tooManyChannels)
                    refused += 1
                case .syncComplete: complete += 1
                default: break
                }
            }
            try await sending
            #expect((refused, complete) == (9_000, 1_000))
            #expect(server.connections == 1)
        }
    }

    @Test(
        "a client that subscribes too often is told how long to wait", .limit("server.subscribes"))
    func subscribeRate() async throws {
        var limits = ServerLimits()
        limits.channelsPerConnection = 5
        limits.subscribesPerSecond = 1
        try await RunningServer.withUsers(limits) { server, _ in
            let client = try await server.client(as: "ada")
            for _ in 0..<10 { try await client.subscribe(general) }
            // Some, because a machine that is slow gives leave for one or two meanwhile.
            try await client.send((0..<20).map { _ in FairnessTests.request([general]) })
            while true {
                guard case .refused(let refused) = try await client.nextFrame() else { continue }
                #expect(refused.code == .rateLimited)
                #expect((refused.retryAfter ?? .zero) > .zero)
                return
            }
        }
    }

    @Test(
        "a frame that comes a byte at a time keeps no connection open: only whole frames count as activity"
    )
    func byteByByte() async throws {
        var limits = ServerLimits()
        limits.pingAfter = .milliseconds(100)
        limits.idle = .milliseconds(300)
        try await RunningServer.withUsers(limits) { server, _ in
            let client = try await server.client(as: "ada")
            let bytes = AccessTests.publish().encoded()
            for byte in TestClient.frame(0x81, bytes).prefix(60) {
                do { try await client.socket.send([byte]) } catch { break }
                try await Task.sleep(for: .milliseconds(20))
                if server.connections == 0 { break }
            }
            let (told, _) = try await client.ending()
            #expect(told == .idle)
        }
    }

    @Test(
        "a client that sends typing, receipts and requests but reads nothing is closed when its time is over"
    )
    func neverReads() async throws {
        var limits = ServerLimits()
        limits.notReading = .milliseconds(500)
        limits.unsentBytes = 65_536
        limits.unsentBytesToResume = 16_384
        try await RunningServer.withUsers(limits) { server, _ in
            let client = try await server.client(as: "ada", receiveBuffer: 4_096)
            try await client.send(
                .subscribe([.init(channel: general, epoch: nil, coverage: .init())]))
            try await server.fill(general, messages: 600, bytes: 20_000)
            try await eventually("it is ended") { server.connections == 0 }
        }
    }
}
