import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import RepriseCore
import RepriseNIO
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("TLS, from both ends", .timeLimit(.minutes(2)))
struct TLSTests {
    let authority: TestAuthority

    init() throws { authority = try TestAuthority() }

    func dial(
        _ server: GuardedServer, host: String = "localhost", authorities: String? = nil,
        scheme: String = "https"
    ) async throws -> any Socket {
        try await NIODialer(authorities: authorities ?? authority.path).dial(
            url: "\(scheme)://\(host):\(server.address.port)" + WireHandshake.path,
            protocol: WireHandshake.subprotocol, maximumFrameBytes: WireLimits.frameBytes)
    }

    /// Says hello and waits for the welcome.
    func greet(_ socket: any Socket) async throws {
        let hello = ClientFrame.hello(.init(device: .random(), client: "test"))
        try await socket.send([hello.encoded()])
        var decoder = FrameDecoder()
        let answer = try #require(try await socket.receive()?.first)
        guard case .welcome = try decoder.serverFrame(answer) else {
            throw PlainSocket.Failure(description: "no welcome")
        }
    }

    @Test(
        "WebSocket and HTTP go over one port, to a name and to an address",
        arguments: ["localhost", "127.0.0.1"])
    func works(host: String) async throws {
        let files = try authority.certify()
        try await GuardedServer.with({ $0.tls = files }) { server in
            #expect(server.address.url.hasPrefix("https://"))
            for scheme in ["https", "wss"] {
                let socket = try await dial(server, host: host, scheme: scheme)
                try await greet(socket)
                // More than a record, more than a flight.
                let body = json(bytes: 60_000)
                let publishes = (0..<30).map { _ in
                    ClientFrame.publish(.init(channel: channel(), id: .random(), body: body))
                        .encoded()
                }
                try await socket.send(publishes)
                var answers = 0
                while answers < 30, let batch = try await socket.receive() {
                    answers += batch.count
                }
                #expect(answers >= 30)
                await socket.close(code: CloseCode.normal.number)
            }
            let answer = try await RawTLS.exchange(
                server.address.port, authority.path,
                "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test(
        "an untrusted certificate is refused, and the error says what is wrong with it"
    )
    func untrusted() async throws {
        let other = try TestAuthority()
        let cases: [(TLSFiles, String, String)] = [
            (try authority.certify(days: -20 ... -1, as: "old"), "localhost", "ended"),
            (try authority.certify(days: 1...2, as: "early"), "localhost", "not count yet"),
            (
                try authority.certify(["chat.example.org"], address: nil, as: "name"), "localhost",
                "another name"
            ),
            (
                try authority.certify(address: [127, 0, 0, 9], as: "address"), "127.0.0.1",
                "another name"
            ),
            (try other.certify(as: "other"), "localhost", "vouches"),
        ]
        for (files, host, words) in cases {
            try await GuardedServer.with({ $0.tls = files }) { server in
                let error = await failure { try await dial(server, host: host) }
                #expect(error?.code == .untrusted, "\(words): \(String(describing: error))")
                #expect(error?.message.contains(words) == true, "\(String(describing: error))")
                #expect(error?.remedy != nil)
            }
        }
    }

    @Test(
        "an HTTP transport trusts the same certificates as the dialer, and its errors say what is wrong"
    )
    func fetches() async throws {
        let files = try authority.certify()
        let other = try TestAuthority()
        try await GuardedServer.with({ $0.tls = files }) { server in
            let url = "https://localhost:\(server.address.port)/readyz"
            let answer = try await NIOTransport(authorities: authority.path)
                .fetch(HTTPCall(url: url), limit: 1_000)
            #expect(answer.status == 200)
            #expect(answer.headers["content-type"] == "application/json")
            for authorities in [nil, other.path] {
                let error = await failure {
                    try await NIOTransport(authorities: authorities)
                        .fetch(HTTPCall(url: url), limit: 1_000)
                }
                #expect(error?.code == .untrusted, "\(String(describing: error))")
            }
            let missing = await failure {
                try await NIOTransport(authorities: "/nowhere.pem")
                    .fetch(HTTPCall(url: url), limit: 1_000)
            }
            #expect(missing?.code == .badConfiguration)
        }
        try await GuardedServer.with({ _ in }) { server in
            let url = "https://localhost:\(server.address.port)/readyz"
            let error = await failure {
                try await NIOTransport(authorities: authority.path)
                    .fetch(HTTPCall(url: url), limit: 1_000)
            }
            #expect(error?.code == .unreachable)
        }
    }

    @Test(
        "a client without TLS at a server with TLS, and the reverse, get an error"
    )
    func mismatch() async throws {
        let files = try authority.certify()
        try await GuardedServer.with({ $0.tls = files }) { server in
            let error = await failure { try await dial(server, scheme: "http") }
            #expect(error != nil)
        }
        try await GuardedServer.with({ _ in }) { server in
            let error = await failure { try await dial(server) }
            #expect(error?.code == .unreachable)
            #expect(error?.description.contains("TLS") == true)
        }
    }

    @Test("a version of TLS before 1.2 is refused")
    func versions() async throws {
        let files = try authority.certify()
        try await GuardedServer.with({ $0.tls = files }) { server in
            await #expect(throws: (any Error).self) {
                try await RawTLS.exchange(
                    server.address.port, authority.path, "GET /readyz HTTP/1.1\r\n\r\n",
                    newest: .tlsv11)
            }
        }
    }

    @Test("a new certificate counts for new connections, and those that are open go on")
    func reload() async throws {
        let files = try authority.certify()
        try await GuardedServer.with({ $0.tls = files }) { server in
            let before = try await dial(server)
            try await greet(before)
            let first = try await RawTLS.certificate(server.address.port, authority.path)
            _ = try authority.certify(days: -1...10)
            #expect(try await RawTLS.certificate(server.address.port, authority.path) == first)
            await server.server.reload()
            #expect(try await RawTLS.certificate(server.address.port, authority.path) != first)
            let id = EntryID.random()
            let publish = ClientFrame.publish(
                .init(channel: channel(), id: id, body: Array("1".utf8)))
            try await before.send([publish.encoded()])
            var decoder = FrameDecoder()
            let answer = try #require(try await before.receive()?.first)
            #expect(try decoder.serverFrame(answer) != nil)
            await before.close(code: CloseCode.normal.number)
        }
    }

    @Test("a broken certificate file keeps the old one")
    func brokenReload() async throws {
        let files = try authority.certify()
        let other = try authority.certify(as: "other")
        try await GuardedServer.with({ $0.tls = files }) { server in
            let first = try await RawTLS.certificate(server.address.port, authority.path)
            let certificate = URL(fileURLWithPath: files.certificate)
            for broken in [
                Data("nonsense".utf8),
                try Data(contentsOf: URL(fileURLWithPath: other.certificate)),
            ] {
                try broken.write(to: certificate)
                await server.server.reload()
                #expect(try await RawTLS.certificate(server.address.port, authority.path) == first)
            }
            try FileManager.default.removeItem(at: certificate)
            await server.server.reload()
            #expect(try await RawTLS.certificate(server.address.port, authority.path) == first)
        }
    }

    @Test("files that are no certificate and its key keep a server from starting, and are named")
    func badFiles() throws {
        let one = try authority.certify(as: "one")
        let two = try authority.certify(as: "two")
        for files in [
            TLSFiles(certificate: one.certificate, key: two.key),
            TLSFiles(certificate: one.key, key: one.key),
            TLSFiles(certificate: one.certificate, key: one.certificate),
            TLSFiles(certificate: one.certificate, key: "/nonexistent"),
        ] {
            let error = #expect(throws: RepriseError.self) {
                try ServerCertificate(files, logger: RunningServer.logger)
            }
            #expect(error?.code == .badConfiguration)
            #expect(error?.remedy != nil)
        }
    }

