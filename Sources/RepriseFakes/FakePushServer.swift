import Crypto
public import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import SwiftASN1
import Synchronization
import X509

/// A small HTTP server for stand-ins: HTTP/2 or HTTP/1.1 over TLS, as the client chooses, or plain
/// HTTP/1.1; on loopback alone.
public final class FakePushServer: Sendable {
    /// Certificate and key in PEM files.
    public struct Certificate: Hashable, Sendable {
        /// The path of the certificate and its chain.
        public var certificate: String
        /// The path of the key.
        public var key: String

        /// Makes it from two paths.
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    private let channel: any Channel
    private let children: Children
    private let isSecure: Bool

    /// The port.
    public let port: Int

    /// `https://localhost:port`, or `http://` without a certificate.
    public var url: String { "\(isSecure ? "https" : "http")://localhost:\(port)" }

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - certificate: for TLS; nil serves without.
    ///   - answer: decides; called on an event loop, so it must not block.
    /// - Returns: the listening server.
    /// - Throws: NIO's errors.
    public static func start(
        _ certificate: Certificate? = nil,
        answer: @escaping @Sendable (FakeRequest) -> FakeAnswer
    ) async throws -> FakePushServer {
        let tls = try certificate.map { files in
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(files.certificate)
                    .map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: files.key, format: .pem)))
            configuration.applicationProtocols = ["h2", "http/1.1"]
            return try NIOSSLContext(configuration: configuration)
        }
        let children = Children()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                children.add(channel)
                return Self.configure(channel, tls, answer)
            }
        let channel = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
        return FakePushServer(channel, children, isSecure: tls != nil)
    }

    private init(_ channel: any Channel, _ children: Children, isSecure: Bool) {
        self.channel = channel
        self.children = children
        self.isSecure = isSecure
        port = channel.localAddress?.port ?? 0
    }

    /// Ends it and all its connections.
    public func stop() async {
        try? await channel.close()
        cutAll()
    }

    /// Ends all connections; new ones are accepted.
    public func cutAll() { children.closeAll() }

    /// How many connections were made.
    public var connectionCount: Int { children.made }

    private static func configure(
        _ channel: any Channel, _ tls: NIOSSLContext?,
        _ answer: @escaping @Sendable (FakeRequest) -> FakeAnswer
    ) -> EventLoopFuture<Void> {
        guard let tls else { return configureHTTP1(channel, answer) }
        do {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return channel.configureHTTP2SecureUpgrade(
            h2ChannelConfigurator: { connection in
                connection.eventLoop.makeCompletedFuture {
                    _ = try connection.pipeline.syncOperations.configureHTTP2Pipeline(
                        mode: .server, connectionConfiguration: Self.connection,
                        streamConfiguration: .init()
                    ) { stream in
                        stream.eventLoop.makeCompletedFuture {
                            let sync = stream.pipeline.syncOperations
                            try sync.addHandler(HTTP2FramePayloadToHTTP1ServerCodec())
                            try sync.addHandler(
                                FakeHandler(connection: connection, isHTTP2: true, answer))
                        }
                    }
                }
            },
            http1ChannelConfigurator: { Self.configureHTTP1($0, answer) })
    }

    private static func configureHTTP1(
        _ channel: any Channel, _ answer: @escaping @Sendable (FakeRequest) -> FakeAnswer
    ) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let sync = channel.pipeline.syncOperations
            try sync.configureHTTPServerPipeline()
            try sync.addHandler(FakeHandler(connection: channel, isHTTP2: false, answer))
        }
    }

    /// As many streams as Apple grants: 1,000.
    private static var connection: NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 1_000),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 16_384),
        ]
        return configuration
    }

    private final class Children: Sendable {
        private let state = Mutex((made: 0, all: [ObjectIdentifier: any Channel]()))

        var made: Int { state.withLock { $0.made } }

        func add(_ channel: any Channel) {
            state.withLock {
                $0.made += 1
                $0.all[ObjectIdentifier(channel)] = channel
            }
            channel.closeFuture.whenComplete { _ in
                self.state.withLock { $0.all[ObjectIdentifier(channel)] = nil }
            }
        }

        func closeAll() {
            for channel in state.withLock({ Array($0.all.values) }) { channel.close(promise: nil) }
        }
    }
}

/// Collects a request, calls the decider, performs its answer.
private final class FakeHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let connection: any Channel
    private let isHTTP2: Bool
    private let answer: @Sendable (FakeRequest) -> FakeAnswer
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(
        connection: any Channel, isHTTP2: Bool,
        _ answer: @escaping @Sendable (FakeRequest) -> FakeAnswer
    ) {
        self.connection = connection
        self.isHTTP2 = isHTTP2
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
        case .body(let piece):
            if body.count <= 1 << 20 { body += piece.readableBytesView }
        case .end: finish(context)
        }
    }

    private func finish(_ context: ChannelHandlerContext) {
        guard let head else { return }
        self.head = nil
        let request = FakeRequest(
            method: head.method.rawValue, path: head.uri,
            headers: head.headers.map { ($0.name, $0.value) }, body: body, isHTTP2: isHTTP2)
        switch answer(request) {
        case .hang: break
        case .cut: connection.close(promise: nil)
        case .status(let status, let headers, let body):
            write(context, status, headers, body)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .hangInBody: beginAnswer(context)
        case .cutInBody:
            beginAnswer(context)
            let connection = connection
            connection.eventLoop.scheduleTask(in: .milliseconds(20)) {
                connection.close(promise: nil)
            }
        }
    }

    private func beginAnswer(_ context: ChannelHandlerContext) {
        write(context, 200, ["content-length": "100"], "{\"rea")
        context.flush()
    }

    private func write(
        _ context: ChannelHandlerContext, _ status: Int, _ headers: [String: String],
        _ body: String
    ) {
        var fields = HTTPHeaders(headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        if !fields.contains(name: "content-length") {
            fields.add(name: "content-length", value: "\(body.utf8.count)")
        }
        let head = HTTPResponseHead(
            version: .http1_1, status: .init(statusCode: status), headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        guard !body.isEmpty else { return }
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
    }
}

extension FakePushServer.Certificate {
    /// Makes a certificate for `localhost` that is trusted only by readers of the file, and its
    /// key.
    ///
    /// It is its own authority: give the path of ``certificate`` to the client that must trust it.
    ///
    /// - Parameter folder: the folder of the two files.
    /// - Returns: their paths.
    /// - Throws: the errors of writing a file.
    public static func make(in folder: URL) throws -> Self {
        let key = P256.Signing.PrivateKey()
        let signer = X509.Certificate.PrivateKey(key)
        let name = try DistinguishedName { CommonName("Reprise stand-in") }
        let made = try X509.Certificate(
            version: .v3, serialNumber: X509.Certificate.SerialNumber(),
            publicKey: signer.publicKey, notValidBefore: Date().addingTimeInterval(-86_400),
            notValidAfter: Date().addingTimeInterval(86_400), issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: X509.Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                SubjectAlternativeNames([.dnsName("localhost")])
            }, issuerPrivateKey: signer)
        let files = Self(
            certificate: folder.appendingPathComponent("stand-in.pem").path,
            key: folder.appendingPathComponent("stand-in.key").path)
        try Data(try made.serializeAsPEM().pemString.utf8).write(
            to: URL(fileURLWithPath: files.certificate))
        try Data(key.pemRepresentation.utf8).write(to: URL(fileURLWithPath: files.key))
        return files
    }
}
