import RepriseCore
package import RepriseWire

/// The text of a message's notification, by the server's own rule: `notice`, else `title` and
/// `text`, else a generic one.
package struct NoticeText: Hashable, Sendable {
    package var title: String?
    package var body: String
    package var category: String?
    package var appearance = NoticeAppearance()

    /// The text for a message without any.
    package static let unspoken = "New message"

    /// Nil for a message with `"notice": false`.
    ///
    /// - Parameter json: the message's body.
    package init?(_ json: [UInt8]) {
        body = Self.unspoken
        let isWanted = try? json.withUnsafeBufferPointer { bytes -> Bool in
            var scanner = JSONScanner(bytes)
            let value = try scanner.value()
            switch value.kind {
            case .string: body = try scanner.string(value)
            case .object: return try read(try Envelope(bytes, fieldLimit: 256))
            case .array, .number, .literal: break
            }
            return true
        }
        if isWanted == false { return nil }
        title = title.map { Self.clean($0, NoticeLimits.titleBytes) }
        if title?.isEmpty == true { title = nil }
        body = Self.clean(body, 4 * NoticeLimits.titleBytes)
        if body.isEmpty { body = Self.unspoken }
    }

    private mutating func read(_ object: Envelope) throws -> Bool {
        title = Self.text(object, "title")
        if let text = Self.text(object, "text") { body = text }
        guard let notice = object.optional("notice") else { return true }
        if notice.kind == .literal {
            return object.scanner.raw(notice).first == UInt8(ascii: "t")
        }
        guard notice.kind == .object else { return true }
        try Array(object.scanner.raw(notice)).withUnsafeBufferPointer { bytes in
            let notice = try Envelope(bytes)
            title = Self.text(notice, "title") ?? title
            body = Self.text(notice, "body") ?? body
            appearance = NoticeAppearance(notice)
            category = Self.text(notice, "category").flatMap { $0.utf8.count <= 64 ? $0 : nil }
        }
        return true
    }

    private static func text(_ object: Envelope, _ name: StaticString) -> String? {
        guard object.optional(name)?.kind == .string else { return nil }
        return try? object.string(name)
    }

    /// Removes control characters of text direction, and cuts between characters.
    private static func clean(_ text: String, _ bytes: Int) -> String {
        var clean = ""
        var left = bytes
        for character in text {
            guard !character.unicodeScalars.contains(where: Self.isControl) else { continue }
            left -= character.utf8.count
            guard left >= 0 else { break }
            clean.append(character)
        }
        return clean
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0a: false
        case 0...0x1f, 0x7f, 0x202a...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
