import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Frames before welcome and before close")
struct LeavingTests {
    private static func hello(bytes: Int) -> [UInt8] {
        let hello = ClientFrame.hello(.init(device: .random(), client: "test")).encoded()
        return hello + [UInt8](repeating: 0x20, count: bytes - hello.count)
    }

    @Test(
        "before welcome a frame has 16,384 bytes, and so have fragments together",
        .limit("wire.beforeWelcome"))
    func beforeWelcome() async throws {
        try await RunningServer.with { server in
            let fitting = try await server.client(hello: false)
            try await fitting.send(text: Self.hello(bytes: 16_384))
            guard case .welcome = try await fitting.nextFrame() else {
                Issue.record("no welcome")
                return
            }
            try await fitting.send(text: RFC6455Cases.publish(bytes: 1_048_576))
            guard case .published = try await fitting.nextFrame() else {
                Issue.record("after welcome a frame has as many bytes as ever")
                return
            }

            // Its header alone: nothing of it is waited for.
            let long = try await server.client(hello: false)
            try await long.socket.send([0x81, 0xfe, 0x40, 0x01, 1, 2, 3, 4])
            #expect(try await long.ending() == (.frameTooLarge, CloseCode.frameTooLarge.number))

            let begun = try await server.client(hello: false)
            let piece = [UInt8](repeating: 0x20, count: 10_000)
            try await begun.socket.send(TestClient.frame(0x01, piece))
            try await begun.socket.send(TestClient.frame(0x00, piece))
            #expect(try await begun.ending() == (.frameTooLarge, CloseCode.frameTooLarge.number))
        }
    }

    @Test(
        "frames in one write with the hello have the smaller limit until the welcome, and not after it"
    )
    func behindHello() async throws {
        let long = TestClient.frame(0x81, RFC6455Cases.publish(bytes: 20_000))
        let hello = ClientFrame.hello(.init(device: .random(), client: "test")).encoded()
        try await RunningServer.with { server in
            let client = try await server.client(hello: false)
            try await client.socket.send(TestClient.frame(0x81, hello) + long)
            guard case .welcome = try await client.nextFrame(),
                case .published = try await client.nextFrame()
            else {
                Issue.record("where nobody is asked who he is, the welcome is there at once")
                return
            }
        }
        try await RunningServer.withUsers { server, _ in
            let client = try await server.client(hello: false)
            let hello = ClientFrame.hello(
                .init(device: .random(), client: "test", token: try AccessToken("user.ada.x")))
            try await client.socket.send(TestClient.frame(0x81, hello.encoded()) + long)
            #expect(try await client.ending().1 == CloseCode.frameTooLarge.number)
        }
    }

    @Test("frames in one write with a close frame are answered before the close")
    func answeredBeforeTheClose() async throws {
        let log = try MemoryLog()
        log.change { $0.appendDelay = .milliseconds(50) }
        try await RunningServer.withUsers(log: log) { server, accounts in
            accounts.change { $0.delay = .milliseconds(50) }
            let client = try await server.client(as: "ada")
            let frames: [ClientFrame] = [
                .publish(.init(channel: channel(), id: try EntryID("a"), body: json(bytes: 9))),
                .receipt(.init(channel: channel(), read: 1)),
                .publish(.init(channel: channel("b"), id: try EntryID("b"), body: json(bytes: 9))),
            ]
            let bytes = frames.flatMap { TestClient.frame(0x81, $0.encoded()) }
            try await client.socket.send(bytes + RFC6455Cases.closeFrame(4_000))
            var published: Set<EntryID> = []
            var moved = 0
            answers: while true {
                switch try await client.next() {
                case .frame(.published(let answer)): published.insert(answer.id)
                case .frame(.receipt): moved += 1
                case .frame, .ping, .pong: continue
                case .close(let code):
                    #expect(code == 4_000)
                    break answers
                case .ended:
                    Issue.record("ended without a close frame")
                    return
                }
            }
            #expect(published == [try EntryID("a"), try EntryID("b")])
            #expect(moved == 1)
            #expect(try await client.next() == .ended)
        }
    }

    @Test(
        "a peer's close frame waits for the answers, but not for ever", .limit("server.closeFrame"))
    func notForEver() async throws {
        var limits = ServerLimits()
        limits.shutdown = .milliseconds(400)  // half of it is waited
        let log = try MemoryLog()
        log.change { $0.appendDelay = .seconds(3) }
        try await RunningServer.with(limits, log: log) { server in
            let client = try await server.client()
            try await client.socket.send(
                TestClient.frame(0x81, RFC6455Cases.publish()) + RFC6455Cases.closeFrame(1_000))
            #expect(try await client.next() == .ended)
            #expect(server.log.head(of: channel("rfc")) == 0, "the answer is not there yet")
            try await eventually("the connection is gone") { server.connections == 0 }
        }
    }
}
