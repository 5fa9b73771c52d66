package import RepriseCore
package import RepriseWire

/// A receipt to store: positions only move forward.
package struct PositionMove: Hashable, Sendable {
    package var channel: ChannelName
    package var user: UserID
    /// The device that has received the messages; nil for a receipt over HTTP.
    package var device: EntryID?
    /// At most the channel's head, to which the caller clamps it; nil leaves it unchanged.
    package var read: Int64?
    /// Likewise.
    package var delivered: Int64?

    package init(
        channel: ChannelName, user: UserID, device: EntryID?, read: Int64? = nil,
        delivered: Int64? = nil
    ) {
        self.channel = channel
        self.user = user
        self.device = device
        self.read = read
        self.delivered = delivered
    }
}
