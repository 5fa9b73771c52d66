public import RepriseCore

/// What a client sends.
///
/// `docs/protocol.md` describes each frame.
public enum ClientFrame: Hashable, Sendable {
    /// The first frame of every connection.
    public struct Hello: Hashable, Sendable {
        /// The version of the protocol that this code speaks.
        public static let currentVersion: Int64 = 1
        /// The version the client speaks.
        public var version: Int64
        /// Which device this is; the same after a restart of the app.
        public var device: EntryID
        /// Name and version of the client, for the server's log.
        public var client: String
        /// Who it is: a JSON Web Token, where the server asks for one.
        public var token: AccessToken?

        /// Makes a hello.
        public init(
            version: Int64 = currentVersion, device: EntryID, client: String,
            token: AccessToken? = nil
        ) {
            self.version = version
            self.device = device
            self.client = client
            self.token = token
        }
    }

    /// One channel of a `subscribe`.
    public struct Subscription: Hashable, Sendable {
        /// The channel.
        public var channel: ChannelName
        /// The epoch that the coverage belongs to; nil if the device has none.
        public var epoch: Epoch?
        /// What the device has accounted for.
        public var coverage: Coverage
        /// Whether it is caught up before the connection's other channels: a person looks at it.
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
        /// The message that must be stored before this one, if there is one.
        public var after: EntryID?
        /// What it does to an earlier message; nil for a message of its own.
        public var change: MessageChange<EntryID>?
        /// JSON text, as it is to be stored; `null` for a deletion.
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
        /// All up to here is read; nil says nothing about it.
        public var read: Int64?
        /// All up to here is on this device, without a hole; nil says nothing about it.
        public var delivered: Int64?

        /// Makes a receipt.
        public init(channel: ChannelName, read: Int64? = nil, delivered: Int64? = nil) {
            self.channel = channel
            self.read = read
            self.delivered = delivered
        }
    }

    /// The first frame.
    case hello(Hello)
    /// Asks for all that is missing and for what comes; a second one for a channel asks again for
    /// its holes.
    case subscribe([Subscription])
    /// Ends subscriptions.
    case unsubscribe([ChannelName])
    /// Stores a message.
    case publish(Publish)
    /// Moves positions forward; one that would go back changes nothing.
    case receipt(Receipt)
    /// The user begins, goes on, or stops to type.
    case typing(ChannelName, isTyping: Bool)
    /// A fresh token in the place of one that ends.
    case authenticate(AccessToken)
}
