import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import RepriseCore

/// The address of a JSON Web Key Set.
///
/// Over TLS, or from this machine: an attacker who can change the set in transit can sign tokens
/// for every user. So `localhost` over http is this machine's own addresses, whatever a resolver
/// answers.
package struct KeySetURL: Hashable, Sendable {
    private let url: String
    private let host: String
    /// The addresses to connect to instead of resolving the host, one after the other.
    package let addresses: [String]

    package init(_ text: String) throws {
        guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty,
            parts.user == nil, parts.password == nil
        else { throw Self.unusable(text) }
        switch parts.scheme?.lowercased() {
        case "https": addresses = []
        case "http" where LoopbackName.isOne(host):
            addresses = host.lowercased() == "localhost" ? ["127.0.0.1", "::1"] : []
        default: throw Self.unusable(text)
        }
        url = text
        self.host = host
    }

    /// Fetches the set: within ``AccessLimits/fetch``, without following redirects, and at most
    /// ``AccessLimits/keyBytes``.
    ///
    /// - Parameter time: from connecting to the last byte.
    /// - Returns: the body.
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable`; the client's errors.
    package func fetch(within time: Duration = AccessLimits.fetch) async throws -> [UInt8] {
        let end = ContinuousClock.now + time
        for address in addresses.dropLast() {
            do {
                return try await fetch(from: address, within: time)
            } catch is IOError {  // nobody is there
                continue
            }
        }
        return try await fetch(from: addresses.last, within: ContinuousClock.now.duration(to: end))
    }

    private func fetch(from address: String?, within time: Duration) async throws -> [UInt8] {
        var configuration = HTTPClient.Configuration()
        if let address { configuration.dnsOverride = [host: address] }
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = TimeAmount(time)
        // Callers wait; `KeyFetchMachine` schedules retries.
        configuration.connectionPool.retryConnectionEstablishment = false
        // One client per fetch: they are rare, and nothing must be shut down when the server ends.
        let client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
            configuration: configuration)
        let result: Result<[UInt8], any Error>
        do { result = .success(try await get(client, time)) } catch { result = .failure(error) }
        try? await client.shutdown()
        return try result.get()
    }

    /// The client's own timeout ends with the head of the answer and does not bound a slow body.
    private func get(_ client: HTTPClient, _ time: Duration) async throws -> [UInt8] {
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask { try await ask(client, time) }
            group.addTask {
                try await Task.sleep(for: time)
                throw RepriseError(.unavailable, "The key set did not come in time.")
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
    }

    private func ask(_ client: HTTPClient, _ time: Duration) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "Accept", value: "application/json")
        let response = try await client.execute(
            request, timeout: TimeAmount(time))
        guard response.status == .ok else {
            throw RepriseError(
                .unavailable, "The key set was answered with \(response.status.code).")
        }
        var body = try await response.body.collect(upTo: AccessLimits.keyBytes)
        return body.readBytes(length: body.readableBytes) ?? []
    }

    private static func unusable(_ text: String) -> RepriseError {
        RepriseError(
            .badConfiguration, "Keys are fetched over https, or over http from this machine.",
            remedy: "It looks like https://id.example.org/.well-known/jwks.json.")
    }
}
