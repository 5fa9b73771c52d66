import Synchronization

/// Wakes all tasks that wait for a condition, so that each checks its own again.
///
/// A ``Signal`` wakes one task, which takes over the work.
package final class ConditionVariable: Sendable {
    private struct State {
        var notifications = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Called after a change, by any task.
    package func notifyAll() {
        let waiting = state.withLock { state in
            state.notifications += 1
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.resume() }
    }

    /// Returns once the condition is true; it is checked at once and after each notification.
    ///
    /// - Parameters:
    ///   - isCancellable: whether it also returns when the task is cancelled.
    ///   - isTrue: the condition; called on the actor of the caller.
    package func wait(isCancellable: Bool = false, until isTrue: () async -> Bool) async {
        while !isCancellable || !Task.isCancelled {
            // Read before the check: a notification during it is not lost.
            let seen = state.withLock { $0.notifications }
            if await isTrue() { return }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isOver = state.withLock { state in
                        guard state.notifications == seen else { return true }
                        state.waiting.append(continuation)
                        return false
                    }
                    if isOver { continuation.resume() }
                }
            } onCancel: {
                if isCancellable { notifyAll() }
            }
        }
    }
}
