import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
public import RepriseCore

/// Fetches over HTTP on SwiftNIO: for Linux, for tests and for the command line.
///
/// ```swift
/// let answer = try await NIOFetcher().get(
///     "https://chat.example.org/v1/forms", headers: ["if-none-match": tag], limit: 1_048_576)
/// ```
///
/// Over `https://` the server must prove that it is the host of the URL, as for ``NIODialer``.
public struct NIOFetcher: HTTPFetcher {
    /// The most redirects of a server to itself.
    private static let redirects = 5

    private let timeout: Duration
    private let trust: TrustedServers

    /// Makes a fetcher.
    ///
    /// - Parameters:
    ///   - timeout: the timeout of an answer, from connecting to its last byte, redirects included.
    ///   - authorities: the path of a PEM file with certificates that are trusted besides the
    ///     system's.
    public init(timeout: Duration = .seconds(15), authorities: String? = nil) {
        self.timeout = timeout
        trust = TrustedServers(authorities: authorities)
    }

    /// Fetches a resource, and follows redirects to the same server.
    ///
    /// A redirect to another host, port or scheme is not followed but returned: credentials for one
    /// server are not sent to another.
    ///
    /// - Parameters:
    ///   - url: `http://` or `https://`.
    ///   - headers: names and values.
    ///   - limit: a larger answer is an error, before more of it is kept.
    /// - Returns: the answer, whatever its status.
    /// - Throws: ``RepriseCore/RepriseError`` `.unreachable`, `.timedOut`, `.tooLarge`,
    ///   `.untrusted`, `.badConfiguration`; `CancellationError` if the task was cancelled.
    public func get(
        _ url: String, headers: [String: String], limit: Int
    ) async throws -> HTTPAnswer {
        try await meeting(url, limit) { client in
            var url = url
            for _ in 0..<Self.redirects {
                let answer = try await ask("GET", url, client, headers, nil, limit)
                guard let next = Self.redirect(answer, from: url) else { return answer }
                url = next
            }
            return try await ask("GET", url, client, headers, nil, limit)
        }
    }

    /// The same with any method and a body; follows no redirect, because not every method may be
    /// repeated elsewhere.
    package func send(
        _ method: String, _ url: String, headers: [String: String], body: [UInt8]?, limit: Int
    ) async throws -> HTTPAnswer {
        try await meeting(url, limit) { try await ask(method, url, $0, headers, body, limit) }
    }

    /// Makes a client, runs the operation with a timeout, and maps its errors.
    private func meeting(
        _ url: String, _ limit: Int,
        _ body: @escaping @Sendable (HTTPClient) async throws -> HTTPAnswer
    ) async throws -> HTTPAnswer {
        let endpoint = try Self.endpoint(url)
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = TimeAmount(timeout)
        // An absent server is reported at once; the caller decides when to retry.
        configuration.connectionPool.retryConnectionEstablishment = false
        if endpoint.isSecure { configuration.tlsConfiguration = try trust.configuration() }
        // One client a request: requests are rare, and so nothing has to be shut down when the app
        // ends.
        let client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
            configuration: configuration)
        let result: Result<HTTPAnswer, any Error>
        do {
            result = .success(try await Deadline.meeting(timeout) { try await body(client) })
        } catch {
            result = .failure(Self.typed(error, endpoint, limit))
        }
        try? await client.shutdown()
        return try result.get()
    }

    private func ask(
        _ method: String, _ url: String, _ client: HTTPClient, _ headers: [String: String],
        _ body: [UInt8]?, _ limit: Int
    ) async throws -> HTTPAnswer {
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            request.headers.add(name: name, value: value)
        }
        if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
        let response = try await client.execute(request, timeout: TimeAmount(timeout))
        let content = try await response.body.collect(upTo: limit)
        let fields = response.headers.map { ($0.name.lowercased(), $0.value) }
        return HTTPAnswer(
            status: Int(response.status.code),
            headers: Dictionary(fields) { "\($0), \($1)" }, body: Array(content.readableBytesView))
    }

    /// The target of a redirect, if it is on the same server.
    private static func redirect(_ answer: HTTPAnswer, from url: String) -> String? {
        guard [301, 302, 303, 307, 308].contains(answer.status),
            let place = answer.headers["location"], let here = try? endpoint(url)
        else { return nil }
        if place.hasPrefix("/"), !place.hasPrefix("//") { return "\(here)\(place)" }
        guard let there = try? endpoint(place), there.host == here.host, there.port == here.port,
            there.isSecure == here.isSecure
        else { return nil }
        return place
    }

    static func endpoint(_ url: String) throws -> Endpoint {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw RepriseError(
                .badConfiguration, "This is not the URL of a resource: \(url).",
                remedy: "It begins with https:// or http://.")
        }
        return try Endpoint(url)
    }

    private static func typed(
        _ error: any Error, _ endpoint: Endpoint, _ limit: Int
    ) -> any Error {
        if error is RepriseError || error is CancellationError { return error }
        if error is NIOTooManyBytesError {
            return RepriseError(
                .tooLarge, "The answer of \(endpoint) has more than \(limit) bytes.", cause: error)
        }
        let late: [HTTPClientError] = [
            .connectTimeout, .readTimeout, .deadlineExceeded, .tlsHandshakeTimeout,
            .getConnectionFromPoolTimeout,
        ]
        let known = error as? HTTPClientError
        if known == .cancelled { return CancellationError() }
        if error is DeadlinePassed || known.map(late.contains) == true {
            return RepriseError(
                .timedOut, "\(endpoint) did not answer in time.",
                remedy: "Check the address and the network, and try again.", cause: error)
        }
        return CertificateFailure.explain(error, endpoint)
            ?? RepriseError(
                .unreachable, "No server answers at \(endpoint).",
                remedy: "Check the address and the network.", cause: error)
    }
}
