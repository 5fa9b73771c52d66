import RepriseWire

/// What a chat message carries: `{"text":…}`.
///
/// Who said it is the server's word, in the event's `from`.
///
/// Any other JSON is a message too, so that `reprise publish` can say something.
struct ChatBody: Hashable, Sendable {
    /// Who said something where the server asks nobody.
    static let nobody = "somebody"

    var text: String

    init(text: String) { self.text = text }

    init(_ json: [UInt8]) {
        text = (try? JSONMembers(json))?.text("text") ?? MessagePrinter.words(json)
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { json in
            json.key("text")
            json.string(text)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
