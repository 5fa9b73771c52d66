/// Decides who uses the log's readers: so many at a time, the others in the order in which they
/// asked.
///
/// A connection asks for one read at a time (``ReadTurns``), so first come, first served is fair
/// between connections: with a thousand channels to catch up one has the same share as another with
/// a single channel.
package struct ReadSlots<Read> {
    private let slots: Int
    private var busy = 0
    private var waiting = Line<Read>()

    /// - Parameter slots: how many read at a time.
    package init(slots: Int) { self.slots = max(1, slots) }

    /// How many wait.
    package var waitingCount: Int { waiting.count }

    /// - Returns: the read, if it may begin now; otherwise it waits.
    package mutating func asked(_ read: Read) -> Read? {
        guard busy < slots else {
            waiting.join(read)
            return nil
        }
        busy += 1
        return read
    }

    /// A read has ended.
    ///
    /// - Returns: the read that takes its place.
    package mutating func ended() -> Read? {
        guard let next = waiting.next() else {
            busy -= 1
            return nil
        }
        return next
    }
}

extension ReadSlots: Sendable where Read: Sendable {}
