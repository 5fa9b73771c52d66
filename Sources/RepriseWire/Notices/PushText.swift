/// Sanitizes untrusted text for a banner: no controls, no unterminated bidi formatting, a bounded
/// number of bytes.
package enum PushText {
    /// The most nested direction changes; deeper ones are removed.
    package static let openDirections = 8
    private static let ellipsis = "…"

    /// A title: one line, without bidi formatting that affects text beside it.
    package static func title(_ text: String, atMost bytes: Int) -> String {
        if isPlain(text), jsonBytes(text) <= bytes { return text }
        var kept = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !isDirection(scalar) {
            if !isControl(scalar) {
                kept.append(scalar)
            } else if scalar == "\n" || scalar == "\t" {
                kept.append(" ")
            }
        }
        return cut(String(kept), toJSONBytes: bytes).text
    }

    /// Whether a text is one line, without what ``title(_:atMost:)`` removes.
    package static func isLine(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { !isControl($0) && !isDirection($0) }
    }

    /// A text without controls, in which every direction change ends.
    package static func clean(_ text: String) -> String {
        if isPlain(text) { return text }
        var kept = String.UnicodeScalarView()
        var open: [Unicode.Scalar] = []
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x202a, 0x202b, 0x202d, 0x202e:
                guard open.count < openDirections else { continue }
                open.append("\u{202c}")
            case 0x2066...0x2068:
                guard open.count < openDirections else { continue }
                open.append("\u{2069}")
            case 0x202c, 0x2069:
                // An unmatched end could terminate the system's own formatting around the text.
                guard open.last == scalar else { continue }
                open.removeLast()
            default:
                guard !isControl(scalar) || scalar == "\n" else { continue }
            }
            kept.append(scalar)
        }
        kept.append(contentsOf: open.reversed())
        return String(kept)
    }

    /// A banner's text within a number of bytes of JSON text.
    ///
    /// - Returns: the text, cut at a grapheme boundary, and whether it was cut.
    package static func body(
        _ text: String, atMost bytes: Int
    ) -> (text: String, isCut: Bool) {
        let whole = clean(text)
        if jsonBytes(whole) <= bytes { return (whole, false) }
        // Space for the terminators at the cut: three bytes each.
        let cut = cut(whole, toJSONBytes: bytes - 3 * openDirections)
        return (clean(cut.text), cut.isCut)
    }

    private static func cut(
        _ text: String, toJSONBytes bytes: Int
    ) -> (text: String, isCut: Bool) {
        var used = 0
        var end = text.startIndex
        // Space for an ellipsis.
        let room = bytes - ellipsis.utf8.count
        for index in text.indices {
            used += jsonBytes(text[index])
            if used <= room { end = text.index(after: index) }
            if used > bytes { return (String(text[..<end]) + (room < 0 ? "" : ellipsis), true) }
        }
        return (text, false)
    }

    /// The number of bytes of a text between the quotes of JSON.
    package static func jsonBytes(_ text: some StringProtocol) -> Int {
        text.utf8.reduce(0) { $0 + jsonBytes($1) }
    }

    private static func jsonBytes(_ character: Character) -> Int {
        character.utf8.reduce(0) { $0 + jsonBytes($1) }
    }

    private static func jsonBytes(_ byte: UInt8) -> Int {
        switch byte {
        case 0x0a, UInt8(ascii: "\""), UInt8(ascii: "\\"): 2
        case 0..<0x20: 6
        default: 1
        }
    }

    /// Whether a text needs no sanitizing: printable ASCII only.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value)
            || scalar.value == 0x2028 || scalar.value == 0x2029
    }

    /// Whether it begins or ends a change of direction.
    ///
    /// A mark (LRM, RLM, ALM) acts on what is beside it as a letter does, and stays.
    private static func isDirection(_ scalar: Unicode.Scalar) -> Bool {
        (0x202a...0x202e).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
    }
}
