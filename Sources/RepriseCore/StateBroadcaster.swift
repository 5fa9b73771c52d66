import Synchronization

/// A value that others observe: its current value first, then each change.
///
/// Each observer buffers the newest changes; older ones are dropped.
package final class StateBroadcaster<Value: Equatable & Sendable>: Sendable {
    private let state: Mutex<Value>
    private let streams: ValueStreams<Value>

    package init(_ value: Value, newest: Int = CoreLimits.observedChanges) {
        state = Mutex(value)
        streams = ValueStreams(newest: newest)
    }

    package var value: Value { state.withLock { $0 } }

    /// - Returns: whether it is another one.
    @discardableResult
    package func announce(_ value: Value) -> Bool {
        // Under the lock, so that a new observer misses none.
        state.withLock { state in
            guard value != state else { return false }
            state = value
            streams.send(value)
            return true
        }
    }

    package func watch() -> AsyncStream<Value> { state.withLock { streams.open(with: $0) } }
}
