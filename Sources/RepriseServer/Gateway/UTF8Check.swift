/// Tells as early as possible that bytes which come in pieces are not UTF-8 (RFC 3629 §4).
struct UTF8Check: Sendable {
    /// How many bytes of the character are still to come.
    private var left = 0
    /// What the next of them may be.
    private var allowed: ClosedRange<UInt8> = 0x80...0xbf

    /// Whether no character is begun.
    var isWhole: Bool { left == 0 }

    /// Takes the next piece.
    ///
    /// - Returns: whether all until now may be the beginning of a text.
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
