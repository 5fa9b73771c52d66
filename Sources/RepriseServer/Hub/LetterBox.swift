package import RepriseWire

/// Decides what waits for an event loop: letters in the order in which they came, and not too many
/// live events.
///
/// All that waits is handled in one turn. Live events beyond the bound are not taken in; instead
/// those who listen are told to ask the log, once for each channel, because a queue must not grow
/// when commits are faster than fan-out.
package struct LetterBox<Letter> {
    private let waitingBytes: Int
    private var letters: [Letter] = []
    private var liveBytes = 0
    /// Channels of which live events were not taken in.
    private var missed: Set<ChannelName> = []
    private var isScheduled = false

    /// - Parameter waitingBytes: the most bytes of live events that wait.
    package init(waitingBytes: Int) { self.waitingBytes = waitingBytes }

    /// - Returns: whether a turn is to be scheduled, at which the box is opened.
    package mutating func post(_ letter: Letter) -> Bool {
        letters.append(letter)
        return schedule()
    }

    /// Takes live events in, or notes that they were missed.
    ///
    /// - Returns: whether a turn is to be scheduled.
    package mutating func post(
        live letter: Letter, bytes: Int, of channels: some Sequence<ChannelName>
    ) -> Bool {
        if liveBytes > 0, liveBytes + bytes > waitingBytes {
            missed.formUnion(channels)
        } else {
            liveBytes += bytes
            letters.append(letter)
        }
        return schedule()
    }

    /// Takes out what waits, and the channels that were missed; these come behind all letters.
    package mutating func open() -> (letters: [Letter], missed: Set<ChannelName>) {
        defer { self = LetterBox(waitingBytes: waitingBytes) }
        return (letters, missed)
    }

    private mutating func schedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }
}
