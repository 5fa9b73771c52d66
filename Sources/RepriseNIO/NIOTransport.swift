import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
public import RepriseCore

/// Speaks HTTP on SwiftNIO with bodies of any size: for Linux, for tests and for the command line.
///
/// ```swift
/// try await NIOTransport().exchange(HTTPCall(url: "https://example.org/film.mp4")) { head in
///     print(head.status)
/// } chunk: { bytes in
///     try file.write(bytes)
/// }
/// ```
///
/// It speaks HTTP/1.1, follows no redirect and requests no compression. The next bytes are read
/// from the network when the previous ones have been taken. Over `https://` the server must prove
/// that it is the host of the URL, as for ``NIODialer``.
public struct NIOTransport: HTTPTransport {
    private let trust: TrustedServers

    /// Makes a transport.
    ///
    /// - Parameter authorities: the path of a PEM file with certificates that are trusted besides
    ///   the system's.
    public init(authorities: String? = nil) { trust = TrustedServers(authorities: authorities) }

    /// Sends a request and passes the answer on as it arrives.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - head: called once, with the status and the headers; it may throw to end the exchange.
    ///   - chunk: called with each piece of the body, in order, before the next is read from the
    ///     network.
    /// - Throws: as ``RepriseCore/HTTPTransport`` says.
    public func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await exchange(request, sent: { _ in }, head: head, chunk: chunk)
    }

    /// Sends a request, reports how much of a file is sent, and passes the answer on as it arrives.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - sent: called with the bytes of a file sent so far, each 64 KiB.
    ///   - head: called once, with the status and the headers; it may throw to end the exchange.
    ///   - chunk: called with each piece of the body, in order, before the next is read from the
    ///     network.
    /// - Throws: as ``RepriseCore/HTTPTransport`` says.
    public func exchange(
        _ request: HTTPCall, sent: @escaping @Sendable (Int64) async -> Void,
        head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let endpoint = try Self.endpoint(request.url)
        let client = try client(for: request, endpoint)
        let result: Result<Void, any Error>
        do {
            try await withoutActuallyEscaping(head) { head in
                try await withoutActuallyEscaping(chunk) { chunk in
                    let talk = TransportExchange(
                        call: request, endpoint: endpoint, client: client, sent: sent,
                        head: head, chunk: chunk)
                    try await talk.hold()
                }
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        try? await client.shutdown()
        try result.get()
    }

    private static func endpoint(_ url: String) throws -> Endpoint {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard scheme == "http" || scheme == "https" else {
            throw RepriseError(
                .badConfiguration, "This is not the URL of a resource: \(url).",
                remedy: "It begins with https:// or http://.")
        }
        return try Endpoint(url)
    }

    /// One client for each exchange: nothing has to be shut down when the app ends, and each can
    /// have an address of its own.
    private func client(for request: HTTPCall, _ endpoint: Endpoint) throws -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = TimeAmount(request.timeout)
        configuration.connectionPool.retryConnectionEstablishment = false
        if let address = request.address { configuration.dnsOverride = [endpoint.host: address] }
        if endpoint.isSecure { configuration.tlsConfiguration = try trust.configuration() }
        return HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
            configuration: configuration)
    }
}
