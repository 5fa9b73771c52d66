import RepriseWire

/// What a chat message carries: `{"text":…,"by":…}`.
///
/// `by` is what the sender calls himself: it counts where the server does not know who it was. A JSON string is a message
/// too, so that `reprise publish` can say something.
struct ChatBody: Hashable, Sendable {
    var text: String
    var by: String?

    init(text: String, by: String?) {
        self.text = text
        self.by = by
    }

    init(_ json: [UInt8]) {
        let members = try? JSONMembers(json)
        text = members?.text("text") ?? MessagePrinter.words(json)
        by = members?.text("by")
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { json in
            json.key("text")
            json.string(text)
            if let by {
                json.key("by")
                json.string(by)
            }
        }
        return writer.bytes
    }
}
