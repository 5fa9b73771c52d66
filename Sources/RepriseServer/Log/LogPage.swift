package import RepriseWire

/// A channel's state.
package struct LogChannelState: Hashable, Sendable {
    package var epoch: Epoch
    /// The newest sequence; 0 before the first message.
    package var head: Int64
    /// The newest sequence removed by retention; 0 if none was.
    package var floor: Int64

    package init(epoch: Epoch, head: Int64, floor: Int64) {
        self.epoch = epoch
        self.head = head
        self.floor = floor
    }
}

/// A part of a channel, with the floor and the head of the same snapshot.
package struct LogPage: Hashable, Sendable {
    package var events: [ServerFrame.Event]
    package var gone: [Gone]
    package var state: LogChannelState
    /// The page covers everything requested up to and including this sequence.
    package var through: Int64

    package init(
        events: [ServerFrame.Event], gone: [Gone], state: LogChannelState, through: Int64
    ) {
        self.events = events
        self.gone = gone
        self.state = state
        self.through = through
    }
}
