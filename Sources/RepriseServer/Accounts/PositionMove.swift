package import RepriseCore
package import RepriseWire

/// A receipt as it is to be stored: positions only move forward.
package struct PositionMove: Hashable, Sendable {
    package var channel: ChannelName
    package var user: UserID
    /// Where the messages have been delivered; nil for a receipt that came by HTTP.
    package var device: EntryID?
    /// At most the channel's head, to which the caller clamps it; nil says nothing about it.
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
