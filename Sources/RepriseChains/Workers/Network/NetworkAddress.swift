import Foundation

/// An IP address, as numbers.
struct NetworkAddress: Hashable, Sendable {
    /// Who is behind an address, as far as that matters for who may be asked.
    enum Place: Hashable, Sendable {
        case world
        /// A network of somebody's own: RFC 1918, RFC 6598, RFC 4193, RFC 2544.
        case privateNetwork
        /// This machine, this link, everybody, nobody, or the metadata of a cloud's machine.
        case never(String)
    }

    /// 4 bytes, or 16.
    let bytes: [UInt8]

    /// - Parameter text: four decimal numbers with dots, or IPv6 as in RFC 4291; no zone.
    init?(_ text: String) {
        var (four, six) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            bytes = withUnsafeBytes(of: six) { Array($0) }
        } else {
            return nil
        }
    }

    private init(four: ArraySlice<UInt8>) { bytes = Array(four) }

    /// Who is behind it.
    var place: Place { bytes.count == 4 ? placeOfFour : placeOfSix }

    private var placeOfFour: Place {
        switch (bytes[0], bytes[1]) {
        case (0, _): .never("the unspecified address")
        case (127, _): .never("this machine")
        case (169, 254): .never("the link itself")
        case (224...239, _): .never("a group of machines")
        case (240..., _): .never("no machine")
        case (10, _), (172, 16...31), (192, 168), (100, 64...127), (198, 18...19): .privateNetwork
        case (192, 0) where bytes[2] == 0: .privateNetwork
        default: .world
        }
    }

    private var placeOfSix: Place {
        if let inner { return inner.place }
        if bytes.dropLast().allSatisfy({ $0 == 0 }) {
            switch bytes[15] {
            case 0: return .never("the unspecified address")
            case 1: return .never("this machine")
            default: break
            }
        }
        // Where a cloud's machine asks for its own secrets over IPv6.
        if Array(bytes[0..<4]) == [0xfd, 0x00, 0x0e, 0xc2] { return .never("a cloud's metadata") }
        switch (bytes[0], bytes[1]) {
        case (0xfe, 0x80...0xbf): return .never("the link itself")
        case (0xff, _): return .never("a group of machines")
        case (0xfe, 0xc0...0xff), (0xfc...0xfd, _): return .privateNetwork
        default: return .world
        }
    }

    /// The IPv4 address in this one: mapped and compatible (RFC 4291), translated (RFC 6052, RFC 8215), 6to4 (RFC 3056).
    private var inner: NetworkAddress? {
        let head = Array(bytes[0..<12])
        let zeros = [UInt8](repeating: 0, count: 10)
        if head == zeros + [0xff, 0xff] { return NetworkAddress(four: bytes[12...]) }
        if head == zeros + [0, 0], bytes[12] != 0 { return NetworkAddress(four: bytes[12...]) }
        if Array(bytes[0..<4]) == [0x00, 0x64, 0xff, 0x9b] {
            return NetworkAddress(four: bytes[12...])
        }
        if bytes[0] == 0x20, bytes[1] == 0x02 { return NetworkAddress(four: bytes[2..<6]) }
        return nil
    }
}
