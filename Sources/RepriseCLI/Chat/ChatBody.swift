import RepriseCommandLine
import RepriseWire

/// The body of a chat message: `{"text":…}`.
///
/// The server names its sender, in the event's `from`.
///
/// Any other JSON is a message too, so that `reprise publish` can be used.
struct ChatBody: Hashable, Sendable {
    /// The sender on a server without authentication.
    static let nobody = "somebody"

    var text: String

    init(text: String) { self.text = text }

    init(_ json: [UInt8]) {
        text = (try? HTTPMembers(json))?.text("text") ?? MessagePrinter.words(json)
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
