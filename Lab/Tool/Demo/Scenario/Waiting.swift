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
}
