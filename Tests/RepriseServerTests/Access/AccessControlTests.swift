import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Synchronization
import Testing

/// A server with access control, on a free port, for the time of one test.
struct GuardedServer: Sendable {
    let address: Server.Address
    let data: String
    let gateway: Gateway
    let server: Server

    static func with(
        _ change: (inout ServerConfiguration) throws -> Void, logger: Logger = RunningServer.logger,
        _ body: (GuardedServer) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let data = folder.url.appendingPathComponent("data").path
        var configuration = ServerConfiguration(port: 0, data: data)
        try change(&configuration)
        let log = try MemoryLog()
        let (ready, isReady) = AsyncStream<(Server.Address, Gateway)>.makeStream()
        let server = Server(
            configuration: configuration, logger: logger, onReady: { isReady.yield(($0, $1)) },
            openLog: { log })
        let group = ServiceGroup(services: [server], logger: RunningServer.logger)
        async let running: Void = {
            defer { isReady.finish() }
            try await group.run()
        }()
        var readiness = ready.makeAsyncIterator()
        if let (address, gateway) = await readiness.next() {
            let result: Result<Void, any Error>
            do {
                try await body(
                    GuardedServer(address: address, data: data, gateway: gateway, server: server))
                result = .success(())
            } catch {
                result = .failure(error)
            }
            await group.triggerGracefulShutdown()
            try result.get()
        }
        try await running
    }

    /// A client that has shaken hands and said nothing.
    func client() async throws -> TestClient {
        try await TestClient.connect(port: address.port, hello: false)
    }

    /// Says hello with a token.
    func hello(_ token: AccessToken?, _ client: TestClient) async throws {
        try await client.send(.hello(.init(device: .random(), client: "test", token: token)))
    }

    func get(
        _ path: String, _ headers: [String: String] = [:], method: HTTPMethod = .GET
    ) async throws -> (status: UInt, body: String, headers: HTTPHeaders) {
        var request = HTTPClientRequest(url: address.url + path)
        request.method = method
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
        let body = try await response.body.collect(upTo: 65_536)
        return (response.status.code, String(buffer: body), response.headers)
    }
}

@Suite("Authentication")
struct AccessControlTests {
    let folder: TemporaryFolder
    let path: String
    let issuer: TokenIssuer

    init() async throws {
        folder = try TemporaryFolder()
        path = folder.url.appendingPathComponent("secret").path
        try Data(Data(TokenForge.secret).base64EncodedString().utf8)
            .write(to: URL(fileURLWithPath: path))
        issuer = try TokenIssuer(key: try await SigningKey(secret: TokenForge.secret))
    }

    func token(_ user: String = "ada", lasts: Duration = .seconds(600)) throws -> AccessToken {
        try issuer.token(
            for: try UserID(user), now: SystemTimekeeper().wall(), lifetime: lasts)
    }

    func withServer(
        _ change: (inout ServerConfiguration) throws -> Void = { _ in },
        _ body: (GuardedServer) async throws -> Void
    ) async throws {
        try await GuardedServer.with(
            {
                $0.access = .tokens(.file(path))
                try change(&$0)
            }, body)
    }

