import DequeModule

/// Decides which connections are flushed in one event-loop tick, and whether another follows.
///
/// A flush is a system call, and a commit may owe one to thousands of connections. Flushing all in
/// one tick would delay reads and therefore commits. A tick flushes a few; frames for a connection
/// that still waits go out with the same call.
package struct FlushTurns<Connection> {
    /// The flushes per tick: less than a millisecond's worth.
    package static var most: Int { 64 }

    private var waiting = Deque<Connection>()
    private var flushed = 0
    private var isScheduled = false

    package init() {}

    /// Queues a connection that has written; it is flushed after those before it.
    package mutating func join(_ connection: Connection) { waiting.append(connection) }

    /// The next connection to flush; nil if this tick has flushed enough.
    package mutating func next() -> Connection? {
        guard flushed < Self.most, let next = waiting.popFirst() else { return nil }
        flushed += 1
        return next
    }

    /// Ends a tick, which may be one between scheduled ones.
    ///
    /// - Returns: whether to schedule another.
    package mutating func ended() -> Bool {
        flushed = 0
        guard !waiting.isEmpty, !isScheduled else { return false }
        isScheduled = true
        return true
    }

    /// The scheduled tick begins.
    package mutating func began() { isScheduled = false }
}
