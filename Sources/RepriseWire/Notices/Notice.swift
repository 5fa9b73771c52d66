public import RepriseCore

/// The properties of a message that decide how it is shown.
public struct Notice: Hashable, Sendable, Identifiable {
    /// The path on which it arrived.
    public enum Source: String, Hashable, Sendable, CaseIterable {
        /// A push, handled by the system or the service extension.
        case push
        /// The socket, live.
        case live
        /// The socket, in a catch-up.
        case catchUp
    }

    /// The message's id: one notice, whatever its path.
    public let id: EntryID
    /// Its channel.
    public var channel: ChannelName
    /// Its sequence in the channel.
    public var seq: Int64
    /// Its author; nil: a server without accounts.
    public var sender: UserID?
    /// Whether it mentions the signed-in user.
    public var isMention: Bool
    /// Whether it was deleted since.
    public var isDeleted: Bool
    /// When it was published.
    public var published: WallTime
    /// The path on which it arrived.
    public var source: Source

    /// Describes a message.
    ///
    /// - Parameters:
    ///   - id: the message's id.
    ///   - channel: its channel.
    ///   - seq: its sequence in the channel.
    ///   - sender: its author.
    ///   - isMention: whether it mentions the signed-in user.
    ///   - isDeleted: whether it was deleted since.
    ///   - published: when it was published.
    ///   - source: the path on which it arrived.
    public init(
        id: EntryID, channel: ChannelName, seq: Int64, sender: UserID?, isMention: Bool = false,
        isDeleted: Bool = false, published: WallTime, source: Source
    ) {
        self.id = id
        self.channel = channel
        self.seq = seq
        self.sender = sender
        self.isMention = isMention
        self.isDeleted = isDeleted
        self.published = published
        self.source = source
    }
}
