/// Text as the name of a file or a folder: RFC 4648 §6 in small letters, without padding.
package enum Base32 {
    private static let letters = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    package static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        var (bits, count) = (0, 0)
        for byte in text.utf8 {
            bits = bits << 8 | Int(byte)
            count += 8
            while count >= 5 {
                count -= 5
                encoded.append(letters[bits >> count & 31])
            }
            bits &= 1 << count - 1
        }
        if count > 0 { encoded.append(letters[bits << (5 - count) & 31]) }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// - Returns: nil if nothing encodes to this.
    package static func decode(_ name: some StringProtocol) -> String? {
        var decoded: [UInt8] = []
        var (bits, count) = (0, 0)
        for letter in name.utf8 {
            guard let value = letters.firstIndex(of: letter) else { return nil }
            bits = bits << 5 | value
            count += 5
            if count >= 8 {
                count -= 8
                decoded.append(UInt8(bits >> count & 255))
            }
            bits &= 1 << count - 1
        }
        guard let text = String(validating: decoded, as: UTF8.self), encode(text) == name else {
            return nil
        }
        return text
    }
}
