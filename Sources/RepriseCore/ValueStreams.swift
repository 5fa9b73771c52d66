import Synchronization

/// Streams of the same values, one for each observer.
///
/// Each buffers the newest values; older ones are dropped.
package final class ValueStreams<Value: Sendable>: Sendable {
    private struct State {
        var lastID = 0
        var observers: [Int: AsyncStream<Value>.Continuation] = [:]
    }

    private let state = Mutex(State())
    private let newest: Int
    private let isLeft: @Sendable () -> Void

    /// - Parameters:
    ///   - newest: how many values each buffers.
    ///   - isLeft: called some time after an observer has ended its stream.
    package init(
        newest: Int = CoreLimits.observedChanges, isLeft: @escaping @Sendable () -> Void = {}
    ) {
        self.newest = newest
        self.isLeft = isLeft
    }

    package var isEmpty: Bool { state.withLock { $0.observers.isEmpty } }

    /// - Parameter first: the first value; nil: the first is the next one sent.
    /// - Returns: a stream of its own for one observer.
    package func open(with first: Value? = nil) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Value.self, bufferingPolicy: .bufferingNewest(newest))
        let id = state.withLock { state in
            state.lastID += 1
            state.observers[state.lastID] = continuation
            if let first { continuation.yield(first) }
            return state.lastID
        }
        // In a task of its own: this is called under the lock of the observer's task, which `send`
        // needs to wake it, and `send` holds ours.
        continuation.onTermination = { [weak self] _ in
            Task.detached {
                self?.state.withLock { _ = $0.observers.removeValue(forKey: id) }
                self?.isLeft()
            }
        }
        return stream
    }

    /// Never waits; all observers see the same order.
    package func send(_ value: Value) {
        state.withLock { for observer in $0.observers.values { observer.yield(value) } }
    }
}
