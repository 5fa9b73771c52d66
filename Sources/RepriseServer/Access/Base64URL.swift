/// Base64 with the alphabet for URLs and without padding (RFC 4648 §5), in canonical form only.
enum Base64URL {
    /// Decodes a text.
    ///
    /// - Parameter text: only characters of the alphabet; non-zero trailing bits are refused as not
    ///   canonical.
    /// - Returns: the bytes; nil for an invalid text.
    static func decoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for character in text {
            guard let value = value(of: character) else { return nil }
            bits = bits << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
                bits &= 1 << count - 1
            }
        }
        // Six leftover bits are an extra character.
        return count < 6 && bits == 0 ? bytes : nil
    }

    static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for byte in bytes {
            bits = (bits << 8 | UInt32(byte)) & 0xffff
            count += 8
            while count >= 6 {
                count -= 6
                text.append(alphabet[Int(bits >> count) & 63])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (6 - count)) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case 0x41...0x5a: UInt32(character - 0x41)
        case 0x61...0x7a: UInt32(character - 0x61 + 26)
        case 0x30...0x39: UInt32(character - 0x30 + 52)
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
