package import RepriseCore

/// Decides which servers workers may access: URLs in a chain's input often come from elsewhere.
///
/// ```swift
/// AddressGuard(allowed: ["printer.local:631"])
/// ```
///
/// Allows http and https only; no user name in the URL; no loopback, link-local, multicast or
/// unspecified address in any spelling, and no name that resolves to one. A name is resolved first,
/// all of its addresses are checked, and the connection goes to one of them
/// (``RepriseCore/HTTPCall/address``), so that a second answer of the name server has no effect.
/// `URLSession` cannot do that: it resolves the name again, and the answer may differ. Each
/// redirect is checked in the same way.
public struct AddressGuard: Sendable {
    private let allowed: Set<String>
    private let refusesPrivateNetworks: Bool
    private let clock: any Timekeeper
    private let lookUp: @Sendable (String) async throws -> [String]

    /// Makes a guard.
    ///
    /// - Parameters:
    ///   - allowed: servers that skip the check, each as `host:port`, as in the URL.
    ///   - refusesPrivateNetworks: also refuses 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16,
    ///     100.64.0.0/10, fc00::/7 and the like.
    public init(allowed: Set<String> = [], refusesPrivateNetworks: Bool = false) {
        self.init(
            allowed: allowed, refusesPrivateNetworks: refusesPrivateNetworks,
            lookUp: { try await HostLookUp.addresses(of: $0) })
    }

    package init(
        allowed: Set<String> = [], refusesPrivateNetworks: Bool = false,
        clock: any Timekeeper = SystemTimekeeper(),
        lookUp: @escaping @Sendable (String) async throws -> [String]
    ) {
        self.allowed = Set(allowed.map { $0.lowercased() })
        self.refusesPrivateNetworks = refusesPrivateNetworks
        self.clock = clock
        self.lookUp = lookUp
    }

    /// Checks a URL.
    ///
    /// - Returns: the normalised URL and its checked addresses; none for an allowed server.
    /// - Throws: ``RepriseCore/RepriseError`` `.addressRefused`, `.unreachable`, `.timedOut`.
    func check(_ url: String) async throws -> CheckedAddress { try await check(WebAddress(url)) }

    func check(_ place: WebAddress) async throws -> CheckedAddress {
        let name = place.host.contains(":") ? "[\(place.host)]" : place.host
        if allowed.contains("\(name):\(place.port)") {
            return CheckedAddress(place: place, addresses: [])
        }
        let found =
            NetworkAddress(place.host) == nil ? try await addresses(of: place.host) : [place.host]
        guard !found.isEmpty else {
            throw RepriseError(
                .unreachable, "\(place.host) has no address.", remedy: "Check the name.")
        }
        for text in found {
            switch NetworkAddress(text)?.place {
            case .world: continue
            case .privateNetwork where !refusesPrivateNetworks: continue
            case .privateNetwork: throw refused(place, "a private network")
            case .never(let whose): throw refused(place, whose)
            case nil: throw refused(place, "nobody that we know")
            }
        }
        return CheckedAddress(place: place, addresses: found)
    }

    /// Addresses beyond the limit are neither used nor checked.
    private func addresses(of host: String) async throws -> [String] {
        try await withThrowingTaskGroup(of: [String]?.self) { group in
            group.addTask { try await lookUp(host) }
            group.addTask {
                try await clock.sleep(for: WorkerLimits.lookUp)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let found = first else {
                throw RepriseError(
                    .timedOut, "Nobody says which address \(host) has.",
                    remedy: "Check the network, and try again.")
            }
            return Array(found.prefix(WorkerLimits.addresses))
        }
    }

    private func refused(_ place: WebAddress, _ whose: String) -> RepriseError {
        RepriseError(
            .addressRefused, "\(place.origin) is not asked: its address is that of \(whose).",
            remedy: "If the app means it, allow \(place.host):\(place.port).")
    }
}

/// A URL that may be asked.
struct CheckedAddress: Hashable, Sendable {
    let place: WebAddress
    let addresses: [String]

    /// The address to connect to; another one with each attempt.
    func address(attempt: Int) -> String? {
        addresses.isEmpty ? nil : addresses[(max(attempt, 1) - 1) % addresses.count]
    }
}
