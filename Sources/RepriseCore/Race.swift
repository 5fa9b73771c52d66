import Synchronization

/// A result that one task waits for; of several the first counts.
package final class Race<T: Sendable>: Sendable {
    private enum State {
        case open
        case waited(CheckedContinuation<T, any Error>)
        case ended(Result<T, any Error>)
        case heard
    }

    private let state = Mutex(State.open)

    package init() {}

    /// - Returns: whether it was the first.
    @discardableResult
    package func end(_ result: Result<T, any Error>) -> Bool {
        let (isFirst, waiter) = state.withLock {
            state -> (Bool, CheckedContinuation<T, any Error>?) in
            switch state {
            case .open:
                state = .ended(result)
                return (true, nil)
            case .waited(let waiter):
                state = .heard
                return (true, waiter)
            case .ended, .heard: return (false, nil)
            }
        }
        waiter?.resume(with: result)
        return isFirst
    }

    package func value() async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let result: Result<T, any Error>? = state.withLock { state in
                if case .ended(let result) = state {
                    state = .heard
                    return result
                }
                state = .waited(continuation)
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }
}
