import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

/// The opening handshake (RFC 6455 §4.2), case by case; each on a raw socket of its own.
@Suite("RFC 6455, handshakes")
struct HandshakeCases {
    private static func change(_ part: String, to other: String) -> String {
        TestClient.handshake().replacing(part, with: other)
    }

    private static let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    private static let version = "Sec-WebSocket-Version: 13\r\n"
    private static let subprotocol = "Sec-WebSocket-Protocol: reprise.v1\r\n"

    /// What a browser, a proxy or another library may write differently.
    private static let good: [(String, String)] = [
        ("as it is written in the RFC", TestClient.handshake()),
        ("with a query", TestClient.handshake(path: "/v1/connect?x=1")),
        ("tokens in capitals", change("websocket\r\n", to: "WebSocket\r\n")),
        ("Connection in capitals", change("keep-alive, Upgrade", to: "UPGRADE")),
        ("Connection twice", change("keep-alive, ", to: "keep-alive\r\nConnection: ")),
        ("names of headers in lower case", change("Sec-WebSocket-", to: "sec-websocket-")),
        ("one protocol of several", TestClient.handshake(protocol: "chat, reprise.v1 ,x")),
        ("the protocol in a second header", change(subprotocol, to: "\(chat)\(subprotocol)")),
        ("an extension that is not taken", change(version, to: version + deflate)),
        ("a page of the server's own", change(version, to: version + ours)),
        ("an empty line before it", "\r\n" + TestClient.handshake()),
    ]
    private static let chat = "Sec-WebSocket-Protocol: chat\r\n"
    private static let deflate = "Sec-WebSocket-Extensions: permessage-deflate\r\n"
    private static let ours = "Origin: http://localhost\r\n"

    @Test("a good handshake, however it is spelled, is accepted", arguments: good)
    func accepted(_ name: String, _ text: String) async throws {
        try await RunningServer.with { server in
            let client = TestClient(socket: try PlainSocket(port: server.port))
            try await client.socket.send(text)
            try await client.readResponse()
            let answer = client.response.lowercased()
            #expect(answer.hasPrefix("http/1.1 101 "))
            #expect(client.response.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
            #expect(answer.contains("upgrade: websocket") && answer.contains("connection: upgrade"))
            #expect(answer.contains("sec-websocket-protocol: reprise.v1"))
            #expect(!answer.contains("sec-websocket-extensions"))
            try await client.send(.hello(.init(device: .random(), client: "test")))
            guard case .welcome = try await client.nextFrame() else {
                Issue.record("no welcome")
                return
            }
        }
    }

    private static let bad: [(String, String, Int)] = [
        ("no Upgrade", change("Upgrade: websocket\r\n", to: ""), 426),
        ("no Connection", change("Connection: keep-alive, Upgrade\r\n", to: ""), 426),
        ("Connection without upgrade", change("keep-alive, Upgrade", to: "keep-alive"), 426),
        ("another protocol beside it", TestClient.handshake(upgrade: "websocket, h2c"), 426),
        ("no version", change(version, to: ""), 426),
        ("an old version", TestClient.handshake(version: "8"), 426),
        ("two versions", change(version, to: version + version), 426),
        ("no subprotocol", TestClient.handshake(protocol: nil), 426),
        ("the subprotocol in capitals", TestClient.handshake(protocol: "REPRISE.V1"), 426),
        ("HTTP/1.0", change("HTTP/1.1", to: "HTTP/1.0"), 426),
        ("a body", change(version, to: version + "Content-Length: 0\r\n"), 426),
        ("another method", change("GET ", to: "POST "), 405),
        ("another path", TestClient.handshake(path: "/v1/connect/"), 404),
        ("a foreign page", change(version, to: version + "Origin: http://evil.example\r\n"), 403),
        ("two pages", change(version, to: version + ours + ours), 403),
        ("no key", change(key, to: ""), 400),
        ("two keys", change(key, to: key + key), 400),
        ("no Host", change("Host: localhost\r\n", to: ""), 400),
    ]

    @Test("a bad handshake is answered with its status, and is no WebSocket", arguments: bad)
    func refused(_ name: String, _ text: String, _ status: Int) async throws {
        try await RunningServer.with { server in
            let socket = try PlainSocket(port: server.port)
            try await socket.send(text)
            let answer = try await socket.receive(until: "}}")
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            #expect(server.connections == 0)
        }
    }
}
