import NIOCore
import RepriseCore
import RepriseNIO
import RepriseTestSupport
import Testing

@Suite("Dialling")
struct DialTests {
    private func failure(_ url: String, timeout: Duration = .seconds(5)) async -> RepriseError? {
        await #expect(throws: RepriseError.self) { try await dial(url, timeout: timeout) }
    }

    @Test("the request asks for our subprotocol, at the URL's path, and names the host")
    func request() async throws {
        let head = SeenSockets<String>()
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, _ in
                for try await part in inbound {
                    await head.note(String(buffer: part))
                    return
                }
            }
        } test: { url in
            _ = await failure(url + "?a=b")
            let lines = try #require(await head.all.first).split(separator: "\r\n").map(String.init)
            #expect(lines.first == "GET /v1/connect?a=b HTTP/1.1")
            #expect(lines.contains("Sec-WebSocket-Protocol: reprise.v1"))
            #expect(lines.contains("Sec-WebSocket-Version: 13"))
            let port = try Endpoint(url).port
            #expect(lines.contains("Host: 127.0.0.1:\(port)"))
        }
    }

    @Test("an address without a server is unreachable, and the remedy names the command")
    func nobody() async throws {
        // A port that is free now, a test beside this one may have the next moment.
        let error = try #require(await failure("ws://127.0.0.1:1/v1/connect"))
        #expect(error.code == .unreachable)
        #expect(error.message == "No server answers at http://127.0.0.1:1.")
        #expect(error.remedy == "Start one with `reprise serve`.")
    }

    @Test("a name that does not resolve is unreachable")
    func noName() async {
        #expect(await failure("ws://nowhere.invalid:80/")?.code == .unreachable)
    }

    @Test(
        "a server that is not Reprise, or refuses, has its own error",
        arguments: [
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", RepriseError.Code.notReprise),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", .notReprise),
            ("SSH-2.0-Something\r\n", .notReprise),
            ("HTTP/1.1 101 Switching Protocols\r\n\r\n", .notReprise),
            (
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
                    + "Sec-WebSocket-Accept: d3Jvbmc=\r\nSec-WebSocket-Protocol: reprise.v1\r\n\r\n",
                .notReprise
            ),
            ("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", .unavailable),
            ("", .unreachable),
        ])
    func others(answer: String, code: RepriseError.Code) async throws {
        try await TestServer.answering(answer) { url in
            #expect(await failure(url)?.code == code)
        }
    }

    @Test("a WebSocket server without our subprotocol, or with another, is not Reprise")
    func subprotocol() async throws {
        for other in [nil, "chat"] {
            try await TestServer.webSocket(choosing: other) { peer in
                try await peer.executeThenClose { inbound, _ in for try await _ in inbound {} }
            } test: { url in
                #expect(await failure(url)?.code == .notReprise)
            }
        }
    }

    @Test("a client without a subprotocol names none, and accepts none")
    func noSubprotocol() async throws {
        for (chosen, code) in [(nil, nil), ("chat", RepriseError.Code.notReprise)] {
            try await TestServer.webSocket(choosing: chosen) { peer in
                try await peer.executeThenClose { inbound, _ in for try await _ in inbound {} }
            } test: { url in
                var failure: RepriseError?
                do {
                    let socket = try await NIODialer().dial(
                        url: url, protocol: "", maximumFrameBytes: 1_024)
                    await socket.close(code: 1000)
                } catch { failure = error as? RepriseError }
                #expect(failure?.code == code)
            }
        }
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, outbound in
                for try await bytes in inbound {
                    #expect(!String(buffer: bytes).contains("Sec-WebSocket-Protocol"))
                    #expect(String(buffer: bytes).hasSuffix("\r\n\r\n"))
                    outbound.finish()
                    return
                }
            }
        } test: { url in
            _ = try? await NIODialer().dial(url: url, protocol: "", maximumFrameBytes: 1_024)
        }
    }

    @Test("silence ends at the timeout, and no connection is left behind", .limit("network.dial"))
    func silence() async throws {
        let ended = SeenSockets<Bool>()
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, _ in
                for try await _ in inbound {}
                await ended.note(true)
            }
        } test: { url in
            #expect(await failure(url, timeout: .milliseconds(500))?.code == .timedOut)
            try await ended.wait(for: 1)
        }
    }

    @Test("a cancelled dial ends at once")
    func cancelled() async throws {
        let arrived = SeenSockets<Bool>()
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, _ in
                for try await _ in inbound { await arrived.note(true) }
            }
        } test: { url in
            let dialling = Task { try await dial(url, timeout: .seconds(60)) }
            try await arrived.wait(for: 1)
            dialling.cancel()
            await #expect(throws: CancellationError.self) { try await dialling.value }
        }
    }
}

/// What the other side has seen, for the test to wait for.
actor SeenSockets<Value: Sendable> {
    private(set) var all: [Value] = []

    func note(_ value: Value) { all.append(value) }

    /// Polls, because the other side is another thread and a real socket.
    func wait(for count: Int) async throws {
        try await eventually("saw \(all.count) of \(count)") { all.count >= count }
    }
}
