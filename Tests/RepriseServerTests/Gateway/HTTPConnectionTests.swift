import Foundation
import NIOCore
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

@testable import RepriseServer

/// What a peer of plain HTTP can do to others by asking much, taking little and sending slowly.
@Suite("HTTP connections", .timeLimit(.minutes(1)))
struct HTTPConnectionTests {
    static func get(_ path: String, _ more: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(more)\r\n"
    }

    static func post(_ more: String, _ body: String = "") -> String {
        "POST /v1/channels/general/messages HTTP/1.1\r\nHost: localhost\r\n"
            + "Content-Type: application/json\r\n\(more)\r\n\(body)"
    }

    // MARK: Answers that are not read

    @Test(
        "a client that reads no answers costs the memory of one answer, and its connection is closed",
        .limit("http.pipelining", "http.notReading", "http.systemBuffer"))
    func unread() async throws {
        var limits = ServerLimits()
        limits.notReading = .seconds(2)
        try await RunningServer.with(limits) { server in
            let before = Self.residentBytes()
            let asks = String(repeating: Self.get("/openapi.json"), count: 300)
            var sockets: [PlainSocket] = []
            for _ in 0..<100 {
                let socket = try PlainSocket(port: server.port, receiveBuffer: 4_096)
                try await socket.send(asks)
                sockets.append(socket)
            }
            let healthy = try PlainSocket(port: server.port)
            var most = 0
            for _ in 0..<20 {
                try await healthy.send(Self.get("/healthz"))
                // Until the system's own buffers are full the others are answered, too.
                _ = try await healthy.receive(until: "}")
                most = max(most, Self.residentBytes() - before)
            }
            #expect(most < 150 << 20, "\(most >> 20) MiB for 100 connections")
            try await eventually("those that take nothing are closed") {
                server.gateway.httpConnectionCount == 1
            }
        }
    }

