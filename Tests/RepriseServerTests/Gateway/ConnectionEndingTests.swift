import NIOEmbedded
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

@testable import RepriseServer

@Suite("Connection endings")
struct ConnectionEndingTests {
    static let text: UInt8 = 0x81

    /// What a client sends after its hello, and how that ends.
    static let violations: [(String, [UInt8], CloseCode)] = [
        ("a second hello", hello(), .outOfOrder),
        ("an unknown type", TestClient.frame(text, bytes(#"{"type":"dance"}"#)), .malformedFrame),
        ("no JSON", TestClient.frame(text, bytes("hello")), .malformedFrame),
        ("an empty text", TestClient.frame(text, []), .malformedFrame),
        (
            "a body that is no JSON",
            TestClient.frame(
                text, bytes(#"{"type":"publish","channelId":"a","id":"b","body":{]}"#)),
            .malformedFrame
        ),
        (
            "invalid UTF-8 in a string",
            TestClient.frame(
                text,
                bytes(#"{"type":"publish","channelId":"a","id":"b","body":""#) + [0xc3, 0x28]
                    + bytes(#""}"#)), .invalidText
        ),
        ("invalid UTF-8 outside of strings", TestClient.frame(text, [0xff, 0xfe]), .invalidText),
        (
            "invalid UTF-8 across fragments",
            TestClient.frame(0x01, bytes("\"") + [0xe2, 0x82])
                + TestClient.frame(0x80, bytes("x\"")), .invalidText
        ),
        ("a binary frame", TestClient.frame(0x82, bytes("{}")), .notText),
        ("an unmasked frame", TestClient.frame(text, bytes("{}"), isMasked: false), .protocolError),
        ("a reserved bit", TestClient.frame(0xc1, bytes("{}")), .protocolError),
        ("a reserved opcode", TestClient.frame(0x83, bytes("{}")), .protocolError),
        ("a reserved control opcode", TestClient.frame(0x8b, []), .protocolError),
        ("a long ping", TestClient.frame(0x89, Array(repeating: 0, count: 126)), .protocolError),
        ("a ping in fragments", TestClient.frame(0x09, []), .protocolError),
        ("a continuation of nothing", TestClient.frame(0x80, bytes("{}")), .protocolError),
        (
            "a message within a message",
            TestClient.frame(0x01, bytes("{")) + TestClient.frame(text, bytes("}")), .protocolError
        ),
        ("a close frame of one byte", TestClient.frame(0x88, [3]), .protocolError),
        ("a close code that is none", TestClient.frame(0x88, [0x03, 0xed]), .protocolError),
        (
            "a close reason that is no text", TestClient.frame(0x88, [0x03, 0xe8, 0xff]),
            .invalidText
        ),
        (
            "a frame beyond the limit, by its header alone",
            [text, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 1, 1, 2, 3, 4], .frameTooLarge
        ),
        (
            "fragments beyond the limit",
            TestClient.frame(0x01, Array(repeating: 0x20, count: 600_000))
                + TestClient.frame(0x00, Array(repeating: 0x20, count: 600_000)), .frameTooLarge
        ),
    ]

    static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    static func hello(version: Int64 = 1) -> [UInt8] {
        TestClient.frame(
            text,
            ClientFrame.hello(.init(version: version, device: .random(), client: "t")).encoded())
    }

    @Test(
        "breaking a rule is answered with an error frame and its close code", arguments: violations)
    func violation(_ case: (String, [UInt8], CloseCode)) async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            try await client.socket.send(`case`.1)
            let (told, code) = try await client.ending(answersClose: true)
            #expect(told == `case`.2)
            #expect(code == `case`.2.number)
        }
    }

    @Test("the error of an unknown type names it, and the types that a client sends")
    func unknownType() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            try await client.send(text: #"{"type":"dance"}"#)
            guard case .error(.malformedFrame, let message) = try await client.nextFrame() else {
                Issue.record("another frame")
                return
            }
            #expect(message.contains("“dance”") && message.contains("subscribe"))
        }
    }

    @Test(
        "a frame before hello ends with 4201",
        arguments: [
            ClientFrame.unsubscribe([channel()]),
            .subscribe([.init(channel: channel(), epoch: nil, coverage: Coverage())]),
            .publish(.init(channel: channel(), id: .random(), body: [0x31])),
        ])
    func frameBeforeHello(_ frame: ClientFrame) async throws {
        try await RunningServer.with { server in
            let client = try await server.client(hello: false)
            try await client.send(frame)
            #expect(try await client.ending().1 == CloseCode.outOfOrder.number)
        }
    }

    @Test("another version of the protocol ends with 4202", arguments: [0, 2, -1])
    func version(_ version: Int64) async throws {
        try await RunningServer.with { server in
            let client = try await server.client(hello: false)
            try await client.socket.send(Self.hello(version: version))
            let (told, code) = try await client.ending()
            #expect(told == .unsupportedVersion)
            #expect(code == CloseCode.unsupportedVersion.number)
        }
    }

    @Test("a connection without a hello in time ends with 4002", .limit("server.handshake"))
    func noHello() async throws {
        var limits = ServerLimits()
        limits.handshake = .seconds(4)
        try await RunningServer.with(limits) { server in
            let client = try await server.client(hello: false)
            #expect(try await client.ending().1 == CloseCode.handshakeTimedOut.number)
        }
    }

    @Test(
        "a silent peer is pinged, and one that does not answer ends with 4000",
        .limit("server.idle"))
    func idle() async throws {
        var limits = ServerLimits()
        limits.pingAfter = .milliseconds(100)
        limits.idle = .seconds(5)
        try await RunningServer.with(limits) { server in
            let client = try await server.client()
            #expect(try await client.next() == .ping([]))
            #expect(try await client.ending().1 == CloseCode.idle.number)
        }
    }

    @Test("a peer that answers pings stays")
    func answeredPings() async throws {
        var limits = ServerLimits()
        limits.pingAfter = .milliseconds(50)
        limits.idle = .seconds(5)
        try await RunningServer.with(limits) { server in
            let client = try await server.client()
            for _ in 0..<12 {
                #expect(try await client.next() == .ping([]))
                try await client.socket.send(TestClient.frame(0x8a, []))
            }
        }
    }

    @Test(
        "one connection more than the limit ends with 4101, and its place is free again",
        .limit("server.connections"))
    func tooManyConnections() async throws {
        var limits = ServerLimits()
        limits.connections = 2
        try await RunningServer.with(limits) { server in
            let first = try await server.client()
            let second = try await server.client()
            let third = try await server.client(hello: false)
            let (told, code) = try await third.ending()
            #expect(told == .overloaded)
            #expect(code == CloseCode.overloaded.number)
            try await second.socket.send(TestClient.frame(0x88, [0x03, 0xe8]))
            #expect(try await second.next() == .close(1_000))
            #expect(try await second.next() == .ended)
            try await eventually("the place is free") { server.connections == 1 }
            _ = try await server.client()
            _ = first
        }
    }

    @Test("a connection whose pipeline has gone during its handshake is counted out")
    func pipelineIsGone() throws {
        let channel = EmbeddedChannel()
        let log = try MemoryLog()
        let gateway = Gateway(
            limits: ServerLimits(), hub: Hub(loops: [channel.eventLoop], limits: ServerLimits()),
            log: log, committer: Committer(log: log, onCommit: { _ in }),
            clock: SystemTimekeeper(), logger: RunningServer.logger)
        let seat = try #require(gateway.httpConnections.take(for: nil))
        let decoder = FrameHeaderGuard { 0 }
        #expect(throws: (any Error).self) {
            try gateway.attach(channel, behind: decoder, seat: seat)
        }
        #expect(gateway.connectionCount == 0 && gateway.httpConnectionCount == 0)
    }

    @Test("a peer that reads nothing while bytes wait ends with 4001", .limit("server.notReading"))
    func notReading() async throws {
        var limits = ServerLimits()
        limits.notReading = .milliseconds(400)
        limits.unsentBytes = 65_536
        limits.unsentBytesToResume = 16_384
        try await RunningServer.with(limits) { server in
            try await server.fill(channel(), messages: 400, bytes: 50_000)
            let client = try await server.client(receiveBuffer: 4_096)
            try await client.send(
                .subscribe([.init(channel: channel(), epoch: nil, coverage: Coverage())]))
            try await eventually("the connection is given up") { server.connections == 0 }
        }
    }

    @Test("a close frame is echoed and a ping answered with its payload")
    func controlFrames() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            try await client.socket.send(TestClient.frame(0x89, Self.bytes("here?")))
            #expect(try await client.next() == .pong(Self.bytes("here?")))
            try await client.socket.send(TestClient.frame(0x88, [0x0f, 0xa0]))
            #expect(try await client.next() == .close(4_000))
            #expect(try await client.next() == .ended)
        }
    }

    @Test("a message in fragments, with a ping between them, is one message")
    func fragments() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            let publish = ClientFrame.publish(
                .init(channel: channel(), id: .random(), body: Self.bytes(#""héllo""#))
            ).encoded()
            try await client.socket.send(TestClient.frame(0x01, Array(publish[..<10])))
            try await client.socket.send(TestClient.frame(0x89, []))
            try await client.socket.send(TestClient.frame(0x00, Array(publish[10..<60])))
            try await client.socket.send(TestClient.frame(0x00, []))
            try await client.socket.send(TestClient.frame(0x80, Array(publish[60...])))
            #expect(try await client.next() == .pong([]))
            guard case .published(let published) = try await client.nextFrame() else {
                Issue.record("not published")
                return
            }
            #expect(published.seq == 1)
        }
    }
}
