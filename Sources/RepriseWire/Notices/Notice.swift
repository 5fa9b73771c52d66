public import RepriseCore

/// A message, as far as it decides about what a person is shown.
public struct Notice: Hashable, Sendable, Identifiable {
    /// What brought it here.
    public enum Source: String, Hashable, Sendable, CaseIterable {
        /// A push, which the system or the service extension has at hand.
        case push
        /// The socket, as it was published.
        case live
        /// The socket, afterwards.
        case catchUp
    }

    /// The message's id: whatever brought it, it is one notice.
    public let id: EntryID
    /// Where it was published.
    public var channel: ChannelName
    /// Its sequence there.
    public var seq: Int64
    /// Who published it; nil: a server without accounts did not say.
    public var sender: UserID?
    /// Whether it names the person who is signed in.
    public var isMention: Bool
    /// Whether it was deleted since.
    public var isDeleted: Bool
    /// When it was published.
    public var published: WallTime
    /// What brought it here.
    public var source: Source

    /// Describes a message.
    ///
    /// - Parameters:
    ///   - id: the message's id.
    ///   - channel: where it was published.
    ///   - seq: its sequence there.
    ///   - sender: who published it.
    ///   - isMention: whether it names the person who is signed in.
    ///   - isDeleted: whether it was deleted since.
    ///   - published: when it was published.
    ///   - source: what brought it here.
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
