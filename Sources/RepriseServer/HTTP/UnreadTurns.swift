import DequeModule
import RepriseWire
import Synchronization

/// Lets one request of a user at a time count what is unread; the user's others wait in order.
///
/// A count over 10,000 channels that the user has filled reads for seconds: so it occupies one of
/// the log's readers, and not all of them.
final class UnreadTurns: Sendable {
    /// What waits for the user's request that has its turn.
    private let waiting = Mutex<[UserID: Deque<CheckedContinuation<Void, Never>>]>([:])

    /// - Throws: what `body` throws; `CancellationError` if the task was cancelled while it waited.
    func take<Value>(
        of user: UserID, _ body: () async throws -> Value
    ) async throws -> Value {
        await withCheckedContinuation { turn in
            let isFree = waiting.withLock { waiting in
                guard waiting[user] != nil else {
                    waiting[user] = []
                    return true
                }
                waiting[user]?.append(turn)
                return false
            }
            if isFree { turn.resume() }
        }
        defer { end(of: user) }
        try Task.checkCancellation()
        return try await body()
    }

    private func end(of user: UserID) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            if let next = waiting[user]?.popFirst() { return next }
            waiting[user] = nil
            return nil
        }
        next?.resume()
    }
}
