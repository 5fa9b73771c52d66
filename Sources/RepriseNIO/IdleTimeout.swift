import Synchronization

/// The timeout has passed.
struct DeadlinePassed: Error {}

/// A timeout without any byte in or out, which excludes the time in which the caller processes
/// received bytes.
final class IdleTimeout: Sendable {
    private let limit: Duration
    /// When the wait for the network began; nil: no wait.
    private let since = Mutex<ContinuousClock.Instant?>(nil)

    private init(_ limit: Duration) { self.limit = limit }

    /// Runs an operation that reports bytes in and out, with a timeout for silence.
    ///
    /// - Throws: ``DeadlinePassed``; the error of `body`.
    static func watching(
        _ limit: Duration, _ body: @escaping @Sendable (IdleTimeout) async throws -> Void
    ) async throws {
        let timeout = IdleTimeout(limit)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await body(timeout)
                return true
            }
            group.addTask {
                try await timeout.end()
                return false
            }
            defer { group.cancelAll() }
            guard try await group.next() == true else { throw DeadlinePassed() }
        }
    }

    /// Bytes came or went; the wait for the next ones begins.
    func wait() { since.withLock { $0 = .now } }

    /// The caller processes received bytes.
    func pause() { since.withLock { $0 = nil } }

    private func end() async throws {
        while true {
            let left = since.withLock { $0.map { limit - $0.duration(to: .now) } ?? limit }
            if left <= .zero { return }
            try await Task.sleep(for: left)
        }
    }
}
