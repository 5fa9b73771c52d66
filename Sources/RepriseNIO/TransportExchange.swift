import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import RepriseCore
import Synchronization

/// One exchange of ``NIOTransport``.
final class TransportExchange: Sendable {
    /// An error of the caller's closures; it is rethrown unchanged.
    private struct Thrown: Error { let error: any Error }

    private let call: HTTPCall
    private let endpoint: Endpoint
    private let client: HTTPClient
    private let sent: @Sendable (Int64) async -> Void
    private let head: @Sendable (HTTPHead) async throws -> Void
    private let chunk: @Sendable ([UInt8]) async throws -> Void
    private let isAnswered = Mutex(false)

    init(
        call: HTTPCall, endpoint: Endpoint, client: HTTPClient,
        sent: @escaping @Sendable (Int64) async -> Void,
        head: @escaping @Sendable (HTTPHead) async throws -> Void,
        chunk: @escaping @Sendable ([UInt8]) async throws -> Void
    ) {
        self.call = call
        self.endpoint = endpoint
        self.client = client
        self.sent = sent
        self.head = head
        self.chunk = chunk
    }

    /// Sends the request, and passes the answer on.
    func hold() async throws {
        do {
            try await IdleTimeout.watching(call.timeout) { try await self.converse($0) }
        } catch let thrown as Thrown {
            throw thrown.error
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw typed(error)
        }
    }

    private func converse(_ timeout: IdleTimeout) async throws {
        timeout.wait()
        let response = try await client.execute(try request(timeout), deadline: .distantFuture)
        isAnswered.withLock { $0 = true }
        let fields = response.headers.map { ($0.name.lowercased(), $0.value) }
        let answer = HTTPHead(
            status: Int(response.status.code), headers: Dictionary(fields) { "\($0), \($1)" })
        timeout.pause()
        try await passing { try await self.head(answer) }
        // `Transfer-Encoding: gzip, chunked` too: only the chunks are decoded.
        for (name, plain) in [("content-encoding", "identity"), ("transfer-encoding", "chunked")] {
            guard let encoding = answer.headers[name], encoding.lowercased() != plain else {
                continue
            }
            throw malformed("encodes its answer as \(encoding.prefix(40)), which was not asked for")
        }
        try await read(response, answer, timeout)
    }

    private func read(
        _ response: HTTPClientResponse, _ answer: HTTPHead, _ timeout: IdleTimeout
    ) async throws {
        var count: Int64 = 0
        timeout.wait()
        for try await piece in response.body where piece.readableBytes > 0 {
            timeout.pause()
            count += Int64(piece.readableBytes)
            try await passing { try await self.chunk(Array(piece.readableBytesView)) }
            timeout.wait()
        }
        let hasBody = call.method != "HEAD" && ![204, 304].contains(answer.status)
        if hasBody, let length = answer.headers["content-length"], Int64(length) != count {
            throw malformed("announced \(length.prefix(40)) bytes and sent \(count)")
        }
    }

    private func request(_ timeout: IdleTimeout) throws -> HTTPClientRequest {
        var request = HTTPClientRequest(url: call.url)
        request.method = HTTPMethod(rawValue: call.method)
        for (name, value) in call.headers.sorted(by: { $0.key < $1.key }) {
            request.headers.add(name: name, value: value)
        }
        request.headers.replaceOrAdd(name: "accept-encoding", value: "identity")
        switch call.body {
        case .none: break
        case .bytes(let bytes): request.body = .bytes(ByteBuffer(bytes: bytes))
        case .file(let url):
            let body = try FileBody(url, timeout, sent)
            request.body = .stream(body, length: .known(body.size))
        }
        return request
    }

    private func passing(_ body: () async throws -> Void) async throws {
        do { try await body() } catch { throw Thrown(error: error) }
    }

    private func typed(_ error: any Error) -> any Error {
        if error is RepriseError || error is CancellationError { return error }
        if error is HTTPParserError { return malformed("does not speak HTTP as it should", error) }
        let late: [HTTPClientError] = [
            .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout,
        ]
        if error is DeadlinePassed || (error as? HTTPClientError).map(late.contains) == true {
            return RepriseError(
                .timedOut, "\(endpoint) was silent for \(call.timeout).",
                remedy: "Check the network, and try again.", cause: error)
        }
        if let failure = CertificateFailure.explain(error, endpoint) { return failure }
        if isAnswered.withLock({ $0 }) { return malformed("broke its answer off", error) }
        return RepriseError(
            .unreachable, "No server answers at \(endpoint).",
            remedy: "Check the address and the network.", cause: error)
    }

    private func malformed(_ what: String, _ cause: (any Error)? = nil) -> RepriseError {
        RepriseError(
            .malformed, "\(endpoint) \(what).",
            remedy: "Try again; if it stays so, look at the server.", cause: cause)
    }
}
