package import RepriseWire

/// Decides which heads a heartbeat carries to which connections: those changed since the last one,
/// and only to connections that were sent everything below them.
package struct Heartbeats<Connection: Hashable> {
    private let interval: Duration
    private var nextAt: Duration
    private var changed: Set<ChannelName> = []

    package init(interval: Duration, now: Duration) {
        self.interval = interval
        nextAt = now + interval
    }

    /// Events of the channel were sent.
    package mutating func eventsCame(in channel: ChannelName) { changed.insert(channel) }

    /// The channel has no subscribers left.
    package mutating func interestEnded(in channel: ChannelName) { changed.remove(channel) }

    /// Time has passed.
    ///
    /// A channel stays changed for the next heartbeat while one of its subscribers waits for events
    /// below its head. `subscribers` gives each subscriber of a channel, with the head that it may
    /// be sent.
    ///
    /// - Returns: the heads to send; nil if it is not time yet.
    package mutating func ticked<Subscribers: Sequence>(
        now: Duration, subscribers: (ChannelName) -> Subscribers
    ) -> [Connection: [ChannelName: Int64]]?
    where Subscribers.Element == (connection: Connection, head: Int64?) {
        guard now >= nextAt else { return nil }
        nextAt = now + interval
        var heads: [Connection: [ChannelName: Int64]] = [:]
        var untold: Set<ChannelName> = []
        for channel in changed {
            for (connection, head) in subscribers(channel) {
                if let head {
                    heads[connection, default: [:]][channel] = head
                } else {
                    untold.insert(channel)
                }
            }
        }
        changed = untold
        return heads
    }
}
