import NIOCore
import NIOPosix
import Synchronization

/// A server on a free loopback port that answers as a test says, byte by byte, also with lies, and
/// remembers what it was asked.
package final class OddServer: Sendable {
    fileprivate typealias Peer = NIOAsyncChannel<ByteBuffer, ByteBuffer>
    package typealias Script = @Sendable (Request, Answer) async throws -> Void

    package struct Request: Sendable {
        package var method = ""
        package var target = ""
        /// By their names in lower case.
        package var headers: [String: String] = [:]
        package var body: [UInt8] = []

        /// The first byte of the range that was asked for.
        package var from: Int? {
            headers["range"]?.split(separator: "=").last.flatMap { Int($0.dropLast()) }
        }
    }

    /// Writes an answer; the connection is closed after it.
    package struct Answer: Sendable {
        fileprivate let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>

        package func write(_ text: String) async throws {
            try await outbound.write(ByteBuffer(string: text))
        }

        package func write(_ bytes: some Collection<UInt8> & Sendable) async throws {
            try await outbound.write(ByteBuffer(bytes: bytes))
        }

        /// A head with these headers.
        package func head(_ status: Int, _ headers: [String] = []) async throws {
            try await write(
                (["HTTP/1.1 \(status) X", "Connection: close"] + headers).joined(separator: "\r\n")
                    + "\r\n\r\n")
        }

        /// All of a content, or the range that was asked for, as a good server does it.
        package func serve(
            _ content: [UInt8], _ request: Request, tag: String = "\"v1\"", cutAfter: Int? = nil
        ) async throws {
            let isCurrent = request.headers["if-range"] == tag
            let from = isCurrent ? request.from ?? 0 : 0
            let rest = content[from...]
            let range =
                from > 0
                ? ["Content-Range: bytes \(from)-\(content.count - 1)/\(content.count)"] : []
            try await head(
                from > 0 ? 206 : 200,
                ["ETag: \(tag)", "Accept-Ranges: bytes", "Content-Length: \(rest.count)"] + range)
            try await write(rest.prefix(cutAfter ?? rest.count))
        }

        /// Keeps the connection open, and sends nothing more, until the server ends.
        package func hold() async throws { try await Task.sleep(for: .seconds(3_600)) }
    }

    private struct State {
        var requests: [Request] = []
        var script: Script
    }

    /// The port that it listens on.
    package let port: Int
    private let serving: Task<Void, any Error>
    private let memory: Memory

    private final class Memory: Sendable {
        let state: Mutex<State>

        init(_ script: @escaping Script) { state = Mutex(State(script: script)) }

        func serve(_ peer: Peer) async throws {
            try await peer.executeThenClose { inbound, outbound in
                var bytes: [UInt8] = []
                for try await part in inbound {
                    bytes += Array(buffer: part)
                    guard let request = OddServer.request(bytes) else { continue }
                    let script = state.withLock { state in
                        state.requests.append(request)
                        return state.script
                    }
                    try await script(request, Answer(outbound: outbound))
                    // What was written must be out before the connection is closed.
                    return try await peer.channel.writeAndFlush(ByteBuffer()).get()
                }
            }
        }
    }

    /// Serves until the process ends.
    package init(_ script: @escaping Script) async throws {
        let memory = Memory(script)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Peer(wrappingChannelSynchronously: channel)
                }
            }
        port = server.channel.localAddress?.port ?? 0
        self.memory = memory
        serving = Task {
            try await server.executeThenClose { connections in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await peer in connections {
                        // A connection that the test breaks on purpose is no failure of the server.
                        group.addTask { try? await memory.serve(peer) }
                    }
                }
            }
        }
    }

    /// Serves while a test runs, which is told `http://127.0.0.1:PORT`, the host and port, and the
    /// server.
    package static func run(
        _ script: @escaping Script,
        test: (_ url: String, _ host: String, _ server: OddServer) async throws -> Void
    ) async throws {
        let server = try await OddServer(script)
        defer { server.serving.cancel() }
        try await test(server.url(""), "127.0.0.1:\(server.port)", server)
    }

    /// What it was asked, in order.
    package var requests: [Request] { memory.state.withLock { $0.requests } }

    package func url(_ path: String = "/file") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// A good server of a content; with `cut` only of so many bytes, with `holds` it leaves the
    /// connection open after that.
    package static func honest(
        _ content: [UInt8], tag: String = "\"v1\"", cut: Int? = nil, holds: Bool = false
    ) -> Script {
        { request, answer in
            try await answer.serve(content, request, tag: tag, cutAfter: cut)
            if holds { try await answer.hold() }
        }
    }

    /// Bytes that are not all the same.
    package static func content(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) }
    }

    /// From now on it answers so.
    package func answers(_ script: @escaping Script) {
        memory.state.withLock { $0.script = script }
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
