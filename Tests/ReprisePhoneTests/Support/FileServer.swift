import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A server on loopback that answers as a test says, also with lies.
final class FileServer: Sendable {
    struct Request: Sendable {
        var method: String
        var path: String
        /// By their names in lower case.
        var headers: [String: String]
        var body: Int
    }

    struct Reply: Sendable {
        var status = "200 OK"
        var headers: [String] = []
        var body: [UInt8] = []
        /// Only so many bytes of the body are sent.
        var cut: Int?
        /// What follows what is sent: nothing more comes, or the connection is closed.
        var holds = false
    }

    private struct State {
        var requests: [Request] = []
        var answer: @Sendable (Request) -> Reply
    }

    private let state: Mutex<State>
    private let server: Mutex<(any Channel)?> = Mutex(nil)

    private init(_ answer: @escaping @Sendable (Request) -> Reply) {
        state = Mutex(State(answer: answer))
    }

    static func start(
        _ answer: @escaping @Sendable (Request) -> Reply
    ) async throws -> FileServer {
        let server = FileServer(answer)
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(HTTPExchange(server: server))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.server.withLock { $0 = channel }
        return server
    }

    deinit { server.withLock { $0?.close(promise: nil) } }

    var port: Int { server.withLock { $0?.localAddress?.port } ?? 0 }
    func url(_ path: String = "/file") -> String { "http://127.0.0.1:\(port)\(path)" }
    var requests: [Request] { state.withLock { $0.requests } }

    /// From now on it answers so.
    func answers(_ answer: @escaping @Sendable (Request) -> Reply) {
        state.withLock { $0.answer = answer }
    }

    fileprivate func take(_ request: Request) -> Reply {
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answer
        }
        return answer(request)
    }

    /// An honest server: the content, or the range of it that is asked for.
    static func honest(
        _ content: [UInt8], tag: String = "\"v1\"", cut: Int? = nil, holds: Bool = false
    ) -> @Sendable (Request) -> Reply {
        { request in
            var reply = Reply(body: content, cut: cut, holds: holds)
            reply.headers = ["etag: \(tag)", "accept-ranges: bytes"]
            let words = (request.headers["range"] ?? "").split(whereSeparator: { "=-".contains($0) }
            )
            if words.count == 2, let from = Int(words[1]), from < content.count,
                request.headers["if-range"] == tag
            {
                reply.status = "206 Partial Content"
                reply.headers.append(
                    "content-range: bytes \(from)-\(content.count - 1)/\(content.count)")
                reply.body = Array(content[from...])
            }
            reply.headers.append("content-length: \(reply.body.count)")
            return reply
        }
    }

    /// Bytes that are not all the same.
    static func content(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) }
    }
}

/// One connection, one request.
private final class HTTPExchange: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let server: FileServer
    private var received: [UInt8] = []
    private var isAnswered = false

    init(server: FileServer) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += Array(unwrapInboundIn(data).readableBytesView)
        guard !isAnswered, let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
        let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self)
            .components(separatedBy: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...]
                .trimmingCharacters(in: .whitespaces)
        }
        let body = received.count - end.upperBound
        guard body >= Int(headers["content-length"] ?? "0") ?? 0 else { return }
        isAnswered = true
        let words = lines[0].split(separator: " ").map(String.init)
        answer(
            server.take(
                FileServer.Request(
                    method: words[0], path: words[1], headers: headers, body: body)), context)
    }

    private func answer(_ reply: FileServer.Reply, _ context: ChannelHandlerContext) {
        let head = (["HTTP/1.1 \(reply.status)"] + reply.headers + ["connection: close", "", ""])
            .joined(separator: "\r\n")
        let sent = reply.body.prefix(reply.cut ?? reply.body.count)
        let written = context.writeAndFlush(
            wrapOutboundOut(ByteBuffer(bytes: Array(head.utf8) + sent)))
        if !reply.holds {
            let channel = context.channel
            written.whenComplete { _ in channel.close(promise: nil) }
        }
    }
}
