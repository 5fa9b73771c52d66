import Synchronization

/// Wakes one task that waits for work; raised twice before it looks, it wakes once.
///
/// A wait that is cancelled ends alone: whoever waits next waits as if it had not been. An
/// `AsyncStream` ends for good when a task that waits for it is cancelled, and every later wait
/// would return at once.
package final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var lastID = 0
        /// Oldest first.
        var waiting: [(id: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func raise() {
        let first = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.isRaised = true
                return nil
            }
            return state.waiting.removeFirst().continuation
        }
        first?.resume()
    }

    /// - Returns: at once if it was raised since the last time; also when the task is cancelled.
    package func wait() async {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // What a cancelled task was to do is left for the next one.
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
