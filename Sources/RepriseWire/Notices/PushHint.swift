public import RepriseCore

/// What a push says to a program: the member `reprise` of its payload.
///
/// A push is a hint and the log is the truth: it never covers and never applies. By `id` it merges
/// with the same message from the socket, from a catch-up and from an extension.
public struct PushHint: Hashable, Sendable {
    /// What a push is for.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A message, for a person.
        case alert
        /// Nothing but the figure at the app's icon.
        case badge
        /// Banners of messages up to `seq` are to be taken away: they were read on another device.
        case dismiss
    }

    /// How many messages are unread in all channels of a user.
    public struct Badge: Hashable, Sendable {
        /// How many, at most ``WireLimits/unreadCounted``.
        public var count: Int64
        /// When it was counted, by the server's clock: a badge of an earlier count never takes the
        /// place of one of a later.
        public var asOf: WallTime

        /// Makes a badge.
        public init(count: Int64, asOf: WallTime) {
            self.count = count
            self.asOf = asOf
        }
    }

    /// What the push is for.
    public var kind: Kind
    /// The channel of the message.
    public var channel: ChannelName
    /// The message's sequence; for `dismiss` how far the user has read.
    public var seq: Int64
    /// The channel's head when the push was made; the badge counts messages up to it.
    public var head: Int64
    /// The message; nil but for `alert`.
    public var id: EntryID?
    /// Who published it; nil where the server asks nobody who he is.
    public var from: UserID?
    /// For whom it is: on a device where somebody else is signed in by now it is nobody's.
    public var to: UserID?
    /// When it was stored.
    public var time: WallTime?
    /// What is unread, if it was counted.
    public var badge: Badge?
    /// Whether the text was cut, so that the full one is left to the log.
    public var isCut = false

    /// Makes a hint.
    ///
    /// - Parameters:
    ///   - kind: what the push is for.
    ///   - channel: the channel of the message.
    ///   - seq: the message's sequence, or how far the user has read.
    ///   - head: the channel's head.
    public init(kind: Kind, channel: ChannelName, seq: Int64, head: Int64) {
        self.kind = kind
        self.channel = channel
        self.seq = seq
        self.head = head
    }

    /// Reads the hint of a payload.
    ///
    /// - Parameter payload: a JSON object, as it came.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for whatever is not what ``json``
    ///   writes, `.badID`, `.badChannelName`.
    public init(payload: [UInt8]) throws {
        self = try payload.withUnsafeBufferPointer { bytes in
            let whole = try Envelope(bytes)
            return try whole.raw("reprise").withUnsafeBufferPointer {
                try PushHint(try Envelope($0))
            }
        }
    }

    /// Whether it is for somebody else than this user; of one that names nobody, or where nobody is
    /// known, it is not said.
    package func isForeign(to user: UserID?) -> Bool {
        guard let to, let user else { return false }
        return to != user
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
            if let id {
                hint.key("id")
                hint.plain(id.text)
            }
            if let from {
                hint.key("from")
                hint.plain(from.text)
            }
            if let to {
                hint.key("to")
                hint.plain(to.text)
            }
            if let time {
                hint.key("timestamp")
                hint.integer(time.milliseconds)
            }
            if let badge {
                hint.key("badge")
                hint.integer(badge.count)
                hint.key("asOf")
                hint.integer(badge.asOf.milliseconds)
            }
            if isCut {
                hint.key("cut")
                hint.bool(true)
            }
        }
    }
}
