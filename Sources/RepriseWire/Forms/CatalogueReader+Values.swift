import Foundation

/// Single values; each reader notes a problem and returns nil for an invalid one.
extension CatalogueReader {
    /// A text of so many characters.
    mutating func text(
        _ value: Value, _ count: ClosedRange<Int> = 1...FormsLimits.textCharacters
    ) -> String? {
        guard value.kind == .string, let text = try? scanner.string(value) else {
            note("A text is expected: \"…\".", at: value)
            return nil
        }
        let length = text.unicodeScalars.count
        guard count.contains(length) else {
            note(
                length == 0
                    ? "This text must not be empty."
                    : "This has \(length) characters; there may be \(count.upperBound).", at: value)
            return nil
        }
        return text
    }

    /// An id, a version, or a name by the same rule.
    mutating func id(_ value: Value, atMost most: Int = FormsLimits.idCharacters) -> String? {
        guard value.kind == .string, let text = try? scanner.string(value) else {
            note("A name is expected: \"…\".", at: value)
            return nil
        }
        guard Self.isID(text, atMost: most) else {
            note("A name has 1 to \(most) letters, digits or . _ -.", at: value)
            return nil
        }
        return text
    }

    /// The rule for ids: `[A-Za-z0-9._-]`.
    static func isID(_ text: String, atMost most: Int = FormsLimits.idCharacters) -> Bool {
        (1...most).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// The name of an event.
    mutating func event(_ value: Value) -> String? {
        id(value, atMost: FormsLimits.eventCharacters)
    }

    /// One of the given words.
    mutating func word(_ value: Value, of words: [String]) -> String? {
        guard value.kind == .string, let text = try? scanner.string(value), words.contains(text)
        else {
            note("This is one of: \(words.listed).", at: value)
            return nil
        }
        return text
    }

    /// A double has 17 significant digits: a number with hundreds is an error.
    private static let numberBytes = 400

    /// A number that a program of any language can hold.
    mutating func number(_ value: Value) -> Double? {
        guard value.kind == .number else {
            note("A number is expected.", at: value)
            return nil
        }
        guard value.range.count <= Self.numberBytes,
            let number = Double(String(decoding: scanner.raw(value), as: UTF8.self)),
            number.isFinite
        else {
            note("This number is too large.", at: value)
            return nil
        }
        return number
    }

    /// A whole number, as JavaScript understands it: 1.0 is one.
    mutating func integer(_ value: Value, _ range: ClosedRange<Int64>) -> Int64? {
        guard value.kind == .number, value.range.count <= Self.numberBytes,
            let number = Double(String(decoding: scanner.raw(value), as: UTF8.self)),
            number == number.rounded(), abs(number) <= Double(WireLimits.greatestSequence),
            range.contains(Int64(number))
        else {
            note(
                "A whole number from \(range.lowerBound) to \(range.upperBound) is expected.",
                at: value)
            return nil
        }
        return Int64(number)
    }

    mutating func bool(_ value: Value) -> Bool? {
        let word = scanner.raw(value).first
        guard value.kind == .literal, word != UInt8(ascii: "n") else {
            note("true or false is expected.", at: value)
            return nil
        }
        return word == UInt8(ascii: "t")
    }

    /// Properties of an event, of which only the size is checked.
    mutating func properties(_ value: Value) -> Bool? {
        guard value.kind == .object else {
            note("Properties are an object: {…}.", at: value)
            return nil
        }
        guard value.range.count <= FormsLimits.propertyBytes else {
            note(
                "These properties have \(value.range.count) bytes; there may be "
                    + "\(FormsLimits.propertyBytes).", at: value)
            return nil
        }
        return true
    }

    // MARK: URLs

    private static let unsafeSchemes = ["javascript", "data", "vbscript", "file", "blob"]

    /// A button's target: any scheme that opens something, none that runs code.
    mutating func deepLink(_ value: Value) -> String? {
        guard let url = text(value, 1...FormsLimits.urlCharacters) else { return nil }
        let scheme = url.prefix { $0 != ":" }
        guard let first = scheme.utf8.first, (0x61...0x7a).contains(first),
            scheme.utf8.allSatisfy(Self.isOfScheme), scheme.utf8.count + 1 < url.utf8.count,
            Self.isPlain(url)
        else {
            note("A link is expected, as in app://cart; its scheme in small letters.", at: value)
            return nil
        }
        guard !Self.unsafeSchemes.contains(String(scheme)) else {
            note("A link must not begin with \(scheme): it could run something.", at: value)
            return nil
        }
        return url
    }

    /// A picture: over TLS, or in the catalogue itself.
    mutating func picture(_ value: Value) -> String? {
        guard let url = text(value, 1...FormsLimits.catalogueBytes) else { return nil }
        guard !url.hasPrefix("data:") else { return inlinePicture(url, value) }
        let host = url.dropFirst(8).prefix { !"/?#".contains($0) }
        guard url.hasPrefix("https://"), !host.isEmpty, Self.isPlain(url),
            url.utf8.count <= FormsLimits.urlCharacters
        else {
            note(
                "A picture has a URL that begins with https:// or data:image/…;base64, and at most "
                    + "\(FormsLimits.urlCharacters) characters.", at: value)
            return nil
        }
        return url
    }

    private mutating func inlinePicture(_ url: String, _ value: Value) -> String? {
        let parts = url.utf8.split(separator: UInt8(ascii: ","), maxSplits: 1)
        guard parts.count == 2, url.hasPrefix("data:image/"), parts[0].count > 18,
            parts[0].reversed().starts(with: ";base64".utf8.reversed()),
            parts[0].dropFirst(11).dropLast(7).allSatisfy(Self.isOfScheme),
            Self.isBase64(parts[1])
        else {
            note("A picture in the catalogue is data:image/TYPE;base64,….", at: value)
            return nil
        }
        return url
    }

    private static func isBase64(_ text: Substring.UTF8View) -> Bool {
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return text.count.isMultiple(of: 4) && padding <= 2
            && text.dropLast(padding).allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "+"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
    }

    private static func isOfScheme(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x61...0x7a, UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "-"): true
        default: false
        }
    }

    /// No space and no control character, which browsers drop and other readers keep.
    private static func isPlain(_ url: String) -> Bool {
        url.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f }
    }
}
