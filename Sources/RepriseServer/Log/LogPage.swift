package import RepriseWire

/// Where a channel stands.
package struct ChannelState: Hashable, Sendable {
    package var epoch: Epoch
    /// The newest sequence; 0 before the first message.
    package var head: Int64
    /// The newest sequence that retention has taken away; 0 if it took none.
    package var floor: Int64

    package init(epoch: Epoch, head: Int64, floor: Int64) {
        self.epoch = epoch
        self.head = head
        self.floor = floor
    }
}

/// A part of a channel, with the floor and the head that were true when it was read.
package struct LogPage: Hashable, Sendable {
    package var events: [ServerFrame.Event]
    package var gone: [Gone]
    package var state: ChannelState
    /// Everything that was asked for up to and including this sequence is answered by this page.
    package var through: Int64

    package init(
        events: [ServerFrame.Event], gone: [Gone], state: ChannelState, through: Int64
    ) {
        self.events = events
        self.gone = gone
        self.state = state
        self.through = through
    }
}