    @Test("the next request of a connection is read once the answer before it was taken")
    func pipelining() async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            let ask = Self.get("/v1/devices") + Self.get("/openapi.json") + Self.get("/healthz")
            try await socket.send(
                String(repeating: ask, count: 20) + Self.get("/x", "Connection: close\r\n"))
            let all = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(all.components(separatedBy: "HTTP/1.1 200 OK").count == 1 + 40)
            #expect(all.components(separatedBy: "HTTP/1.1 403 ").count == 1 + 20)
            #expect(all.components(separatedBy: "HTTP/1.1 404 ").count == 1 + 1)
        }
    }

    @Test("requests behind a body in chunks, in the same packet, are answered in order")
    func pipelinedChunks() async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            let chunked = Self.post(
                "Transfer-Encoding: chunked\r\n", "8\r\n{\"body\":\r\n2\r\n1}\r\n0\r\n\r\n")
            let plain = Self.post("Content-Length: 10\r\n", "{\"body\":1}")
            try await socket.send(
                String(repeating: chunked + plain + Self.get("/healthz"), count: 5)
                    + Self.get("/x", "Connection: close\r\n"))
            socket.endSending()
            let all = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(all.components(separatedBy: "HTTP/1.1 200 OK").count == 1 + 15)
            #expect(all.components(separatedBy: #""seq":"#).count == 1 + 10)
            #expect(all.contains("HTTP/1.1 404 "))
        }
    }

    @Test(
        "beyond the limit of all unsent answers, the connection that has waited longest is closed",
        .limit("http.unsent"))
    func unreadInAll() async throws {
        var limits = ServerLimits()
        limits.httpUnsentBytes = 14 << 20
        try await RunningServer.with(limits) { server in
            try await server.fill(channel(), messages: 1_000, bytes: 6_000)
            var sockets: [PlainSocket] = []
            for _ in 1...4 {
                let socket = try PlainSocket(port: server.port, receiveBuffer: 4_096)
                try await socket.send(Self.get("/v1/channels/general/messages?limit=1000"))
                sockets.append(socket)
                _ = try await socket.receive()
            }
            try await eventually("some are closed") { server.gateway.httpConnectionCount < 4 }
            let last = sockets.removeLast()
            var count = 0
            while count < 100_000, let bytes = try await last.receive() { count += bytes.count }
            #expect(count >= 100_000, "the newest is served")
        }
    }

    // MARK: Upgrades

    @Test(
        "behind an upgrade that is not accepted the next request is answered, or the connection ends",
        arguments: [
            get("/healthz", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"),
            get("/healthz", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
            get("/v1/connect", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
            TestClient.handshake(path: "/v1/else"), TestClient.handshake(version: "8"),
            TestClient.handshake().replacing(
                "Upgrade: w", with: "Origin: http://evil.example\r\nUpgrade: w"),
            "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
            post("Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 10\r\n", "{\"body\":1}"),
            post(
                "Connection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n",
                "a\r\n{\"body\":1}\r\n0\r\n\r\n"),
        ])
    func unacceptedUpgrade(_ first: String) async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send(first)
            let answer = try await socket.receive(until: "}")
            #expect(answer.hasPrefix("HTTP/1.1 "))
            if answer.lowercased().contains("connection: close") {
                #expect(try await socket.receiveAll().count < 2)
                return
            }
            for _ in 0..<2 {
                try await socket.send(Self.get("/healthz"))
                #expect(try await socket.receive(until: "ok\"}").hasPrefix("HTTP/1.1 200 "))
            }
        }
    }

    @Test("an upgrade that is not accepted keeps its connection, where nothing else is behind it")
    func keptUpgrade() async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            let h2c = Self.get("/healthz", "Connection: Upgrade\r\nUpgrade: h2c\r\n")
            try await socket.send(h2c + h2c + Self.get("/x", "Connection: close\r\n"))
            let all = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(all.components(separatedBy: "HTTP/1.1 200 OK").count == 3)
            #expect(all.contains("HTTP/1.1 404 "))
        }
    }

    @Test(
        "a handshake whose key is not 16 bytes of base64 is refused",
        arguments: [
            "", "x", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZR==",
            "AAAAAAAAAAAAAAAAAAAAAAAA", "!!!!!!!!!!!!!!!!!!!!!!==",
            "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ])
    func badKey(_ key: String) async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send(
                TestClient.handshake().replacing("dGhlIHNhbXBsZSBub25jZQ==", with: key))
            let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 400 "))
            #expect(answer.contains("Sec-WebSocket-Key"))
        }
    }

    // MARK: Bad requests

    @Test(
        "a request without one good Host, or with two ways to find its end, is a bad one",
        arguments: [
            "GET /healthz HTTP/1.1\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
            "GET /healthz HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: localhost, localhost\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: localhost:80:80\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: localhost:x\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: localhost:65536\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: http://localhost\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: me@localhost\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: [::1\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: [localhost]\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: loc%2\r\n\r\n",
            TestClient.handshake().replacing("Host: localhost\r\n", with: ""),
            TestClient.handshake().replacing("Host: localhost", with: "Host: a\r\nHost: b"),
            "POST /v1/channels/general/messages HTTP/1.0\r\nHost: localhost\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
            post("Content-Length: 5\r\nContent-Length: 6\r\n", "12345"),
            post("Content-Length: -1\r\n"), post("Transfer-Encoding: gzip\r\n", "abc"),
            "GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n",
        ])
    func badRequest(_ request: String) async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send(request + Self.get("/healthz"))
            let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2, "and nothing behind it")
            #expect(answer.contains(#"{"error":{"code":"malformed""#))
        }
    }

    @Test("a HEAD without a good Host is refused without a body")
    func badHead() async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send("HEAD /healthz HTTP/1.1\r\n\r\n")
            let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 400 ") && answer.hasSuffix("\r\n\r\n"))
            let date = try #require(answer.firstMatch(of: /\r\nDate: ([^\r]+)\r\n/)).1
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
            let told = try #require(format.date(from: String(date)))
            #expect(date.hasSuffix(" GMT") && abs(told.timeIntervalSinceNow) < 60)
        }
    }

    @Test(
        "every spelling of a good Host is taken",
        arguments: ["localhost", "LOCALHOST:8080", "127.0.0.1", "[::1]:1", "localhost:"])
    func goodHost(_ host: String) async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send("GET /healthz HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            #expect(try await socket.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test("HTTP/1.0 needs no Host, and its connection ends behind the answer")
    func oldVersion() async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send("GET /healthz HTTP/1.0\r\n\r\n")
            let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(answer.contains(" 200 OK"))
            #expect(answer.lowercased().contains("connection: close"))
        }
    }

    @Test("a head beyond its bounds is refused with 431", .limit("http.head"), arguments: [1, 300])
    func largeHead(fields: Int) async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            let value = String(repeating: "x", count: fields == 1 ? 70_000 : 10)
            let more = (0..<fields).map { "X-\($0): \(value)\r\n" }.joined()
            try? await socket.send(Self.get("/healthz", more))
            let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 431 "), "\(answer)")
        }
    }

    @Test(
        "a path is accepted in one spelling only, so that a proxy can block it",
        arguments: [
            "/metrics/", "//metrics", "/metrics//", "//metrics?x", "/./metrics", "/%6detrics",
        ])
    func spellings(_ path: String) async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send(Self.get(path))
            let answer = try await socket.receive(until: "}}")
            #expect(answer.hasPrefix("HTTP/1.1 404 "), "\(answer.prefix(200))")
        }
    }

    // MARK: Bodies

    @Test(
        "a peer that waits with Expect: 100-continue is told to send its body when a route reads it"
    )
    func expectation() async throws {
        try await RunningServer.withUsers { server, _ in
            let socket = try PlainSocket(port: server.port)
            let body = #"{"body":1}"#
            let more =
                "Authorization: Bearer user.ada.x\r\nExpect: 100-continue\r\nContent-Length: "
            for _ in 0..<2 {
                try await socket.send(Self.post(more + "\(body.utf8.count)\r\n"))
                let leave = try await socket.receive(until: "\r\n\r\n")
                #expect(leave == "HTTP/1.1 100 Continue\r\n\r\n")
                try await socket.send(body)
                let answer = try await socket.receive(until: "}")
                #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
            }
            try await socket.send(Self.post(more + "99999999\r\n"))
            let refusal = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(refusal.hasPrefix("HTTP/1.1 413 "), "a body that is refused is not asked for")
        }
    }

    @Test(
        "a connection whose refused body was not read ends, however slowly the body comes",
        .limit("http.lingering"))
    func refusedBody() async throws {
        var limits = ServerLimits()
        limits.httpLingering = .milliseconds(500)
        try await RunningServer.withUsers(limits) { server, _ in
            let socket = try PlainSocket(port: server.port)
            try await socket.send(Self.post("Content-Length: 1000\r\n", "{"))
            let answer = try await socket.receive(until: "}}")
            #expect(answer.hasPrefix("HTTP/1.1 401 "))
            #expect(answer.lowercased().contains("connection: close"))
            try await Self.drip(to: socket, of: server)
        }
    }

    @Test(
        "a body that comes more slowly than the least rate is refused, and its connection ends",
        .limit("http.bodyRate"))
    func slowBody() async throws {
        var limits = ServerLimits()
        limits.httpLingering = .milliseconds(500)
        limits.bodyGrace = .milliseconds(500)
        limits.bodyBytesPerSecond = 1_000
        try await RunningServer.with(limits) { server in
            for type in ["application/json", "application/x-ndjson"] {
                let socket = try PlainSocket(port: server.port)
                let head = Self.post("Content-Length: 60000\r\n", "{")
                try await socket.send(head.replacing("application/json", with: type))
                try await Self.drip(to: socket, of: server)
                let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
                #expect(answer.hasPrefix("HTTP/1.1 408 "), "\(answer)")
                #expect(answer.contains(#""code":"timedOut""#))
            }
        }
    }

    @Test("a later request whose head does not end is closed in time", .limit("http.headTime"))
    func slowHead() async throws {
        var limits = ServerLimits()
        limits.handshake = .seconds(4)
        try await RunningServer.with(limits) { server in
            let socket = try PlainSocket(port: server.port)
            #expect(try await Self.isServed(socket))
            try await socket.send("GET /healthz HT")
            try await Self.drip(to: socket, of: server)
        }
    }

    @Test("a body that comes in pieces but fast enough is taken")
    func steadyBody() async throws {
        var limits = ServerLimits()
        limits.bodyGrace = .seconds(4)
        limits.bodyBytesPerSecond = 1_000
        try await RunningServer.with(limits) { server in
            let socket = try PlainSocket(port: server.port)
            // It takes longer than the grace.
            let body = String(decoding: json(bytes: 60_000), as: UTF8.self)
            let head = Self.post("Content-Length: \(body.utf8.count + 9)\r\n", "{\"body\":")
            try await socket.send(head)
            var rest = Substring(body + "}")
            while !rest.isEmpty {
                try await socket.send(String(rest.prefix(1_000)))
                rest = rest.dropFirst(1_000)
                try await Task.sleep(for: .milliseconds(100))  // it is the slowness that is tested
            }
            #expect(try await socket.receive(until: "}").hasPrefix("HTTP/1.1 200 "))
        }
    }

    /// Sends a byte now and then, until the server has ended the connection.
    private static func drip(to socket: PlainSocket, of server: RunningServer) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while server.gateway.httpConnectionCount > 0 {
            try #require(ContinuousClock.now < deadline, "it is still open")
            try? await socket.send(" ")
            try await Task.sleep(for: .milliseconds(50))  // it is the slowness that is tested
        }
    }

    // MARK: Too many

    @Test(
        "an address beyond its limit gets no connection, and others do; a WebSocket is not counted",
        .limit("http.connections")
    )
    func perAddress() async throws {
        var limits = ServerLimits()
        limits.httpConnectionsPerAddress = 3
        try await RunningServer.with(limits) { server in
            let webSockets = [try await server.client(), try await server.client()]
            var open: [PlainSocket] = []
            for _ in 0..<3 {
                let socket = try PlainSocket(port: server.port)
                #expect(try await Self.isServed(socket))
                open.append(socket)
            }
            #expect(try await !Self.isServed(PlainSocket(port: server.port)))
            #expect(try await Self.isServed(PlainSocket(port: server.port, from: "127.0.0.2")))
            open.removeLast()
            try await eventually("it is counted out") { server.gateway.httpConnectionCount == 2 }
            #expect(try await Self.isServed(PlainSocket(port: server.port)))
            #expect(webSockets.count == 2)
        }
    }

    @Test(
        "IPv4 clients of a listener of both families are counted by their own addresses",
        .limit("http.connections"))
    func mappedAddresses() throws {
        var limits = ServerLimits()
        limits.httpConnectionsPerAddress = 1
        let connections = HTTPConnections(
            .init(limits, descriptors: nil),
            warning: ThrottledWarning(logger: RunningServer.logger, clock: SystemTimekeeper()))
        func isWelcome(_ address: String) throws -> Bool {
            connections.take(for: try SocketAddress(ipAddress: address, port: 1)) != nil
        }
        #expect(try isWelcome("::ffff:192.0.2.1"))
        #expect(try isWelcome("::ffff:192.0.2.2"), "another address")
        #expect(try !isWelcome("192.0.2.1"), "the same address")
        #expect(try isWelcome("2001:db8:0:1::1"))
        #expect(try !isWelcome("2001:db8:0:1::2"), "the same /64")
        #expect(try isWelcome("::1"))
    }

    @Test(
        "a WebSocket counts among an address's connections until its welcome",
        .limit("http.connections"))
    func beforeWelcome() async throws {
        var limits = ServerLimits()
        limits.httpConnectionsPerAddress = 3
        try await RunningServer.with(limits) { server in
            var strangers: [TestClient] = []
            for _ in 0..<3 { strangers.append(try await server.client(hello: false)) }
            #expect(try await !Self.isServed(PlainSocket(port: server.port)))
            #expect(try await Self.isServed(PlainSocket(port: server.port, from: "127.0.0.2")))
            try await strangers[0].send(.hello(.init(device: .random(), client: "test")))
            guard case .welcome = try await strangers[0].nextFrame() else {
                Issue.record("no welcome")
                return
            }
            #expect(try await Self.isServed(PlainSocket(port: server.port)))
            strangers[1].socket.endSending()
            strangers[2].socket.endSending()
            try await eventually("those that ended are counted out, once") {
                server.gateway.httpConnectionCount == 0
            }
        }
    }

    @Test(
        "beyond the limit of all connections no address gets one until one ends",
        .limit("http.connections"))
    func inAll() async throws {
        var limits = ServerLimits()
        limits.httpConnections = 2
        try await RunningServer.with(limits) { server in
            let first = try PlainSocket(port: server.port)
            #expect(try await Self.isServed(first))
            var second: PlainSocket? = try PlainSocket(port: server.port, from: "127.0.0.2")
            #expect(try await Self.isServed(try #require(second)))
            #expect(try await !Self.isServed(PlainSocket(port: server.port, from: "127.0.0.3")))
            second = nil
            try await eventually("it is counted out") { server.gateway.httpConnectionCount == 1 }
            #expect(try await Self.isServed(PlainSocket(port: server.port, from: "127.0.0.3")))
        }
    }

    private static func isServed(_ socket: PlainSocket) async throws -> Bool {
        do {
            try await socket.send(get("/healthz"))
        } catch {
            return false
        }
        return try await socket.receive(until: "ok\"}").hasPrefix("HTTP/1.1 200 ")
    }

    /// What this process holds in memory, the server among it.
    private static func residentBytes() -> Int {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let fields = pages.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
    }
}
