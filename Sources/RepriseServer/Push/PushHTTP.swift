import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import RepriseCore

/// What a provider answered, as far as it is looked at.
struct PushAnswer: Hashable, Sendable {
    var status: Int
    /// `Retry-After` in seconds or as a date, as a duration.
    var retryAfter: Duration?
    var body: [UInt8]
}

/// Sends one request and reads an answer that is not to be trusted: bounded in time and size.
enum PushHTTP {
    static func configuration(_ authorities: String?) throws -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = TimeAmount(PushLimits.connect)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.http2ConnectionDebugInitializer = gather
        // A push is not idempotent to who counts it; ours may be repeated, but by us.
        if let authorities {
            var tls = TLSConfiguration.makeClientConfiguration()
            do {
                tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authorities))
            } catch {
                throw RepriseError(
                    .badConfiguration, "The authorities \(authorities) cannot be used.",
                    remedy: "Give a PEM file with certificates.", cause: error)
            }
            configuration.tlsConfiguration = tls
        }
        return configuration
    }

    /// Puts ``GatheredWrites`` into a connection that speaks HTTP/2, before it is used.
    @Sendable static func gather(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let tls = try pipeline.handler(type: NIOSSLClientHandler.self)
            try pipeline.addHandler(GatheredWrites(), position: .after(tls))
        }
    }

    static func client(_ configuration: HTTPClient.Configuration) -> HTTPClient {
        HTTPClient(
            eventLoopGroupProvider: .shared(PushLoop.loop), configuration: configuration)
    }

    /// - Throws: what the client throws, and `CancellationError`.
    static func send(
        _ request: HTTPClient.Request, by client: HTTPClient,
        within time: Duration = PushLimits.answer, now: Date
    ) async throws -> PushAnswer {
        try Task.checkCancellation()
        // By delegate: the client's own `async` makes a task and two changes of thread of each request.
        let task = client.execute(
            request: request, delegate: AnswerReader(), deadline: .now() + TimeAmount(time))
        do {
            let answer = try await withTaskCancellationHandler {
                try await task.futureResult.get()
            } onCancel: {
                task.cancel()
            }
            return self.answer(answer, now: now)
        } catch let tooLong as TooLong {
            return answer(tooLong.read, now: now)
        }
    }

    private static func answer(_ read: Read, now: Date) -> PushAnswer {
        PushAnswer(
            status: Int(read.head.status.code),
            retryAfter: retryAfter(read.head.headers.first(name: "retry-after"), now: now),
            body: read.body)
    }

    private struct Read: Sendable {
        var head: HTTPResponseHead
        var body: [UInt8]
    }

    /// Ends a request whose answer is longer than what is read.
    private struct TooLong: Error {
        let read: Read
    }

    /// Reads an answer to its end, so that the connection can be used again; what is too long ends it.
    // Unchecked: it is called on its task's event loop alone.
    private final class AnswerReader: HTTPClientResponseDelegate, @unchecked Sendable {
        typealias Response = Read

        private var head: HTTPResponseHead?
        private var body: [UInt8] = []

        func didReceiveHead(
            task: HTTPClient.Task<Response>, _ head: HTTPResponseHead
        ) -> EventLoopFuture<Void> {
            self.head = head
            return task.eventLoop.makeSucceededVoidFuture()
        }

        func didReceiveBodyPart(
            task: HTTPClient.Task<Response>, _ buffer: ByteBuffer
        ) -> EventLoopFuture<Void> {
            let room = PushLimits.answerBytes - body.count
            body += buffer.readableBytesView.prefix(room)
            guard buffer.readableBytes > room, let head else {
                return task.eventLoop.makeSucceededVoidFuture()
            }
            return task.eventLoop.makeFailedFuture(TooLong(read: Read(head: head, body: body)))
        }

        func didFinishRequest(task: HTTPClient.Task<Response>) throws -> Response {
            guard let head else { throw HTTPClientError.remoteConnectionClosed }
            return Read(head: head, body: body)
        }
    }

    /// RFC 9110 §10.2.3.
    static func retryAfter(_ text: String?, now: Date) -> Duration? {
        guard let text = text?.trimmingCharacters(in: .whitespaces), !text.isEmpty else {
            return nil
        }
        if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            let seconds = Int64(text) ?? .max
            return min(.seconds(min(seconds, 1 << 40)), PushLimits.retryAfterLongest)
        }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date = format.date(from: text) else { return nil }
        let seconds = max(0, min(date.timeIntervalSince(now), 1e9))
        return min(.milliseconds(Int64(seconds * 1_000)), PushLimits.retryAfterLongest)
    }

    /// Says what went wrong without what was sent: an endpoint is a secret.
    static func words(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError: error.shortDescription
        case is CancellationError: "The server is ending."
        case let error as RepriseError: error.message
        default: "\(type(of: error))"
        }
    }
}
