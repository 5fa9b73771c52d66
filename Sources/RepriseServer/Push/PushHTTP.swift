import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import RepriseCore

/// The relevant part of a provider's answer.
struct PushAnswer: Hashable, Sendable {
    var status: Int
    /// `Retry-After` in seconds or as a date, as a duration.
    var retryAfter: Duration?
    var body: [UInt8]
}

/// Sends one request and reads an untrusted answer, within limits of time and size.
enum PushHTTP {
    static func configuration(_ authorities: String?) throws -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = TimeAmount(PushLimits.connect)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.http2ConnectionDebugInitializer = gather
        // A push is not idempotent for its provider; only the push queue may repeat it.
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

    /// Adds ``GatheredWrites`` to an HTTP/2 connection before its first use.
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

    /// Sends within a time, from connecting to the last byte of the answer.
    static func send(
        _ request: HTTPClientRequest, by client: HTTPClient,
        within time: Duration = PushLimits.answer, now: Date
    ) async throws -> PushAnswer {
        let end = NIODeadline.now() + TimeAmount(time)
        let response = try await client.execute(request, deadline: end)
        return PushAnswer(
            status: Int(response.status.code),
            retryAfter: retryAfter(response.headers.first(name: "retry-after"), now: now),
            body: try await body(of: response, until: end))
    }

    /// The client's own deadline ends with the head of the answer and does not bound a slow body.
    private static func body(
        of response: HTTPClientResponse, until end: NIODeadline
    ) async throws -> [UInt8] {
        let reading = Task<[UInt8], any Error>(executorPreference: PushLoop.executor) {
            var bytes: [UInt8] = []
            // Read to its end, so that the connection can be reused; a longer answer ends it.
            for try await piece in response.body {
                bytes.append(contentsOf: piece.readableBytesView)
                guard bytes.count <= PushLimits.answerBytes else { break }
            }
            return Array(bytes.prefix(PushLimits.answerBytes))
        }
        // A timer of the loop: `Task.sleep` keeps its own to the end, also if it is cancelled.
        let timer = PushLoop.loop.scheduleTask(deadline: end) { reading.cancel() }
        defer { timer.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await reading.value
            } onCancel: {
                reading.cancel()
            }
        } catch is CancellationError where !Task.isCancelled {
            throw HTTPClientError.deadlineExceeded
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

    /// Describes an error without the request: an endpoint is a secret.
    static func words(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError: error.shortDescription
        case is CancellationError: "The server is ending."
        case let error as RepriseError: error.message
        default: "\(type(of: error))"
        }
    }
}
