/// A message's displayed content, from its body.
///
/// | body | shown |
/// |---|---|
/// | a string | the string |
/// | an object with `text` | the text; `title` too |
/// | an object with `notice: {title, body, category, ttl}` | these, in place of title and text |
/// | an object with `notice: false` | nothing: the message is not pushed |
/// | anything else | a generic text |
///
/// Further members of `notice`: ``NoticeAppearance``.
package struct PushContent: Hashable, Sendable {
    package var title: String?
    package var body: String
    package var category: String?
    package var life: Duration
    package var appearance = NoticeAppearance()

    /// The text of a message without displayable content.
    package static let unspoken = "New message"

    /// Nil for a message that is not pushed.
    ///
    /// - Parameter body: JSON, as stored.
    package init?(_ body: [UInt8]) {
        self.body = Self.unspoken
        life = PushPayloadLimits.life
        let wanted = try? body.withUnsafeBufferPointer { bytes -> Bool in
            var scanner = JSONScanner(bytes)
            let value = try scanner.value()
            switch value.kind {
            case .string: self.body = try scanner.string(value)
            case .object: return try read(try Envelope(bytes, fieldLimit: 256))
            case .array, .number, .literal: break
            }
            return true
        }
        if wanted == false { return nil }
        if PushText.clean(self.body).isEmpty { self.body = Self.unspoken }
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
            category = Self.text(notice, "category").flatMap { $0.utf8.count <= 64 ? $0 : nil }
            appearance = NoticeAppearance(notice)
            if let seconds = try? notice.sequence("ttl"), notice.optional("ttl") != nil {
                life = min(.seconds(seconds), PushPayloadLimits.lifeLongest)
            }
        }
        return true
    }

    private static func text(_ object: Envelope, _ name: StaticString) -> String? {
        guard object.optional(name)?.kind == .string else { return nil }
        return try? object.string(name)
    }
}
