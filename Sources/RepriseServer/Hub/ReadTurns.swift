import DequeModule

/// Decides which subscription of a connection reads the log: one at a time, round robin, and at
/// most two pages ahead of the transport.
///
/// So a thousand subscriptions of one connection load the log no more than one, and none starves.
/// Subscriptions that a person is looking at (`first`) precede all others until they are caught up.
package struct ReadTurns<Reader> {
    /// The most pages written but not yet taken by the transport: one is sent while the next is
    /// read.
    private static var pagesAhead: Int { 2 }

    private var first = Deque<Reader>()
    private var others = Deque<Reader>()
    private var isReading = false
    private var unsentPages = 0

    package init() {}

    /// A subscription queues for a read; it must queue once, see
    /// ``ServerSubscriptionMachine/asksForTurn()``.
    package mutating func asked(_ reader: Reader, first isFirst: Bool = false) {
        if isFirst { first.append(reader) } else { others.append(reader) }
    }

    /// A person is looking at a queued subscription now: it precedes the others.
    package mutating func preferred(_ isPreferred: (Reader) -> Bool) {
        guard let index = others.firstIndex(where: isPreferred) else { return }
        first.append(others.remove(at: index))
    }

    /// The subscription to read for; nil if none may read.
    package mutating func next(isWritable: Bool) -> Reader? {
        guard !isReading, isWritable, unsentPages < Self.pagesAhead else { return nil }
        return first.popFirst() ?? others.popFirst()
    }

    /// The read has started.
    package mutating func readStarted() { isReading = true }

    /// The read has ended, with any result.
    package mutating func readEnded() { isReading = false }

    package mutating func pageSent() { unsentPages += 1 }

    /// The transport has taken a page, or never will.
    package mutating func pageTaken() { unsentPages -= 1 }

    /// Subscriptions have ended; a read in flight continues.
    package mutating func left(_ isGone: (Reader) -> Bool) {
        first.removeAll(where: isGone)
        others.removeAll(where: isGone)
    }
}