    @Test("a hello with a good token is welcomed by name, and told until when")
    func welcome() async throws {
        try await withServer { server in
            let client = try await server.client()
            try await server.hello(try token(), client)
            guard case .welcome(let welcome) = try await client.nextFrame() else {
                throw PlainSocket.Failure(description: "no welcome")
            }
            #expect(welcome.session?.user.text == "ada")
            let left = SystemTimekeeper().wall().duration(
                to: try #require(welcome.session?.expires))
            #expect(left > .seconds(500) && left <= .seconds(600))
        }
    }

    @Test(
        "frames behind the hello wait for its token, and are handled in order",
        .limit("access.verifying"))
    func together() async throws {
        try await withServer { server in
            let client = try await server.client()
            let ids = (0..<20).map { _ in EntryID.random() }
            let publishes = ids.map {
                ClientFrame.publish(.init(channel: channel(), id: $0, body: Array("1".utf8)))
            }
            try await client.send(
                [.hello(.init(device: .random(), client: "", token: try token()))] + publishes)
            guard case .welcome = try await client.nextFrame() else {
                throw PlainSocket.Failure(description: "no welcome")
            }
            for id in ids {
                switch try await client.nextFrame() {
                case .published(let published): #expect(published.id == id)
                case .refused(let refused): #expect(refused.id == id.text)
                case let other: Issue.record("\(other)")
                }
            }
        }
    }

    @Test(
        "without a token, or with a bad one, the connection ends for good; with an old one it may come back"
    )
    func refused() async throws {
        try await withServer { server in
            let other = try await TokenIssuer(
                key: SigningKey(secret: Array("another secret, of 32 bytes too!".utf8)))
            let forged = try other.token(
                for: try UserID("ada"), now: SystemTimekeeper().wall(), lifetime: .seconds(60))
            let old = try issuer.token(
                for: try UserID("ada"),
                now: SystemTimekeeper().wall().advanced(by: .seconds(-3_600)),
                lifetime: .seconds(60))
            for (token, code) in [
                (nil, CloseCode.unauthorized), (forged, .unauthorized), (old, .tokenExpired),
            ] {
                let client = try await server.client()
                try await server.hello(token, client)
                let (told, closed) = try await client.ending()
                #expect(told == code)
                #expect(closed == code.number)
            }
        }
    }

    @Test("a fresh token keeps the connection; one of somebody else ends it")
    func refresh() async throws {
        try await withServer { server in
            let client = try await server.client()
            try await server.hello(try token(), client)
            _ = try await client.nextFrame()
            let fresh = try token(lasts: .seconds(3_000))
            try await client.send(.authenticate(fresh))
            guard case .authenticated(let session) = try await client.nextFrame() else {
                throw PlainSocket.Failure(description: "not authenticated")
            }
            #expect(session.user.text == "ada")
            try await client.send(.authenticate(try token("eve")))
            #expect(try await client.ending().0 == .unauthorized)
        }
    }

    @Test("a connection ends with its token, by the wheel that looks at all of them")
    func expiry() async throws {
        try await withServer({
            $0.tokenLeeway = .zero
            $0.limits.handshake = .seconds(1)  // so that the wheel turns finely
        }) { server in
            let client = try await server.client()
            try await server.hello(try token(lasts: .seconds(4)), client)
            guard case .welcome = try await client.nextFrame() else {
                throw PlainSocket.Failure(description: "no welcome")
            }
            let (told, closed) = try await client.ending()
            #expect(told == .tokenExpired)
            #expect(closed == CloseCode.tokenExpired.number)
        }
    }

    @Test("a page of a foreign origin cannot connect, nor change anything; one that was named can")
    func origins() async throws {
        try await withServer({ $0.origins = ["https://app.example.org"] }) { server in
            for (origin, status) in [
                ("http://evil.example", "HTTP/1.1 403"), ("null", "HTTP/1.1 403"),
                ("https://app.example.org", "HTTP/1.1 101"), ("http://localhost", "HTTP/1.1 101"),
            ] {
                let client = TestClient(socket: try PlainSocket(port: server.address.port))
                let request = TestClient.handshake().replacing(
                    "Host: localhost\r\n", with: "Host: localhost\r\nOrigin: \(origin)\r\n")
                try await client.socket.send(request)
                try await client.readResponse()
                #expect(client.response.hasPrefix(status), "\(origin): \(client.response)")
                #expect(!client.response.lowercased().contains("access-control"))
            }
            let answer = try await server.get(
                "/v1/channels/general/messages", ["Origin": "http://evil.example"], method: .POST)
            #expect(answer.status == 403)
            #expect(answer.body.contains(#""code":"forbidden""#))
        }
    }

    @Test("an open server does not answer to a name that was made to point at it")
    func rebinding() async throws {
        try await GuardedServer.with({ _ in }) { server in
            let evil = try await server.get("/readyz", ["Host": "evil.example"])
            #expect(evil.status == 403)
            #expect(try await server.get("/readyz").status == 200)
            let client = TestClient(socket: try PlainSocket(port: server.address.port))
            try await client.socket.send(
                TestClient.handshake().replacing("Host: localhost", with: "Host: evil.example"))
            try await client.readResponse()
            #expect(client.response.hasPrefix("HTTP/1.1 403"))
        }
    }

    @Test("a server for development gives tokens that it takes, and nobody else does")
    func development() async throws {
        try await GuardedServer.with({ $0.access = .tokens(.development) }) { server in
            let answer = try await server.get("/v1/dev/token?user=ada%40example.org&scope=admin")
            #expect(answer.status == 200)
            #expect(answer.headers.first(name: "Cache-Control") == "no-store")
            struct Issued: Decodable {
                let token: String
                let user: String
                let expires: Int64
            }
            let issued = try JSONDecoder().decode(Issued.self, from: Data(answer.body.utf8))
            #expect(issued.user == "ada@example.org")
            let escaped = try await server.get("/v1/dev/token?user=a%2541")
            #expect(escaped.body.contains(#""user":"a%41""#), "decoded once")
            let token = try AccessToken(issued.token)
            let principal = try await server.gateway.authenticator?.principal(of: token)
            #expect(principal?.isAdmin == true)
            #expect(
                principal?.expires.map { abs($0.milliseconds - issued.expires) < 1_000 } == true)
            try await withServer { other in
                let client = try await other.client()
                try await other.hello(token, client)
                #expect(try await client.ending().0 == .unauthorized)
                #expect(try await other.get("/v1/dev/token?user=ada").status == 404)
            }
        }
    }

