package import RepriseWire

/// Decides which events wait for an event loop: in order of arrival, with a limit on live ones.
///
/// One tick handles all of them. Live events beyond the limit are dropped and their subscribers
/// read the log, once per channel, because a queue must not grow when commits outpace fan-out.
package struct Mailbox<LoopEvent> {
    private let waitingBytes: Int
    private var letters: [LoopEvent] = []
    private var liveBytes = 0
    /// Channels whose live events were dropped.
    private var missed: Set<ChannelName> = []
    private var isScheduled = false

    /// - Parameter waitingBytes: the most bytes of waiting live events.
    package init(waitingBytes: Int) { self.waitingBytes = waitingBytes }

    /// - Returns: whether to schedule a tick that drains the mailbox.
    package mutating func post(_ letter: LoopEvent) -> Bool {
        letters.append(letter)
        return schedule()
    }

    /// Accepts live events, or drops them and notes their channels.
    ///
    /// - Returns: whether to schedule a tick.
    package mutating func post(
        live letter: LoopEvent, bytes: Int, of channels: some Sequence<ChannelName>
    ) -> Bool {
        if liveBytes > 0, liveBytes + bytes > waitingBytes {
            missed.formUnion(channels)
        } else {
            liveBytes += bytes
            letters.append(letter)
        }
        return schedule()
    }

    /// Drains the events, and the channels that missed some, which follow all events.
    package mutating func open() -> (letters: [LoopEvent], missed: Set<ChannelName>) {
        defer { self = Mailbox(waitingBytes: waitingBytes) }
        return (letters, missed)
    }

    private mutating func schedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }
}
