import NIOCore
import NIOPosix
import RepriseCore
import Synchronization
import Testing

/// A server on a free loopback port that answers as a test says, byte by byte, and remembers what
/// it was asked.
final class OddServer: Sendable {
    typealias Peer = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    struct Request: Sendable {
        var method = ""
        var target = ""
        /// By their names in lower case.
        var headers: [String: String] = [:]
        var body: [UInt8] = []

        /// The first byte of the range that was asked for.
        var from: Int? {
            headers["range"]?.split(separator: "=").last.flatMap { Int($0.dropLast()) }
        }
    }

    /// Writes an answer; the connection is closed after it.
    struct Answer: Sendable {
        let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>

        func write(_ text: String) async throws {
            try await outbound.write(ByteBuffer(string: text))
        }

        func write(_ bytes: some Collection<UInt8> & Sendable) async throws {
            try await outbound.write(ByteBuffer(bytes: bytes))
        }

        /// A head with these headers.
        func head(_ status: Int, _ headers: [String] = []) async throws {
            try await write(
                (["HTTP/1.1 \(status) X", "Connection: close"] + headers).joined(separator: "\r\n")
                    + "\r\n\r\n")
        }

        /// All of a content, or the range that was asked for, as a good server does it.
        func serve(
            _ content: [UInt8], _ request: Request, tag: String = "\"v1\"", cutAfter: Int? = nil
        ) async throws {
            let isCurrent = request.headers["if-range"] == tag
            let from = isCurrent ? request.from ?? 0 : 0
            let rest = content[from...]
            let range =
                from > 0
                ? ["Content-Range: bytes \(from)-\(content.count - 1)/\(content.count)"] : []
            try await head(
                from > 0 ? 206 : 200, ["ETag: \(tag)", "Content-Length: \(rest.count)"] + range)
            try await write(rest.prefix(cutAfter ?? rest.count))
        }
    }

    private let seen = Mutex([Request]())

    /// What it was asked, in order.
    var requests: [Request] { seen.withLock { $0 } }

    /// Serves while a test runs, which is told `http://127.0.0.1:PORT`, the host and port, and the
    /// server.
    static func run(
        _ answer: @escaping @Sendable (Request, Answer) async throws -> Void,
        test: (_ url: String, _ host: String, _ server: OddServer) async throws -> Void
    ) async throws {
        let odd = OddServer()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Peer(wrappingChannelSynchronously: channel)
                }
            }
        let port = try #require(server.channel.localAddress?.port)
        let serving = Task {
            try await server.executeThenClose { connections in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await peer in connections {
                        // A connection that the test breaks on purpose is no failure of the server.
                        group.addTask { try? await odd.serve(peer, answer) }
                    }
                }
            }
        }
        defer { serving.cancel() }
        try await test("http://127.0.0.1:\(port)", "127.0.0.1:\(port)", odd)
    }

    private func serve(
        _ peer: Peer, _ answer: @Sendable (Request, Answer) async throws -> Void
    ) async throws {
        try await peer.executeThenClose { inbound, outbound in
            var bytes: [UInt8] = []
            for try await part in inbound {
                bytes += Array(buffer: part)
                guard let request = Self.request(bytes) else { continue }
                seen.withLock { $0.append(request) }
                try await answer(request, Answer(outbound: outbound))
                // What was written must be out before the connection is closed.
                return try await peer.channel.writeAndFlush(ByteBuffer()).get()
            }
        }
    }

    /// - Returns: nil until all of it is there.
    private static func request(_ bytes: [UInt8]) -> Request? {
        let end = Array("\r\n\r\n".utf8)
        guard let head = bytes.firstRange(of: end) else { return nil }
        let lines = String(decoding: bytes[..<head.lowerBound], as: UTF8.self)
            .split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        var request = Request(method: String(words[0]), target: String(words[1]))
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            request.headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        request.body = Array(bytes[head.upperBound...])
        let length = request.headers["content-length"].flatMap { Int($0) } ?? 0
        return request.body.count >= length ? request : nil
    }
}