    @Test(
        "a token for development is only for who asks from this machine, by its own name",
        arguments: [
            ["Host": "evil.example"], ["Host": "evil.example:8080"], ["Host": "host"],
            ["Origin": "http://evil.example"], ["Origin": "null"],
            ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
        ])
    func developmentOnlyHere(headers: [String: String]) async throws {
        try await GuardedServer.with({ $0.access = .tokens(.development) }) { server in
            let answer = try await server.get("/v1/dev/token?user=ada", headers)
            #expect(answer.status == 403, "\(headers)")
            #expect(!answer.body.contains("token\":"))
        }
    }

    @Test("bad questions for a token are told what is wrong", .limit("access.developmentToken"))
    func developmentInput() async throws {
        try await GuardedServer.with({ $0.access = .tokens(.development) }) { server in
            for query in [
                "", "?user=", "?user=two%20words", "?user=ada&seconds=0", "?user=ada&seconds=x",
                "?user=ada&seconds=86401", "?user=%FF", "?user=ada&user=ben",
                "?user=ada&seconds=60&seconds=60", "?user=ada&scope=admin&scope=admin",
            ] {
                let answer = try await server.get("/v1/dev/token" + query)
                #expect(answer.status == 400, "\(query)")
            }
        }
    }

    @Test("a server that would let strangers in does not start, and says what to do")
    func insecure() async throws {
        for access in [Access.open, .tokens(.development)] {
            var configuration = ServerConfiguration(host: "0.0.0.0", port: 0, data: folder.url.path)
            configuration.access = access
            let error = #expect(throws: RepriseError.self) { try configuration.check() }
            #expect(error?.code == .badConfiguration)
            #expect(error?.remedy != nil)
        }
        await #expect(throws: RepriseError.self) {
            try await GuardedServer.with({ $0.host = "0.0.0.0" }) { _ in }
        }
    }

    @Test("keys that cannot be read keep a server from starting")
    func badKeys() async throws {
        for access in [
            KeySource.file("/nonexistent"), .jwks("http://id.example.org/"),
        ] {
            await #expect(throws: RepriseError.self) {
                try await GuardedServer.with({ $0.access = .tokens(access) }) { _ in }
            }
        }
    }

    @Test("no log line has a token, a part of one, or a key, whatever goes wrong")
    func silence() async throws {
        let lines = LogLines()
        var logger = Logger(label: "test") { _ in lines }
        logger.logLevel = .trace
        let good = try token()
        let bad = try AccessToken(good.secret.dropLast(4) + "AAAA")
        try await GuardedServer.with({ $0.access = .tokens(.file(path)) }, logger: logger) {
            server in
            for token in [good, bad] {
                let client = try await server.client()
                try await server.hello(token, client)
                if token == good {
                    _ = try await client.nextFrame()
                    try await client.send(.authenticate(bad))
                }
                _ = try await client.ending()
                let client2 = try await server.client()
                try await client2.send(text: #"{"type":"hello","token":"\#(token.secret)"#)
                _ = try await client2.ending()
                for path in ["/v1/me", "/v1/channels/general/messages", "/nothing"] {
                    _ = try await server.get(
                        path + "?token=\(token.secret)",
                        ["Authorization": "Bearer \(token.secret)"])
                    _ = try await server.get(
                        path, ["Authorization": "Basic \(token.secret)"], method: .POST)
                }
            }
            try Data("nonsense that is secret".utf8).write(to: URL(fileURLWithPath: path))
            await server.server.reload()
        }
        let text = lines.text
        #expect(text.contains("hello") && text.contains("the old ones stay in use"), "it did log")
        let secrets =
            [good, bad].flatMap { $0.secret.split(separator: ".").dropFirst().map(String.init) }
            + [Data(TokenForge.secret).base64EncodedString(), "nonsense"]
        for secret in secrets { #expect(!text.contains(secret)) }
    }
}

/// Keeps what is logged.
final class LogLines: LogHandler, Sendable {
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }

    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        lines.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
    }
}
