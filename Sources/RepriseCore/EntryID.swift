/// The identity by which all paths of one event merge: push, socket, catch-up, extension.
///
/// 1 to 128 bytes of printable ASCII without space, `"` and `\`, so that an id can stand in a URL,
/// a log line and a JSON text as it is. Random ids have 128 bits, written as 32 hexadecimal digits:
/// never a counter, because a phone restored from a backup counts again.
public struct EntryID: Hashable, Sendable, CustomStringConvertible {
    /// The most bytes an id may have.
    public static let maximumBytes = 128

    /// 1 to 128 bytes of printable ASCII.
    public let text: String

    /// Takes an existing id.
    ///
    /// - Parameter text: 1 to 128 bytes of printable ASCII without space, `"` and `\`.
    /// - Throws: ``RepriseError`` `.badID`.
    public init(_ text: String) throws {
        var text = text
        guard text.withUTF8({ Self.isValid($0) }) else {
            throw RepriseError(
                .badID,
                "An id must have 1 to 128 printable ASCII characters, none of them a "
                    + "space, a quote or a backslash.")
        }
        self.text = text
    }

    package init(unchecked text: String) { self.text = text }

    /// A new random id of 128 bits.
    public static func random() -> EntryID {
        var generator = SystemRandomNumberGenerator()
        return random(using: &generator)
    }

    package static func random(using generator: inout some RandomNumberGenerator) -> EntryID {
        let digits = Array("0123456789abcdef".utf8)
        let words: [UInt64] = [generator.next(), generator.next()]
        let text = String(unsafeUninitializedCapacity: 32) { bytes in
            for index in 0..<32 {
                let nibble = words[index / 16] >> UInt64(60 - 4 * (index % 16)) & 0xf
                bytes[index] = digits[Int(nibble)]
            }
            return 32
        }
        return EntryID(unchecked: text)
    }

    /// The same id for the same text, for names that are not ids: 128-bit FNV-1a after `prefix`.
    package static func hash(of text: String, prefix: String) -> EntryID {
        var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
        for byte in text.utf8 {
            hash ^= UInt128(byte)
            hash &*= 0x0000_0000_0100_0000_0000_0000_0000_013b
        }
        // `String(_:radix:)` divides 128 bits by 16 for each digit: ten times as long.
        let digits = String(unsafeUninitializedCapacity: 32) { digits in
            for place in 0..<32 {
                let digit = UInt8(truncatingIfNeeded: hash &>> UInt128(124 - 4 * place)) & 15
                let letter = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                digits.initializeElement(at: place, to: letter)
            }
            return 32
        }
        return EntryID(unchecked: prefix + digits)
    }

    /// Concrete, not generic: the decoder calls this for every message, across a module's border.
    package static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard (1...maximumBytes).contains(bytes.count) else { return false }
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            guard byte > 0x20, byte < 0x7f, byte != 0x22, byte != 0x5c else { return false }
            index += 1
        }
        return true
    }

    /// The text.
    public var description: String { text }
}
