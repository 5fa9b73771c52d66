import DequeModule

/// Decides which connections use the log's readers: a limited number at a time, others in FIFO
/// order.
///
/// A connection queues one read at a time (``ReadTurns``), so FIFO is fair between connections: one
/// that catches up a thousand channels gets the same share as one with a single channel.
package struct ReadSlots<Read> {
    private let slots: Int
    private var busy = 0
    private var waiting = Deque<Read>()

    /// - Parameter slots: the most concurrent reads.
    package init(slots: Int) { self.slots = max(1, slots) }

    /// The number of waiting reads.
    package var waitingCount: Int { waiting.count }

    /// - Returns: the read, if it may begin now; nil if it waits.
    package mutating func asked(_ read: Read) -> Read? {
        guard busy < slots else {
            waiting.append(read)
            return nil
        }
        busy += 1
        return read
    }

    /// A read has ended.
    ///
    /// - Returns: the next read.
    package mutating func ended() -> Read? {
        guard let next = waiting.popFirst() else {
            busy -= 1
            return nil
        }
        return next
    }
}

extension ReadSlots: Sendable where Read: Sendable {}
