import DequeModule
import Synchronization

/// Wakes one task that waits for work; raised twice before the task looks, it wakes it once.
///
/// A cancelled wait ends alone and does not affect the next one. An `AsyncStream` would end for
/// good when a waiting task is cancelled, and every later wait would return at once.
package final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var lastID = 0
        /// Oldest first.
        var waiting: Deque<(id: Int, continuation: CheckedContinuation<Void, Never>)> = []
    }

    private let state = Mutex(State())

    package init() {}

    package func raise() {
        let first = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if let first = state.waiting.popFirst() { return first.continuation }
            state.isRaised = true
            return nil
        }
        first?.resume()
    }

    /// - Returns: at once if it was raised since the last wait; also when the task is cancelled.
    package func wait() async {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // The next task takes over the work of a cancelled one.
                    if Task.isCancelled { return true }
                    if state.isRaised {
                        state.isRaised = false
                        return true
                    }
                    state.waiting.append((id, continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let cancelled = state.withLock { state -> CheckedContinuation<Void, Never>? in
                let place = state.waiting.firstIndex { $0.id == id }
                return place.map { state.waiting.remove(at: $0).continuation }
            }
            cancelled?.resume()
        }
    }
}