    @Test(
        "a connection that never completes the TLS handshake is closed in time",
        .limit("access.tls"))
    func silentHandshake() async throws {
        let files = try authority.certify()
        try await GuardedServer.with({
            $0.tls = files
            $0.limits.handshake = .milliseconds(300)
        }) { server in
            let silent = try PlainSocket(port: server.address.port)
            #expect(try await silent.receive() == nil)
            let slow = try PlainSocket(port: server.address.port)
            try await slow.send("\u{16}\u{3}\u{1}")
            #expect(try await slow.receive() == nil)
        }
    }

    @Test("authorities that cannot be read are a mistake of the configuration")
    func badAuthorities() async throws {
        let error = await failure {
            try await NIODialer(authorities: "/nonexistent").dial(
                url: "https://localhost:1/", protocol: "x", maximumFrameBytes: 1)
        }
        #expect(error?.code == .badConfiguration)
    }
}

/// TLS with nothing above it.
enum RawTLS {
    /// Sends text and reads to the end.
    static func exchange(
        _ port: Int, _ authorities: String, _ text: String, newest: TLSVersion? = nil
    ) async throws -> String {
        let channel = try await connect(port, authorities, newest)
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: text))
            var answer = ""
            do {
                for try await part in inbound { answer += String(buffer: part) }
            } catch NIOSSLError.uncleanShutdown {}
            return answer
        }
    }

    /// What the server proves itself with.
    static func certificate(_ port: Int, _ authorities: String) async throws -> NIOSSLCertificate? {
        let channel = try await connect(port, authorities, nil)
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(
                ByteBuffer(string: "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            for try await _ in inbound { break }
            return try await channel.channel.nioSSL_peerCertificate().get()
        }
    }

    private static func connect(
        _ port: Int, _ authorities: String, _ newest: TLSVersion?
    ) async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(authorities)
        if let newest {
            configuration.minimumTLSVersion = .tlsv1
            configuration.maximumTLSVersion = newest
        }
        let context = try NIOSSLContext(configuration: configuration)
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: context, serverHostname: "localhost"))
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel)
                }
            }
    }
}
