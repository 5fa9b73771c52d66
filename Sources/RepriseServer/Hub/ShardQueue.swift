package import RepriseWire

/// Decides which events wait for an event loop: in order of arrival, with a limit on live ones.
///
/// One tick handles all of them. Live events beyond the limit are dropped and their subscribers
/// read the log, once per channel, because a queue must not grow when commits outpace fan-out.
package struct ShardQueue<LoopEvent> {
    private let waitingBytes: Int
    private var events: [LoopEvent] = []
    private var liveBytes = 0
    /// Channels whose live events were dropped.
    private var missed: Set<ChannelName> = []
    private var isScheduled = false

    /// - Parameter waitingBytes: the most bytes of waiting live events.
    package init(waitingBytes: Int) { self.waitingBytes = waitingBytes }

    /// - Returns: whether to schedule a tick that drains the queue.
    package mutating func post(_ event: LoopEvent) -> Bool {
        events.append(event)
        return schedule()
    }

    /// Accepts live events, or drops them and notes their channels.
    ///
    /// - Returns: whether to schedule a tick.
    package mutating func post(
        live event: LoopEvent, bytes: Int, of channels: some Sequence<ChannelName>
    ) -> Bool {
        if liveBytes > 0, liveBytes + bytes > waitingBytes {
            missed.formUnion(channels)
        } else {
            liveBytes += bytes
            events.append(event)
        }
        return schedule()
    }

    /// Drains the events, and the channels that missed some, which follow all events.
    package mutating func open() -> (events: [LoopEvent], missed: Set<ChannelName>) {
        defer { self = ShardQueue(waitingBytes: waitingBytes) }
        return (events, missed)
    }

    private mutating func schedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }
}
