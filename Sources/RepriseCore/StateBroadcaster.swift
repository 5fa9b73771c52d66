import Synchronization

/// A value that others observe: its current value first, then each change.
///
/// Buffers the newest 64 changes; older ones are dropped.
package final class StateBroadcaster<Value: Equatable & Sendable>: Sendable {
    private struct State {
        var value: Value
        var nextID = 0
        var watchers: [Int: AsyncStream<Value>.Continuation] = [:]
    }

    private let state: Mutex<State>

    package init(_ value: Value) { state = Mutex(State(value: value)) }

    package var value: Value { state.withLock { $0.value } }

    package func announce(_ value: Value) {
        // Under the lock, so that all observers see the same order; yielding never waits.
        state.withLock { state in
            guard value != state.value else { return }
            state.value = value
            for watcher in state.watchers.values { watcher.yield(value) }
        }
    }

    package func watch() -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Value.self, bufferingPolicy: .bufferingNewest(64))
        let id = state.withLock { state in
            state.nextID += 1
            state.watchers[state.nextID] = continuation
            continuation.yield(state.value)
            return state.nextID
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { state in _ = state.watchers.removeValue(forKey: id) }
        }
        return stream
    }
}
