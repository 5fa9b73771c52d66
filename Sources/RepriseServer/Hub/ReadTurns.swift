/// Decides which subscription of a connection reads the log: one at a time, in turns, and never
/// more than two pages ahead of what the transport has taken.
///
/// So a thousand subscriptions of one connection cost the log no more than one, and none of them
/// starves another. Those that a person looks at (`first`) are the exception: they go before all
/// others, until they are caught up.
package struct ReadTurns<Reader> {
    /// Pages that may be written before the transport has taken them: one is sent while the next is
    /// read.
    private static var pagesAhead: Int { 2 }

    private var first = Line<Reader>()
    private var others = Line<Reader>()
    private var isReading = false
    private var unsentPages = 0

    package init() {}

    /// A subscription asks for its turn; it is to ask once, see
    /// ``SubscriptionMachine/asksForTurn()``.
    package mutating func asked(_ reader: Reader, first isFirst: Bool = false) {
        if isFirst { first.join(reader) } else { others.join(reader) }
    }

    /// One that waits is looked at by a person now: it goes before the others.
    package mutating func preferred(_ isPreferred: (Reader) -> Bool) {
        guard let reader = others.leave(isPreferred) else { return }
        first.join(reader)
    }

    /// Whose turn it is now; nil if nobody may read.
    package mutating func next(isWritable: Bool) -> Reader? {
        guard !isReading, isWritable, unsentPages < Self.pagesAhead else { return nil }
        return first.next() ?? others.next()
    }

    /// The log was asked for whoever had the turn.
    package mutating func readStarted() { isReading = true }

    /// The log has answered, whatever it said.
    package mutating func readEnded() { isReading = false }

    package mutating func pageSent() { unsentPages += 1 }

    /// The transport has taken a page, or never will.
    package mutating func pageTaken() { unsentPages -= 1 }

    /// Subscriptions have ended; a read that is under way goes on.
    package mutating func left(_ isGone: (Reader) -> Bool) {
        first.leaveAll(isGone)
        others.leaveAll(isGone)
    }
}
