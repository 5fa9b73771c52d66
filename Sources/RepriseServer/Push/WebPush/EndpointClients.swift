package import AsyncHTTPClient
package import RepriseCore
import Synchronization

/// The connections to Web Push services: one client per name.
///
/// A name is resolved, all of its addresses are checked, and the client connects to a checked
/// address, for the name's certificate. So no byte goes to a forbidden address, and no second DNS
/// answer leads elsewhere.
package final class EndpointClients: Sendable {
    /// A name resolves to a forbidden address.
    package struct Refused: Error {}

    /// A client that is shut down once it is unused.
    private final class Client: Sendable {
        private struct State {
            var users = 0
            var isRetired = false
        }

        let http: HTTPClient
        /// The address that it connects to; nil for the name's own.
        let address: String?
        private let state = Mutex(State())

        init(_ http: HTTPClient, _ address: String?) {
            self.http = http
            self.address = address
        }

        func begin() -> Bool {
            state.withLock { state in
                guard !state.isRetired else { return false }
                state.users += 1
                return true
            }
        }

        func end() {
            let isLast = state.withLock { state in
                state.users -= 1
                return state.users == 0 && state.isRetired
            }
            if isLast { shutDown() }
        }

        func retire() {
            let isUnused = state.withLock { state in
                guard !state.isRetired else { return false }
                state.isRetired = true
                return state.users == 0
            }
            if isUnused { shutDown() }
        }

        private func shutDown() { Task { try? await http.shutdown() } }
    }

    private struct Entry {
        /// Ends within a bounded time.
        let finding: Task<Client, any Error>
        let began: Duration
        /// The newest client; it stays while the name resolves to its address.
        var client: Client?
        /// Whether connecting to its address has failed, so that another is tried.
        var hasFailed = false
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var isOpen = true
    }

    private let guardian: EndpointGuard
    private let configuration: HTTPClient.Configuration
    private let clock: any Timekeeper
    private let lookUp: @Sendable (String) async throws -> [String]
    private let state = Mutex(State())

    package init(
        _ guardian: EndpointGuard, _ configuration: HTTPClient.Configuration,
        clock: any Timekeeper, lookUp: @escaping @Sendable (String) async throws -> [String]
    ) {
        self.guardian = guardian
        self.configuration = configuration
        self.clock = clock
        self.lookUp = lookUp
    }

    /// Runs `body` with the client for a host and its address (nil: the name's own); an error of
    /// `body` makes the next call try another of the host's addresses.
    ///
    /// - Throws: ``Refused``, ``RepriseCore/RepriseError`` `.unreachable`, `.timedOut`, `.closed`;
    ///   the errors of `body`.
    package func use<Value: Sendable>(
        for host: String, _ body: (HTTPClient, _ address: String?) async throws -> Value
    ) async throws -> Value {
        while true {
            let client = try await client(for: host)
            // Retired in between: it is looked up again.
            guard client.begin() else { continue }
            defer { client.end() }
            do {
                return try await body(client.http, client.address)
            } catch {
                failed(client, host)
                throw error
            }
        }
    }

    /// Ends requests in flight.
    package func close() async {
        let findings = state.withLock { state in
            defer { state.entries = [:] }
            state.isOpen = false
            return state.entries.values.map(\.finding)
        }
        for finding in findings {
            finding.cancel()
            if let client = try? await finding.value { try? await client.http.shutdown() }
        }
    }

    private func failed(_ client: Client, _ host: String) {
        state.withLock { state in
            if state.entries[host]?.client === client { state.entries[host]?.hasFailed = true }
        }
    }

    private func client(for host: String) async throws -> Client {
        let now = clock.uptime()
        let (finding, left) = try state.withLock {
            state throws -> (Task<Client, any Error>, Client?) in
            guard state.isOpen else { throw RepriseError(.closed, "The provider is closed.") }
            let former = state.entries[host]
            let isFresh = former.map {
                !$0.hasFailed && now - $0.began < PushLimits.endpointLookUpLife
            }
            if let former, isFresh ?? false { return (former.finding, nil) }
            // Callers share a look-up in flight.
            if let former, former.client == nil, !former.hasFailed {
                return (former.finding, nil)
            }
            var left: Client?
            if former == nil, state.entries.count >= PushLimits.endpointNames,
                let oldest = state.entries.lazy.filter({ $0.value.client != nil })
                    .min(by: { $0.value.began < $1.value.began })
            {
                left = oldest.value.client
                state.entries[oldest.key] = nil
            }
            let finding = Task {
                try await self.find(host, former?.client, hasFailed: former?.hasFailed ?? false)
            }
            state.entries[host] = Entry(finding: finding, began: now, client: nil)
            return (finding, left)
        }
        left?.retire()
        do {
            let client = try await finding.value
            found(client, for: host, finding)
            return client
        } catch {
            state.withLock { state in
                if state.entries[host]?.finding == finding { state.entries[host] = nil }
            }
            throw error
        }
    }

    private func found(_ client: Client, for host: String, _ finding: Task<Client, any Error>) {
        state.withLock { state in
            guard state.entries[host]?.finding == finding,
                state.entries[host]?.client == nil
            else { return }
            state.entries[host]?.client = client
        }
    }

    /// Resolves a host: the former client stays if its address does, and has not failed.
    private func find(_ host: String, _ former: Client?, hasFailed: Bool) async throws -> Client {
        guard !guardian.allowsPrivate else {
            return former ?? Client(PushHTTP.client(configuration), nil)
        }
        do {
            let addresses = try await addresses(of: host)
            if let former, let address = former.address, addresses.contains(address), !hasFailed {
                return former
            }
            let last = former?.address.flatMap { addresses.firstIndex(of: $0) }
            let address = addresses[last.map { ($0 + 1) % addresses.count } ?? 0]
            var configuration = configuration
            configuration.dnsOverride = [host: address]
            let client = Client(PushHTTP.client(configuration), address)
            former?.retire()
            return client
        } catch {
            // A failing name server does not invalidate a checked address.
            if let former, !hasFailed, !(error is Refused) { return former }
            former?.retire()
            throw error
        }
    }

    /// - Returns: at least one; all are allowed.
    private func addresses(of host: String) async throws -> [String] {
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let found =
            NetworkAddress(bare) == nil ? try await lookedUp(host) : [bare]
        guard !found.isEmpty else {
            throw RepriseError(.unreachable, "The push service has no address.")
        }
        guard found.allSatisfy({ guardian.allows(NetworkAddress($0)) }) else { throw Refused() }
        return found
    }

    private func lookedUp(_ host: String) async throws -> [String] {
        try await withThrowingTaskGroup(of: [String].self) { group in
            group.addTask { [lookUp] in try await lookUp(host) }
            group.addTask { [clock] in
                try await clock.sleep(for: PushLimits.connect)
                throw RepriseError(.timedOut, "Nobody says which address the push service has.")
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
    }
}
