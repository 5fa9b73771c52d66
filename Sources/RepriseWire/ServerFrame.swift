public import RepriseCore

/// A frame that the server sends.
///
/// `docs/protocol.md` describes each frame.
public enum ServerFrame: Hashable, Sendable {
    /// The answer to `hello`.
    public struct Welcome: Hashable, Sendable {
        /// The version of the protocol that the server speaks.
        public var version: Int64
        /// The server's time.
        public var time: WallTime
        /// The interval of heartbeats.
        public var heartbeat: Duration
        /// Name and version of the server.
        public var server: String
        /// The user that the server takes the client for; nil on a server without users.
        public var session: Session?
        /// The channel that tells the user's conversations; nil on a server without users, or one
        /// that does not tell them.
        public var directory: ChannelName?
        /// Whether the server tells presence.
        public var hasPresence: Bool

        /// Makes a welcome.
        public init(
            version: Int64, time: WallTime, heartbeat: Duration, server: String,
            session: Session? = nil, directory: ChannelName? = nil, hasPresence: Bool = false
        ) {
            self.version = version
            self.time = time
            self.heartbeat = heartbeat
            self.server = server
            self.session = session
            self.directory = directory
            self.hasPresence = hasPresence
        }
    }

    /// The connected user, and the end of the session.
    public struct Session: Hashable, Sendable {
        /// The user.
        public var user: UserID
        /// When the token expires: the connection ends with it, unless another token arrives
        /// before.
        public var expires: WallTime

        /// Makes a session.
        public init(user: UserID, expires: WallTime) {
            self.user = user
            self.expires = expires
        }
    }

    /// A catch-up begins: the next frames tile the complement of the device's coverage up to
    /// `head`.
    public struct Subscribed: Hashable, Sendable {
        /// The channel.
        public var channel: ChannelName
        /// The epoch of its log.
        public var epoch: Epoch
        /// The target: the newest sequence at this moment.
        public var head: Int64
        /// The newest sequence that retention has removed; 0 without any.
        public var floor: Int64
        /// The device's positions are void although the epoch is the same: it claims more than the
        /// log has.
        public var reset: Bool
        /// The number of the answered `subscribe`; nil if that had none, or none was sent.
        public var request: Int64?

        /// Makes a subscribed.
        public init(
            channel: ChannelName, epoch: Epoch, head: Int64, floor: Int64, reset: Bool = false,
            request: Int64? = nil
        ) {
            self.channel = channel
            self.epoch = epoch
            self.head = head
            self.floor = floor
            self.reset = reset
            self.request = request
        }
    }

    /// A message, which accounts for the range (prev, seq].
    public struct Event: Hashable, Sendable {
        /// The channel.
        public var channel: ChannelName
        /// Its sequence.
        public var seq: Int64
        /// The sequence before it when it was stored; on the wire only if it is not `seq - 1`.
        public var prev: Int64
        /// Its id.
        public var id: EntryID
        /// When the server stored it.
        public var time: WallTime
        /// Its author; nil on a server without users.
        public var from: UserID?
        /// Its change to an earlier message, by sequence; nil for a message of its own.
        public var change: MessageChange<Int64>?
        /// Whether it was deleted since: then the body is `null`, and the sequence stays.
        public var isDeleted: Bool
        /// JSON text, byte for byte as it was published; `null` for a deletion and for a deleted
        /// message.
        public var body: [UInt8]

        /// Makes an event.
        public init(
            channel: ChannelName, seq: Int64, prev: Int64, id: EntryID, time: WallTime,
            from: UserID? = nil, change: MessageChange<Int64>? = nil, isDeleted: Bool = false,
            body: [UInt8]
        ) {
            self.channel = channel
            self.seq = seq
            self.prev = prev
            self.id = id
            self.time = time
            self.from = from
            self.change = change
            self.isDeleted = isDeleted
            self.body = body
        }
    }

    /// The catch-up is complete once the device's coverage reaches `through`.
    public struct SyncComplete: Hashable, Sendable {
        /// The channel.
        public var channel: ChannelName
        /// The epoch of its log.
        public var epoch: Epoch
        /// The target.
        public var through: Int64
        /// The server's time.
        public var time: WallTime

