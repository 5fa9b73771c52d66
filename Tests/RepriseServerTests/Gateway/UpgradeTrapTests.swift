import Foundation
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import ServiceLifecycle
import Testing

/// Eight traps of sharing one port between HTTP and WebSocket, each met on a raw socket.
@Suite("Traps of one port")
struct UpgradeTrapTests {
    static let strange: [(String, String, String)] = [
        ("h2c", TestClient.handshake(upgrade: "h2c"), "426"),
        ("a wrong path", TestClient.handshake(path: "/v1/else"), "404"),
        ("a wrong version", TestClient.handshake(version: "8"), "426"),
        ("no subprotocol", TestClient.handshake(protocol: nil), "426"),
        ("a foreign subprotocol", TestClient.handshake(protocol: "chat"), "426"),
    ]

    @Test("1: an upgrade that is not accepted is answered by the router", arguments: strange)
    func unacceptedUpgradeIsAnswered(_ case: (String, String, String)) async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send(`case`.1)
            let reply = try await socket.receive(until: "\r\n\r\n")
            #expect(reply.hasPrefix("HTTP/1.1 \(`case`.2) "))
        }
    }

    @Test("1: a handshake that is refused says what is missing")
    func refusalTeaches() async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send(TestClient.handshake(protocol: nil))
            let reply = try await socket.receive(until: "reprise.v1.\"}}")
            #expect(reply.lowercased().contains("sec-websocket-version: 13"))
            #expect(reply.contains("reprise.v1"))
        }
    }

    @Test("2: WebSocket bytes that come with the handshake are read as WebSocket")
    func bytesBehindTheHandshake() async throws {
        try await RunningServer.with { server in
            let client = TestClient(socket: try PlainSocket(port: server.port))
            let hello = ClientFrame.hello(.init(device: .random(), client: "test")).encoded()
            try await client.socket.send(
                Array(TestClient.handshake().utf8) + TestClient.frame(0x81, hello))
            try await client.readResponse()
            #expect(client.response.hasPrefix("HTTP/1.1 101 "))
            #expect(client.response.lowercased().contains("sec-websocket-protocol: reprise.v1"))
            #expect(client.response.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
            guard case .welcome = try await client.nextFrame() else {
                Issue.record("no welcome")
                return
            }
        }
    }

    @Test("3: a peer that ends its half of the connection ends the connection")
    func halfClosure() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            client.socket.endSending()
            #expect(try await client.next() == .ended)
            try await eventually("no connection is left") { server.connections == 0 }
        }
    }

    @Test("4: at shutdown silent connections of every stage end")
    func shutdownEndsEveryStage() async throws {
        try await RunningServer.with { server in
            let silent = try PlainSocket(port: server.port)
            let kept = try PlainSocket(port: server.port)
            try await kept.send("GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = try await kept.receive(until: "\r\n\r\n")
            let upgraded = try await server.client(hello: false)
            let open = try await server.client()
            await server.group.triggerGracefulShutdown()
            let ending = try await open.ending()
            #expect(ending.0 == .goingAway)
            #expect(ending.1 == CloseCode.goingAway.number)
            #expect(try await upgraded.ending().1 == CloseCode.goingAway.number)
            #expect(try await silent.receiveAll().isEmpty)
            _ = try await kept.receiveAll()
        }
    }

    @Test("5: garbage gets a 400 and the end")
    func garbage() async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send("\u{1}\u{2}garbage\r\n\r\n")
            let reply = String(
                decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(reply.hasPrefix("HTTP/1.1 400 "))
        }
    }

    @Test("5: garbage behind a good request gets one 400 and the end")
    func garbageLater() async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = try await socket.receive(until: "ok\"}")
            try await socket.send("\u{1}\u{2}garbage\r\n\r\n")
            let reply = String(
                decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(reply.hasPrefix("HTTP/1.1 400 "))
            #expect(reply.components(separatedBy: "HTTP/1.1 ").count == 2)
        }
    }

    @Test(
        "6: a connection that makes no request is closed in time", .limit("http.idle"),
        arguments: ["", "GET /v1/conn", "GET / HTTP/1.1\r\nHost: a\r\nX: "])
    func silenceBeforeTheUpgrade(_ beginning: String) async throws {
        var limits = ServerLimits()
        limits.handshake = .milliseconds(200)
        try await RunningServer.with(limits) { server in
            let began = ContinuousClock.now
            let socket = try PlainSocket(port: server.port)
            try await socket.send(beginning)
            _ = try await socket.receiveAll()
            #expect(ContinuousClock.now - began >= .milliseconds(150))
        }
    }

    @Test("7: a handshake as a later request of a connection is accepted")
    func laterRequest() async throws {
        try await RunningServer.with { server in
            let client = TestClient(socket: try PlainSocket(port: server.port))
            let ask = "GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
            for _ in 0..<2 {
                try await client.socket.send(ask)
                let reply = try await client.socket.receive(until: "}}")
                #expect(reply.hasPrefix("HTTP/1.1 404 "))
            }
            try await client.socket.send(TestClient.handshake())
            try await client.readResponse()
            #expect(client.response.hasPrefix("HTTP/1.1 101 "))
            try await Self.use(client, of: server)
        }
    }

    @Test("7: a request, a handshake and WebSocket bytes in one packet are answered in order")
    func onePacket() async throws {
        try await RunningServer.with { server in
            let client = TestClient(socket: try PlainSocket(port: server.port))
            let hello = ClientFrame.hello(.init(device: .random(), client: "test")).encoded()
            let ask = "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
            try await client.socket.send(
                Array((ask + TestClient.handshake()).utf8) + TestClient.frame(0x81, hello))
            try await client.readResponse()
            #expect(client.response.hasPrefix("HTTP/1.1 200 "))
            try await client.readResponse()
            #expect(client.response.hasPrefix("HTTP/1.1 101 "))
            try await Self.use(client, of: server, saysHello: false)
        }
    }

    /// Such a connection takes and sends what others do, ends when it is told to, and is counted
    /// out.
    private static func use(
        _ client: TestClient, of server: RunningServer, saysHello: Bool = true
    ) async throws {
        if saysHello { try await client.send(.hello(.init(device: .random(), client: "test"))) }
        guard case .welcome = try await client.nextFrame() else {
            Issue.record("no welcome")
            return
        }
        #expect(server.gateway.httpConnectionCount == 0, "it is a WebSocket now")
        try await client.send(
            .subscribe([.init(channel: channel(), epoch: nil, coverage: Coverage())]))
        let bodies = (0..<100).map { _ in json(bytes: 20_000) }
        for body in bodies {
            try await client.send(
                [.publish(.init(channel: channel(), id: .random(), body: body))])
        }
        var received: [[UInt8]] = []
        while received.count < bodies.count {
            if case .event(let event) = try await client.nextFrame() { received.append(event.body) }
        }
        #expect(received == bodies)
        await server.group.triggerGracefulShutdown()
        let ending = try await client.ending()
        #expect(ending.0 == .goingAway)
        try await eventually("it is counted out") { server.connections == 0 }
    }

    @Test("8: frames of every length arrive framed once, unmasked and whole")
    func framesAreFramedOnce() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            try await client.send(
                .subscribe([.init(channel: channel(), epoch: nil, coverage: Coverage())]))
            let bodies = [1, 10, 100, 60_000, 65_536].map { size in
                Array("\"".utf8) + Array(repeating: UInt8(ascii: "x"), count: max(0, size - 2))
                    + Array("\"".utf8)
            }
            try await client.send(
                bodies.map { .publish(.init(channel: channel(), id: .random(), body: $0)) })
            var received: [[UInt8]] = []
            while received.count < bodies.count {
                if case .event(let event) = try await client.nextFrame() {
                    received.append(event.body)
                }
            }
            #expect(received == bodies)
        }
    }
}
