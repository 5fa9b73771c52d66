import Synchronization

/// Bounds how long nothing comes or goes, and leaves the time out in which the caller is at work
/// with what came.
final class Patience: Sendable {
    private let limit: Duration
    /// Since when the network is waited for; nil: it is not.
    private let since = Mutex<ContinuousClock.Instant?>(nil)

    private init(_ limit: Duration) { self.limit = limit }

    /// Does something that says when bytes come and go, and gives up on it when none do.
    ///
    /// - Throws: ``DeadlinePassed``; what `body` throws.
    static func watching(
        _ limit: Duration, _ body: @escaping @Sendable (Patience) async throws -> Void
    ) async throws {
        let patience = Patience(limit)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await body(patience)
                return true
            }
            group.addTask {
                try await patience.end()
                return false
            }
            defer { group.cancelAll() }
            guard try await group.next() == true else { throw DeadlinePassed() }
        }
    }

    /// Bytes came or went; from now on the next ones are waited for.
    func wait() { since.withLock { $0 = .now } }

    /// What came is in the caller's hands.
    func pause() { since.withLock { $0 = nil } }

    private func end() async throws {
        while true {
            let left = since.withLock { $0.map { limit - $0.duration(to: .now) } ?? limit }
            if left <= .zero { return }
            try await Task.sleep(for: left)
        }
    }
}
