package import RepriseCore
package import RepriseWire

/// A service's progress through a channel's messages.
package struct FanOutScan: Hashable, Sendable {
    package var channel: ChannelName
    /// The message up to which all members are done.
    package var through: Int64
    /// The message up to which this scan goes; nil if not yet set.
    package var target: Int64?
    /// The member up to which this scan is done; empty at its beginning.
    package var user: String
}

/// A message that members may be pushed about.
package struct PushCandidate: Hashable, Sendable {
    package var seq: Int64
    package var id: EntryID
    package var from: UserID?
    package var expires: WallTime
    package var mentions: Mentions

    package init(
        seq: Int64, id: EntryID, from: UserID?, expires: WallTime,
        mentions: Mentions = Mentions(in: [])
    ) {
        self.seq = seq
        self.id = id
        self.from = from
        self.expires = expires
        self.mentions = mentions
    }
}
