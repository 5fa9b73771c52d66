import DequeModule
import Synchronization

/// Events that wait, in order, for one reader.
///
/// ```swift
/// mailbox.open()
/// while let event = await mailbox.next() { take(event) }  // until the task is cancelled
/// for event in mailbox.close() { giveBack(event) }
/// ```
///
/// Not an `AsyncStream`: that loses its unread elements when its reader is cancelled, and here
/// callers wait for an answer to each. Its senders bound it, by what they have in flight.
package final class Mailbox<Event: Sendable>: Sendable {
    private struct State {
        var isOpen = false
        var events: Deque<Event> = []
        /// The reader has an event, and has not asked for the next.
        var isTaken = false
        var isEnded = false
        /// One for each run: a cancelled reader must not consume the next one's wake-up.
        let signal = Signal()
    }

    private let state = Mutex(State())
    private let merge: @Sendable (inout Event, Event) -> Bool

    /// - Parameter merge: merges an event into the last one that waits; false: it waits itself.
    package init(merge: @escaping @Sendable (inout Event, Event) -> Bool = { _, _ in false }) {
        self.merge = merge
    }

    package func open() { state.withLock { $0 = State(isOpen: true) } }

    /// - Returns: the unread events; later ones are refused.
    package func close() -> [Event] {
        state.withLock { state in
            defer { state = State() }
            return Array(state.events)
        }
    }

    /// The reader gets no more; ``close()`` returns what is left.
    package func end() {
        let signal = state.withLock { state in
            state.isEnded = true
            return state.signal
        }
        signal.raise()
    }

    /// Whether nothing waits, and the reader is done with what it has taken.
    package var isIdle: Bool { state.withLock { $0.events.isEmpty && !$0.isTaken } }

    /// - Returns: whether the mailbox is open.
    @discardableResult
    package func put(_ event: Event) -> Bool {
        let signal: Signal? = state.withLock { state in
            guard state.isOpen else { return nil }
            let isMerged = state.events.indices.last.map { merge(&state.events[$0], event) }
            if isMerged != true { state.events.append(event) }
            return state.signal
        }
        signal?.raise()
        return signal != nil
    }

    /// Waits for an event.
    ///
    /// - Returns: nil when the task is cancelled, or after ``end()``; ``close()`` then returns what
    ///   is left.
    package func next() async -> Event? {
        while !Task.isCancelled {
            let (event, signal) = state.withLock { state -> (Event?, Signal?) in
                let event = state.isEnded ? nil : state.events.popFirst()
                state.isTaken = event != nil
                return (event, state.isEnded ? nil : state.signal)
            }
            if let event { return event }
            guard let signal else { return nil }
            await signal.wait()
        }
        return nil
    }
}
