import Foundation

/// An IP address, as numbers.
package struct NetworkAddress: Hashable, Sendable {
    /// The kind of network behind an address, as far as it decides which may be contacted.
    package enum Place: Hashable, Sendable {
        case world
        /// A private network: RFC 1918, RFC 6598, RFC 4193, RFC 2544.
        case privateNetwork
        /// This machine, this link, broadcast, multicast, unassigned, or a cloud's metadata.
        case never(String)
    }

    /// Addresses with a common prefix that are reserved for a purpose.
    package struct Block: Hashable, Sendable {
        let first: NetworkAddress
        /// The prefix length in bits.
        let length: Int
        let place: Place

        /// Makes a block from the registries' notation: `192.0.2.0/24`.
        init(_ text: String, _ place: Place) {
            let parts = text.split(separator: "/")
            guard parts.count == 2, let first = NetworkAddress(String(parts[0])),
                let length = Int(parts[1]), (0...first.bytes.count * 8).contains(length)
            else { preconditionFailure("\(text) is no block of addresses") }
            self.first = first
            self.length = length
            self.place = place
        }

        func contains(_ address: NetworkAddress) -> Bool {
            guard address.bytes.count == first.bytes.count else { return false }
            let (whole, rest) = length.quotientAndRemainder(dividingBy: 8)
            guard address.bytes[..<whole] == first.bytes[..<whole] else { return false }
            return rest == 0
                || (address.bytes[whole] ^ first.bytes[whole]) >> UInt8(8 - rest) == 0
        }
    }

    /// 4 bytes, or 16.
    package let bytes: [UInt8]

    /// - Parameter text: four decimal numbers with dots, or IPv6 as in RFC 4291; no zone.
    package init?(_ text: String) {
        var (four, six) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            bytes = withUnsafeBytes(of: six) { Array($0) }
        } else {
            return nil
        }
    }

    /// - Parameter bytes: 4 or 16, in the order of the network.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// The place behind it; for an IPv6 address that embeds IPv4, the place behind that one.
    package var place: Place {
        if let inner, let address = NetworkAddress(bytes: inner) { return address.place }
        let own = (bytes.count == 4 ? Self.four : Self.six).first { $0.contains(self) }?.place
        if let own { return own }
        // Of IPv6 only 2000::/3 is allocated.
        return bytes.count == 4 || bytes[0] & 0xe0 == 0x20 ? .world : .never("nobody")
    }

    /// The IPv4 address that is reached through this one: mapped (RFC 4291), translated (RFC 6052).
    private var inner: [UInt8]? {
        Self.translated.contains { $0.contains(self) } ? Array(bytes[12...]) : nil
    }

    private static let translated = [
        Block("::ffff:0:0/96", .world), Block("64:ff9b::/96", .world),
    ]

    /// IANA's IPv4 Special-Purpose Address Registry (RFC 6890, RFC 8190), the multicast of RFC
    /// 5771, and one address that only cloud machines reach.
    ///
    /// Blocks that the registry calls globally reachable are listed too: they host no service, and
    /// the nearest instance may be in a private network.
    private static let four: [Block] = [
        Block("0.0.0.0/8", .never("the unspecified address")),
        Block("10.0.0.0/8", .privateNetwork),
        Block("100.64.0.0/10", .privateNetwork),
        Block("127.0.0.0/8", .never("this machine")),
        Block("168.63.129.16/32", .never("a cloud's metadata")),
        Block("169.254.0.0/16", .never("the link itself")),
        Block("172.16.0.0/12", .privateNetwork),
        Block("192.0.0.0/24", .privateNetwork),
        Block("192.0.2.0/24", .never("nobody: it is for documentation")),
        Block("192.31.196.0/24", .never("a name server that knows nothing")),
        Block("192.52.193.0/24", .never("a relay")),
        Block("192.88.99.0/24", .never("a relay")),
        Block("192.168.0.0/16", .privateNetwork),
        Block("192.175.48.0/24", .never("a name server that knows nothing")),
        Block("198.18.0.0/15", .privateNetwork),
        Block("198.51.100.0/24", .never("nobody: it is for documentation")),
        Block("203.0.113.0/24", .never("nobody: it is for documentation")),
        Block("224.0.0.0/4", .never("a group of machines")),
        Block("240.0.0.0/4", .never("no machine")),
    ]

    /// IANA's IPv6 Special-Purpose Address Registry, likewise, with multicast, the former
    /// site-local addresses and the former ones that embed IPv4.
    private static let six: [Block] = [
        Block("::/128", .never("the unspecified address")),
        Block("::1/128", .never("this machine")),
        Block("::/96", .never("no machine")),
        Block("64:ff9b:1::/48", .never("a translator of this network")),
        Block("100::/64", .never("nobody: it is thrown away")),
        Block("100:0:0:1::/64", .never("nobody: it is thrown away")),
        Block("2001::/23", .never("a protocol, not a machine")),
        Block("2001:db8::/32", .never("nobody: it is for documentation")),
        Block("2002::/16", .never("a tunnel")),
        Block("2620:4f:8000::/48", .never("a name server that knows nothing")),
        Block("3fff::/20", .never("nobody: it is for documentation")),
        Block("5f00::/16", .never("a router")),
        // A cloud machine fetches its own secrets here over IPv6.
        Block("fd00:ec2::/32", .never("a cloud's metadata")),
        Block("fc00::/7", .privateNetwork),
        Block("fe80::/10", .never("the link itself")),
        Block("fec0::/10", .privateNetwork),
        Block("ff00::/8", .never("a group of machines")),
    ]
}
