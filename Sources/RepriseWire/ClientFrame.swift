public import RepriseCore

/// A frame that a client sends.
///
/// `docs/protocol.md` describes each frame.
public enum ClientFrame: Hashable, Sendable {
    /// The first frame of every connection.
    public struct Hello: Hashable, Sendable {
        /// The version of the protocol that this code speaks.
        public static let currentVersion: Int64 = 1
        /// The version the client speaks.
        public var version: Int64
        /// The device's identity; the same after a restart of the app.
        public var device: EntryID
        /// Name and version of the client, for the server's log.
        public var client: String
        /// The user's JSON Web Token, if the server requires one.
        public var token: AccessToken?
        /// Whether the device connects without being in use, as when a push has woken it.
        public var isIdle: Bool

        /// Makes a hello.
        public init(
            version: Int64 = currentVersion, device: EntryID, client: String,
            token: AccessToken? = nil, isIdle: Bool = false
        ) {
            self.version = version
            self.device = device
            self.client = client
            self.token = token
            self.isIdle = isIdle
        }
    }

    /// One channel of a `subscribe`.
    public struct Subscription: Hashable, Sendable {
        /// The channel.
        public var channel: ChannelName
        /// The epoch that the coverage belongs to; nil if the device has none.
        public var epoch: Epoch?
        /// The sequences that the device has accounted for.
        public var coverage: Coverage
        /// Whether it is caught up before the connection's other channels: it is visible.
        public var isFirst: Bool

        /// Makes a subscription.
        public init(
            channel: ChannelName, epoch: Epoch?, coverage: Coverage, isFirst: Bool = false
        ) {
            self.channel = channel
            self.epoch = epoch
            self.coverage = coverage
            self.isFirst = isFirst
        }
    }

    /// A message to store.
    public struct Publish: Hashable, Sendable {
        /// The channel.
        public var channel: ChannelName
        /// The idempotency key.
        public var id: EntryID
        /// The message that must be stored before this one, if any.
        public var after: EntryID?
        /// Its change to an earlier message; nil for a message of its own.
        public var change: MessageChange<EntryID>?
        /// JSON text, stored byte for byte; `null` for a deletion.
        public var body: [UInt8]

        /// Makes a publish.
        public init(
            channel: ChannelName, id: EntryID, after: EntryID? = nil,
            change: MessageChange<EntryID>? = nil, body: [UInt8]
        ) {
            self.channel = channel
            self.id = id
            self.after = after
            self.change = change
            self.body = body
        }
    }

    /// How far this user has read a channel, and how far this device has received it.
    public struct Receipt: Hashable, Sendable {
        /// The channel.
        public var channel: ChannelName
        /// Everything up to here is read; nil: unspecified.
        public var read: Int64?
        /// Everything up to here is on this device, without a hole; nil: unspecified.
        public var delivered: Int64?

        /// Makes a receipt.
        public init(channel: ChannelName, read: Int64? = nil, delivered: Int64? = nil) {
            self.channel = channel
            self.read = read
            self.delivered = delivered
        }
    }

    /// A channel whose members' presence the device shows.
    public struct Watch: Hashable, Sendable {
        /// The channel.
        public var channel: ChannelName
        /// The members who are shown, at most ``WireLimits/watchedUsers``; nil: all others.
        public var users: [UserID]?

        /// Makes a watch.
        public init(channel: ChannelName, users: [UserID]? = nil) {
            self.channel = channel
            self.users = users
        }
    }

    /// The first frame.
    case hello(Hello)
    /// Requests all missing and future messages; a second one for a channel requests its holes
    /// again.
    case subscribe([Subscription])
    /// Ends subscriptions.
    case unsubscribe([ChannelName])
    /// Stores a message.
    case publish(Publish)
    /// Moves positions forward; a lower position changes nothing.
    case receipt(Receipt)
    /// The user starts, continues or stops typing.
    case typing(ChannelName, isTyping: Bool)
    /// The device is in use, or idle; never ``PresenceState/offline``.
    case presence(PresenceState)
    /// All channels whose presence the device shows from now on; another replaces it.
    case watch([Watch])
    /// Replaces a token that is about to end.
    case authenticate(AccessToken)
}
