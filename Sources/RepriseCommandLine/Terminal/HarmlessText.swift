import RepriseCore

/// Output without terminal control characters.
///
/// Foreign text is escaped where it is put into a line (``Swift/String/printable``); this is the
/// second barrier for all output. It writes `\u009b`, which JSON reads as the same character.
package enum HarmlessText {
    /// The bytes with control characters and those that turn the direction of text as `\uXXXX`.
    ///
    /// Line breaks, tabs and our own colours stay; bytes that are not UTF-8 become U+FFFD.
    package static func bytes(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(where: isSuspect) else { return bytes }
        return Array(text(String(decoding: bytes, as: UTF8.self)).utf8)
    }

    /// The same for a text.
    package static func text(_ text: String) -> String {
        guard text.utf8.contains(where: isSuspect) else { return text }
        var output = ""
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if scalar == "\u{1b}", let colour = colour(at: rest) {
                output.unicodeScalars.append(scalar)
                output.unicodeScalars.append(contentsOf: colour)
                rest = rest[colour.endIndex...]
            } else if scalar.isControl, scalar != "\n", scalar != "\t" {
                output += escape(scalar)
            } else {
                output.unicodeScalars.append(scalar)
            }
        }
        return output
    }

    /// Whether the byte can begin an escaped character, or is not ASCII.
    private static func isSuspect(_ byte: UInt8) -> Bool {
        byte >= 0x7f || (byte < 0x20 && byte != 0x0a && byte != 0x09)
    }

    /// The rest of a colour sequence of ``Terminal/paint(_:_:)`` after ESC.
    private static func colour(at rest: Substring.UnicodeScalarView)
        -> Substring.UnicodeScalarView?
    {
        guard rest.first == "[", let end = rest.firstIndex(of: "m") else { return nil }
        let digits = rest[rest.index(after: rest.startIndex)..<end]
        guard (1...2).contains(digits.count), digits.allSatisfy({ ("0"..."9").contains($0) })
        else { return nil }
        return rest[...end]
    }

    /// As JSON writes it; all of them have at most four digits.
    private static func escape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
