/// The identity by which all paths of the same thing merge: push, socket, catch-up, extension.
///
/// 1 to 128 bytes of printable ASCII without space, `"` and `\`, so that an id can stand in a URL, a log line
/// and a JSON text as it is. Random ids have 128 bits, written as 32 hexadecimal digits: never a counter,
/// because a phone restored from a backup counts again.
public struct EntryID: Hashable, Sendable, CustomStringConvertible {
    /// The most bytes an id may have.
    public static let maximumBytes = 128

    /// The text.
    public let text: String

    /// Takes an id that exists already.
    ///
    /// - Parameter text: 1 to 128 bytes of printable ASCII without space, `"` and `\`.
    /// - Throws: ``RepriseError`` `.badID`.
    public init(_ text: String) throws {
        guard Self.isValid(text.utf8) else {
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

    /// For bytes in a frame; the generic one is not specialised across modules, and this runs once a message.
    package static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        (1...maximumBytes).contains(bytes.count)
            && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x5c }
    }

    package static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
        (1...maximumBytes).contains(bytes.count)
            && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x5c }
    }

    /// The text.
    public var description: String { text }
}
