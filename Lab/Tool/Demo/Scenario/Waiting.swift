import RepriseCore

/// Waits for what other processes do; no wait is for a fixed time.
enum Waiting {
    /// Whether a condition comes true in time; it is looked at every few milliseconds.
    @discardableResult
    static func isTrue(
        within limit: Duration, _ condition: () async throws -> Bool
    ) async throws -> Bool {
        let deadline = ContinuousClock.now + limit
        while try await !condition() {
            guard ContinuousClock.now < deadline else { return false }
            try await Task.sleep(for: .milliseconds(3))
        }
        return true
    }

    /// What `body` returns, or nil if that takes too long.
    static func result<T: Sendable>(
        within limit: Duration, of body: @escaping @Sendable () async throws -> T
    ) async throws -> T? {
        try await withThrowingTaskGroup(of: T?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
