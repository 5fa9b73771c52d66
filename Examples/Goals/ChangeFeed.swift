import RepriseReminders
import Synchronization

/// Tells everybody who listens what was committed.
final class ChangeFeed: Sendable {
    private struct State {
        var nextID = 0
        var listeners: [Int: AsyncStream<ReminderChange>.Continuation] = [:]
    }

    private let state = Mutex(State())

    func tell(_ change: ReminderChange) {
        // Under the lock, so that everybody hears changes in the same order; yielding never waits.
        state.withLock { state in
            for listener in state.listeners.values {
                // Who listens slowly loses the oldest, and is told that it may have been anything.
                if case .dropped = listener.yield(change) { listener.yield(.everything) }
            }
        }
    }

    func listen() -> AsyncStream<ReminderChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ReminderChange.self, bufferingPolicy: .bufferingNewest(64))
        let id = state.withLock { state in
            state.nextID += 1
            state.listeners[state.nextID] = continuation
            return state.nextID
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { state in _ = state.listeners.removeValue(forKey: id) }
        }
        return stream
    }
}
