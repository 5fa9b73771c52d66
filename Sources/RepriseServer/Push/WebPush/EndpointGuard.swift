import Foundation
package import NIOCore
import RepriseCore

/// Decides which push services a server talks to: who registers a subscription must not make it talk to machines that only it can reach.
package struct EndpointGuard: Hashable, Sendable {
    /// Whether addresses of this machine and of private networks are allowed, and `http`: for tests and closed networks.
    package let allowsPrivate: Bool

    package init(allowsPrivate: Bool = false) { self.allowsPrivate = allowsPrivate }

    /// Refuses an endpoint that is none, or whose host is an address that nobody else can reach.
    ///
    /// A name may lead to such an address too; that is found out at each connection: ``allows(_:)``.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    package func check(_ endpoint: String) throws {
        guard let parts = URLComponents(string: endpoint), let host = parts.host, !host.isEmpty,
            parts.user == nil, parts.password == nil, parts.fragment == nil,
            endpoint.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
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

    /// Whether a connection to this address may be used.
    package func allows(_ address: SocketAddress?) -> Bool {
        allowsPrivate || address.map { !Self.isPrivate($0) } ?? false
    }

    private static func isPrivate(host: String) -> Bool {
        let bare = host.trimmingCharacters(in: ["[", "]"]).lowercased()
        let name = bare.hasSuffix(".") ? String(bare.dropLast()) : bare
        if name == "localhost" || name.hasSuffix(".localhost") || name.hasSuffix(".local")
            || name.hasSuffix(".internal")
        {
            return true
        }
        if let address = try? SocketAddress(ipAddress: name, port: 443) {
            return isPrivate(address)
        }
        // Numbers alone are an address in another spelling (0x7f.1, 2130706433), which some resolvers take.
        return name.split(separator: ".").last.map {
            $0.hasPrefix("0x") || $0.allSatisfy(\.isNumber)
        } ?? true
    }

    /// Loopback, link-local, private, shared, multicast and reserved addresses (RFC 6890), and those of IPv6 that hold one of IPv4.
    static func isPrivate(_ address: SocketAddress) -> Bool {
        switch address {
        case .v4(let v4):
            let number = UInt32(bigEndian: v4.address.sin_addr.s_addr)
            return isPrivate(v4: number)
        case .v6(let v6):
            return withUnsafeBytes(of: v6.address.sin6_addr) { isPrivate(v6: Array($0)) }
        case .unixDomainSocket: return true
        }
    }

    private static let blocks: [(UInt32, Int)] = [
        (0x0000_0000, 8), (0x0a00_0000, 8), (0x6440_0000, 10), (0x7f00_0000, 8),
        (0xa9fe_0000, 16), (0xac10_0000, 12), (0xc000_0000, 24), (0xc000_0200, 24),
        (0xc0a8_0000, 16), (0xc612_0000, 15), (0xc633_6400, 24), (0xcb00_7100, 24),
        (0xe000_0000, 3),
    ]

    private static func isPrivate(v4 number: UInt32) -> Bool {
        blocks.contains { number >> (32 - $0.1) == $0.0 >> (32 - $0.1) }
    }

    private static func isPrivate(v6 bytes: [UInt8]) -> Bool {
        let last = bytes[12...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let isMapped = bytes[..<10].allSatisfy { $0 == 0 }
        if isMapped, bytes[10] == 0xff, bytes[11] == 0xff { return isPrivate(v4: last) }
        // The unspecified address, loopback and those "compatible" with IPv4.
        if isMapped, bytes[10] == 0, bytes[11] == 0 { return true }
        // NAT64 leads to an address of IPv4, too.
        if bytes[..<4] == [0x00, 0x64, 0xff, 0x9b] { return isPrivate(v4: last) }
        if bytes[..<2] == [0x20, 0x02] {
            return isPrivate(v4: bytes[2..<6].reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
        }
        // Only 2000::/3 is for everybody, and of that not what is for documents and Teredo.
        guard bytes[0] & 0xe0 == 0x20 else { return true }
        return bytes[..<4] == [0x20, 0x01, 0x0d, 0xb8] || bytes[..<4] == [0x20, 0x01, 0, 0]
    }
}