        /// Makes a sync_complete.
        public init(channel: ChannelName, epoch: Epoch, through: Int64, time: WallTime) {
            self.channel = channel
            self.epoch = epoch
            self.through = through
            self.time = time
        }
    }

    /// A message is stored durably; a repeated publish gets the same answer.
    public struct Published: Hashable, Sendable {
        /// The channel.
        public var channel: ChannelName
        /// The message's id.
        public var id: EntryID
        /// Its sequence.
        public var seq: Int64

        /// Makes a published.
        public init(channel: ChannelName, id: EntryID, seq: Int64) {
            self.channel = channel
            self.id = id
            self.seq = seq
        }
    }

    /// A publish (with `id`) or a subscribe (without) is refused.
    public struct Refused: Hashable, Sendable {
        /// The channel, as the client wrote it.
        public var channel: String?
        /// The message's id, if a publish is refused.
        public var id: String?
        /// The reason, for programs.
        public var code: RefusalCode
        /// The reason, for people.
        public var message: String
        /// For a temporary code: the wait before a retry.
        public var retryAfter: Duration?
        /// The number of the refused `subscribe`; nil if it had none.
        public var request: Int64?

        /// Makes a refused.
        public init(
            channel: String?, id: String?, code: RefusalCode, message: String,
            retryAfter: Duration? = nil, request: Int64? = nil
        ) {
            self.channel = channel
            self.id = id
            self.code = code
            self.message = message
            self.retryAfter = retryAfter
            self.request = request
        }
    }

    /// How far a user has read a channel, and how far any of the user's devices has received it.
    public struct Position: Hashable, Sendable {
        /// The user.
        public var user: UserID
        /// Everything up to here is read.
        public var read: Int64
        /// Everything up to here is on one of the user's devices.
        public var delivered: Int64

        /// Makes a position.
        public init(user: UserID, read: Int64, delivered: Int64) {
            self.user = user
            self.read = read
            self.delivered = delivered
        }
    }

    /// The positions of a channel's users at the start of a subscription.
    public struct Positions: Hashable, Sendable {
        /// The channel.
        public var channel: ChannelName
        /// The user of this connection first, then others: at most ``WireLimits/positions``.
        public var positions: [Position]
        /// The unread count of this connection's user.
        public var unread: Unread

        /// Makes positions.
        public init(channel: ChannelName, positions: [Position], unread: Unread) {
            self.channel = channel
            self.positions = positions
            self.unread = unread
        }
    }

    /// The presence of users: all of a watched channel, or what has changed.
    public struct Presence: Hashable, Sendable {
        /// The channel whose watch this answers, with all who are shown; nil: changes.
        public var channel: ChannelName?
        /// The users; none where the watch is refused.
        public var users: [UserPresence]
        /// Why the presence of the channel is not told; nil: it is.
        public var refusal: RefusalCode?

        /// Makes a presence.
        public init(
            channel: ChannelName? = nil, users: [UserPresence], refusal: RefusalCode? = nil
        ) {
            self.channel = channel
            self.users = users
            self.refusal = refusal
        }
    }

    /// The answer to `hello`.
    case welcome(Welcome)
    /// A catch-up begins.
    case subscribed(Subscribed)
    /// A message.
    case event(Event)
    /// A range that will never arrive.
    case gone(channel: ChannelName, Gone)
    /// All messages missing at `subscribed` have been sent.
    case syncComplete(SyncComplete)
    /// The heads that changed since the last heartbeat.
    case heartbeat(time: WallTime, heads: [ChannelName: Int64])
    /// A message is stored.
    case published(Published)
    /// A request is refused; without an id it ends an open subscription.
    case refused(Refused)
    /// A fresh token was accepted.
    case authenticated(Session)
    /// The positions of a channel's users, right after `subscribed`.
    case positions(Positions)
    /// A user's positions have moved: also the client's own user's, as the answer to a receipt.
    case receipt(channel: ChannelName, Position)
    /// Another user starts or continues typing, for `expires` at most, or has stopped.
    case typing(channel: ChannelName, user: UserID, isTyping: Bool, expires: Duration)
    /// The presence of a watched channel's users, or changes of it.
    case presence(Presence)
    /// Why the connection will be closed right after this frame.
    case error(code: CloseCode, message: String)
}
