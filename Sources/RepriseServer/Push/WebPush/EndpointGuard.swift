import Foundation
package import NIOCore
package import RepriseCore

/// Decides which push services a server connects to: a client that registers a subscription must
/// not make the server reach its private network (SSRF).
package struct EndpointGuard: Hashable, Sendable {
    /// Whether loopback and private addresses are allowed, and `http`: for tests and closed
    /// networks.
    package let allowsPrivate: Bool

    package init(allowsPrivate: Bool = false) { self.allowsPrivate = allowsPrivate }

    /// Refuses an invalid endpoint, or one whose host is a private address.
    ///
    /// A name may resolve to a private address too; ``EndpointClients`` checks that before it
    /// connects.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    package func check(_ endpoint: String) throws {
        guard let parts = URLComponents(string: endpoint), let host = parts.host, !host.isEmpty,
            parts.user == nil, parts.password == nil, parts.fragment == nil,
            endpoint.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
            Self.isPlain(host: parts.encodedHost ?? "")
        else {
            throw RepriseError(
                .malformed, "An endpoint is the absolute URL of a push service.",
                remedy: "Send it as PushSubscription.endpoint has it.")
        }
        guard parts.scheme == "https" || allowsPrivate && parts.scheme == "http" else {
            throw RepriseError(.malformed, "An endpoint is reached over https.")
        }
        guard allowsPrivate || !Self.isPrivate(host: host) else {
            throw RepriseError(
                .malformed, "An endpoint may not lead into a private network.",
                remedy: "On a closed network allow it: --web-push-private.")
        }
    }

    /// Whether this address may be connected to.
    package func allows(_ address: NetworkAddress?) -> Bool {
        allowsPrivate || address?.place == .world
    }

    /// Whether a connection's remote address is allowed.
    package func allows(_ address: SocketAddress?) -> Bool {
        allows(address.flatMap(NetworkAddress.init))
    }

    private static func isPrivate(host: String) -> Bool {
        let bare = host.trimmingCharacters(in: ["[", "]"]).lowercased()
        let name = bare.hasSuffix(".") ? String(bare.dropLast()) : bare
        if name == "localhost" || name.hasSuffix(".localhost") || name.hasSuffix(".local")
            || name.hasSuffix(".internal")
        {
            return true
        }
        if let address = NetworkAddress(name) { return address.place != .world }
        // Numeric hosts are addresses in another spelling (0x7f.1, 2130706433) for some resolvers.
        return name.split(separator: ".").last.map {
            $0.hasPrefix("0x") || $0.allSatisfy(\.isNumber)
        } ?? true
    }

    /// An unambiguous name or address: one that all parsers read alike.
    private static func isPlain(host: String) -> Bool {
        host.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
            default: ".-_:[]".utf8.contains(byte)
            }
        }
    }
}

extension NetworkAddress {
    fileprivate init?(_ address: SocketAddress) {
        switch address {
        case .v4(let v4):
            self.init(bytes: withUnsafeBytes(of: v4.address.sin_addr) { Array($0) })
        case .v6(let v6):
            self.init(bytes: withUnsafeBytes(of: v6.address.sin6_addr) { Array($0) })
        case .unixDomainSocket: return nil
        }
    }
}
