/// Detects invalid UTF-8 in pieces of bytes as early as possible (RFC 3629 §4).
struct UTF8Check: Sendable {
    /// The number of missing bytes of the current character.
    private var left = 0
    /// The allowed values of the next byte.
    private var allowed: ClosedRange<UInt8> = 0x80...0xbf

    /// Whether no character is incomplete.
    var isWhole: Bool { left == 0 }

    /// Takes the next piece.
    ///
    /// - Returns: whether all bytes so far are a prefix of valid UTF-8.
    mutating func take(_ bytes: ArraySlice<UInt8>) -> Bool { bytes.allSatisfy { take($0) } }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard left == 0 else {
            guard allowed.contains(byte) else { return false }
            left -= 1
            allowed = 0x80...0xbf
            return true
        }
        switch byte {
        case 0x00...0x7f: break
        case 0xc2...0xdf: left = 1
        case 0xe0: (left, allowed) = (2, 0xa0...0xbf)
        case 0xed: (left, allowed) = (2, 0x80...0x9f)
        case 0xe1...0xef: left = 2
        case 0xf0: (left, allowed) = (3, 0x90...0xbf)
        case 0xf1...0xf3: left = 3
        case 0xf4: (left, allowed) = (3, 0x80...0x8f)
        default: return false
        }
        return true
    }
}
