/// Decides who is flushed in one turn of an event loop, and whether there is to be another.
///
/// A flush is a call of the system, and a commit may owe one to thousands. Were all of them flushed
/// in one turn, nothing would be read meanwhile, and what is published would wait for the whole of
/// it before it could even be committed. So a turn has a few; and what comes for somebody who still
/// waits goes out with the same call.
package struct FlushTurns<Connection> {
    /// How many are flushed in one turn: less than a millisecond's worth.
    package static var most: Int { 64 }

    private var waiting = Line<Connection>()
    private var flushed = 0
    private var isScheduled = false

    package init() {}

    /// It has written, and is flushed once all that waited before it are.
    package mutating func join(_ connection: Connection) { waiting.join(connection) }

    /// Who is flushed now; nil: enough for this turn.
    package mutating func next() -> Connection? {
        guard flushed < Self.most, let next = waiting.next() else { return nil }
        flushed += 1
        return next
    }

    /// Ends a turn, which may be one between those that were scheduled.
    ///
    /// - Returns: whether another is to be scheduled.
    package mutating func ended() -> Bool {
        flushed = 0
        guard !waiting.isEmpty, !isScheduled else { return false }
        isScheduled = true
        return true
    }

    /// The scheduled turn begins.
    package mutating func began() { isScheduled = false }
}
