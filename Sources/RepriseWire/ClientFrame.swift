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

        /// Makes a hello.
        public init(version: Int64 = currentVersion, device: EntryID, client: String) {
            self.version = version
            self.device = device
            self.client = client
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

        /// Makes a subscription.
        public init(channel: ChannelName, epoch: Epoch?, coverage: Coverage) {
            self.channel = channel
            self.epoch = epoch
            self.coverage = coverage
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
        /// JSON text, as it is to be stored.
        public var body: [UInt8]

        /// Makes a publish.
        public init(channel: ChannelName, id: EntryID, after: EntryID? = nil, body: [UInt8]) {
            self.channel = channel
            self.id = id
            self.after = after
            self.body = body
        }
    }

    /// The first frame.
    case hello(Hello)
    /// Asks for all that is missing and for what comes; a second one for a channel asks again for its holes.
    case subscribe([Subscription])
    /// Ends subscriptions.
    case unsubscribe([ChannelName])
    /// Stores a message.
    case publish(Publish)
}
