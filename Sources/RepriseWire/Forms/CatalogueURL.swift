/// The URLs of a catalogue: targets of buttons, and pictures.
enum CatalogueURL {
    typealias Value = JSONScanner.Value

    private static let unsafeSchemes = ["javascript", "data", "vbscript", "file", "blob"]

    /// A button's target: any scheme that opens something, none that runs code.
    static func deepLink(_ json: inout CheckedJSON, _ value: Value) -> String? {
        guard let url = json.text(value, 1...FormsLimits.urlCharacters) else { return nil }
        let scheme = url.prefix { $0 != ":" }
        guard let first = scheme.utf8.first, (0x61...0x7a).contains(first),
            scheme.utf8.allSatisfy(Self.isOfScheme), scheme.utf8.count + 1 < url.utf8.count,
            Self.isPlain(url)
        else {
            json.note(
                "A link is expected, as in app://cart; its scheme in small letters.", at: value)
            return nil
        }
        guard !Self.unsafeSchemes.contains(String(scheme)) else {
            json.note("A link must not begin with \(scheme): it could run something.", at: value)
            return nil
        }
        return url
    }

    /// A picture: over TLS, or in the catalogue itself.
    static func picture(_ json: inout CheckedJSON, _ value: Value) -> String? {
        guard let url = json.text(value, 1...FormsLimits.catalogueBytes) else { return nil }
        guard !url.hasPrefix("data:") else { return inlinePicture(&json, url, value) }
        let host = url.dropFirst(8).prefix { !"/?#".contains($0) }
        guard url.hasPrefix("https://"), !host.isEmpty, Self.isPlain(url),
            url.utf8.count <= FormsLimits.urlCharacters
        else {
            json.note(
                "A picture has a URL that begins with https:// or data:image/…;base64, and at most "
                    + "\(FormsLimits.urlCharacters) characters.", at: value)
            return nil
        }
        return url
    }

    private static func inlinePicture(_ json: inout CheckedJSON, _ url: String, _ value: Value)
        -> String?
    {
        let parts = url.utf8.split(separator: UInt8(ascii: ","), maxSplits: 1)
        guard parts.count == 2, url.hasPrefix("data:image/"), parts[0].count > 18,
            parts[0].reversed().starts(with: ";base64".utf8.reversed()),
            parts[0].dropFirst(11).dropLast(7).allSatisfy(Self.isOfScheme),
            Self.isBase64(parts[1])
        else {
            json.note("A picture in the catalogue is data:image/TYPE;base64,….", at: value)
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
