import RepriseCommandLine
import RepriseWire

/// The body of a chat message: `{"text":…}`, with the mentions of its `@names`.
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

    /// The users of the text's `@names`, without what ends a sentence; those after the 50th are
    /// text alone.
    var mentions: [UserID] {
        var users: [UserID] = []
        for word in text.split(whereSeparator: \.isWhitespace) where word.first == "@" {
            var name = word.dropFirst()
            while let last = name.last, ".,:;!?)".contains(last) { name.removeLast() }
            guard let user = try? UserID(String(name)), !users.contains(user) else { continue }
            users.append(user)
        }
        return Array(users.prefix(Mentions.limit))
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { json in
            json.key("text")
            json.string(text)
        }
        let body = try? Mentions.add(mentions, to: writer.bytes)
        return String(decoding: body ?? writer.bytes, as: UTF8.self)
    }
}
