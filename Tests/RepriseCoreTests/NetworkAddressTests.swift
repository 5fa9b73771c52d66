import RepriseCore
import Testing

@Suite("Addresses that are set apart")
struct NetworkAddressTests {
    /// IANA's registries of special-purpose addresses, of IPv4 and IPv6, whole:
    /// iana-ipv4-special-registry and iana-ipv6-special-registry.
    private static let registry = """
        0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12
        192.0.0.0/24 192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32
        192.0.0.171/32 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.88.99.2/32
        192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4
        255.255.255.255/32
        ::1/128 ::/128 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:1::1/128
        2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28
        2001:30::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10
        """

    /// The first and the last address of a block, and its neighbours on both sides.
    private static func edges(_ block: String) throws -> (inside: [[UInt8]], outside: [[UInt8]]) {
        let parts = block.split(separator: "/")
        let first = try #require(NetworkAddress(String(parts[0]))).bytes
        let length = try #require(Int(parts[1]))
        var last = first
        for bit in length..<first.count * 8 { last[bit / 8] |= 0x80 >> UInt8(bit % 8) }
        func moved(_ bytes: [UInt8], up: Bool) -> [UInt8]? {
            var bytes = bytes
            for index in bytes.indices.reversed() {
                bytes[index] = up ? bytes[index] &+ 1 : bytes[index] &- 1
                if bytes[index] != (up ? 0 : 0xff) { return bytes }
            }
            return nil
        }
        return ([first, last], [moved(first, up: false), moved(last, up: true)].compactMap { $0 })
    }

    @Test(
        "the addresses of IANA's special registries are not public, from the first of each block to the last",
        arguments: registry.split(whereSeparator: \.isWhitespace).map(String.init))
    func registered(_ block: String) throws {
        for bytes in try Self.edges(block).inside {
            let address = try #require(NetworkAddress(bytes: bytes))
            #expect(address.place != .world, "\(bytes)")
        }
    }

    @Test("multicast, site-local and unassigned addresses are not public either")
    func others() throws {
        let texts = [
            "224.0.0.1", "239.255.255.255", "ff02::1", "fec0::1", "::2", "::8.8.8.8", "4000::1",
            "1::1", "fe00::1", "168.63.129.16", "fd00:ec2::254",
        ]
        for text in texts {
            #expect(try #require(NetworkAddress(text)).place != .world, "\(text)")
        }
    }

    @Test("the addresses beside the blocks are public")
    func neighbours() throws {
        let blocks = [
            "10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.0.2.0/24", "192.31.196.0/24",
            "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
            "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "169.254.0.0/16",
            "168.63.129.16/32", "2620:4f:8000::/48", "2001:db8::/32",
        ]
        for block in blocks {
            for bytes in try Self.edges(block).outside {
                let address = try #require(NetworkAddress(bytes: bytes))
                #expect(address.place == .world, "\(block): \(bytes)")
            }
        }
        for text in ["1.0.0.0", "8.8.8.8", "223.255.255.255", "2606:2800:220:1::1", "2000::1"] {
            #expect(try #require(NetworkAddress(text)).place == .world, "\(text)")
        }
    }

    @Test("an IPv6 address that embeds an IPv4 address is of the same kind")
    func inner() throws {
        for prefix in ["::ffff:", "64:ff9b::"] {
            for text in ["127.0.0.1", "10.0.0.1", "192.88.99.1", "169.254.169.254", "8.8.8.8"] {
                let outer = try #require(NetworkAddress(prefix + text))
                let inner = try #require(NetworkAddress(text))
                #expect(outer.place == inner.place, "\(prefix)\(text)")
            }
        }
    }

    @Test("a malformed text and a wrong number of bytes are not read as an address")
    func none() {
        for text in ["", "127.1", "1.2.3.4.5", "fe80::1%eth0", "[::1]", "256.1.1.1", "01.2.3.4"] {
            #expect(NetworkAddress(text) == nil, "\(text)")
        }
        for count in [0, 3, 5, 15, 17] {
            #expect(NetworkAddress(bytes: [UInt8](repeating: 1, count: count)) == nil)
        }
    }
}
