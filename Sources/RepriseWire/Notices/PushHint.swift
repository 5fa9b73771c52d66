public import RepriseCore

/// The machine-readable part of a push: the member `reprise` of its payload.
///
/// A push is a hint and the log is the truth: a push changes no coverage and applies nothing. By
/// `id` it merges with the same message from the socket, from a catch-up and from an extension.
public struct PushHint: Hashable, Sendable {
    /// The purpose of a push.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A message, for a person.
        case alert
        /// Only the app icon's badge.
        case badge
        /// Banners of messages up to `seq` must be removed: they were read on another device.
        case dismiss
    }

    /// How many messages are unread in all channels of a user.
    public struct Badge: Hashable, Sendable {
        /// The count, at most ``WireLimits/unreadCounted``.
        public var count: Int64
        /// When it was counted, by the server's clock: a badge of an earlier count never replaces
        /// one of a later.
        public var asOf: WallTime

        /// Makes a badge.
        public init(count: Int64, asOf: WallTime) {
            self.count = count
            self.asOf = asOf
        }
    }

    /// The purpose of the push.
    public var kind: Kind
    /// The channel of the message.
    public var channel: ChannelName
    /// The message's sequence; for `dismiss` the user's read position.
    public var seq: Int64
    /// The channel's head when the push was made; the badge counts messages up to it.
    public var head: Int64
    /// The message; nil but for `alert`.
    public var id: EntryID?
    /// Its author; nil on a server without users.
    public var from: UserID?
    /// The user it is for: a device where another user is signed in by now ignores it.
    public var to: UserID?
    /// When it was stored.
    public var time: WallTime?
    /// The unread count, if it was counted.
    public var badge: Badge?
    /// The author's name for people, as the message says it.
    public var sender: String?
    /// The `https` address of the author's picture, as the message says it.
    public var picture: String?
    /// The channel's title; nil: none, as in a conversation of two.
    public var title: String?
    /// Whether the message mentions the user it is for.
    public var isMention = false
    /// Whether the text was cut, so that only the log has the full one.
    public var isCut = false

    /// Makes a hint.
    ///
    /// - Parameters:
    ///   - kind: the purpose of the push.
    ///   - channel: the channel of the message.
    ///   - seq: the message's sequence, or the user's read position.
    ///   - head: the channel's head.
    public init(kind: Kind, channel: ChannelName, seq: Int64, head: Int64) {
        self.kind = kind
        self.channel = channel
        self.seq = seq
        self.head = head
    }

    /// Reads the hint of a payload.
    ///
    /// - Parameter payload: a JSON object, unchanged.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for anything but the form of ``json``,
    ///   `.badID`, `.badChannelName`.
    public init(payload: [UInt8]) throws {
        self = try payload.withUnsafeBufferPointer { bytes in
            let whole = try Envelope(bytes)
            return try whole.raw("reprise").withUnsafeBufferPointer {
                try PushHint(try Envelope($0))
            }
        }
    }

    /// Whether it is for another user than this one; false if it names no user, or nobody is known.
    package func isForeign(to user: UserID?) -> Bool {
        guard let to, let user else { return false }
        return to != user
    }

    /// Adds what a message says of its author, and the title of its channel; nothing where it names
    /// none.
    package mutating func name(_ appearance: NoticeAppearance, in title: String?) {
        guard let name = appearance.sender, from != nil else { return }
        (sender, picture) = (name, appearance.picture)
        self.title = title.map { PushText.title($0, atMost: PushPayloadLimits.titleBytes) }
    }

    /// Whose message it is; nil: it names no author.
    package var conversation: NotificationConversation? {
        guard let from, let sender else { return nil }
        return NotificationConversation(
            id: channel.text, sender: from.text, name: sender, picture: picture, group: title)
    }

    private init(_ object: Envelope) throws {
        guard let kind = Kind(rawValue: try object.string("kind")) else {
            throw RepriseError(.malformed, "A push of an unknown kind.")
        }
        self.init(
            kind: kind, channel: try object.channel(), seq: try object.sequence("seq"),
            head: try object.sequence("head"))
        if object.optional("id") != nil { id = try object.id("id") }
        if object.optional("from") != nil { from = try object.user("from") }
        if object.optional("to") != nil { to = try object.user("to") }
        if object.optional("timestamp") != nil { time = try object.time("timestamp") }
        if object.optional("badge") != nil {
            badge = Badge(count: try object.sequence("badge"), asOf: try object.time("asOf"))
        }
        if object.optional("sender") != nil { sender = try object.string("sender") }
        if object.optional("picture") != nil { picture = try object.string("picture") }
        if object.optional("title") != nil { title = try object.string("title") }
        isMention = try object.bool("mention")
        isCut = try object.bool("cut")
    }

    /// The hint as the value of `reprise`.
    public var json: [UInt8] {
        var writer = JSONWriter(reserving: 256)
        write(to: &writer)
        return writer.bytes
    }

    package func write(to json: inout JSONWriter) {
        json.object { hint in
            hint.key("kind")
            hint.plain(kind.rawValue)
            hint.key("channelId")
            hint.plain(channel.text)
            hint.key("seq")
            hint.integer(seq)
            hint.key("head")
            hint.integer(head)
            hint.member("id", id) { $0.plain($1.text) }
            hint.member("from", from) { $0.plain($1.text) }
            hint.member("to", to) { $0.plain($1.text) }
            hint.member("timestamp", time) { $0.integer($1.milliseconds) }
            hint.member("badge", badge) { $0.integer($1.count) }
            hint.member("asOf", badge) { $0.integer($1.asOf.milliseconds) }
            hint.member("sender", sender) { $0.string($1) }
            hint.member("picture", picture) { $0.string($1) }
            hint.member("title", title) { $0.string($1) }
            hint.member("mention", isMention ? true : nil) { $0.bool($1) }
            hint.member("cut", isCut ? true : nil) { $0.bool($1) }
        }
    }
}
