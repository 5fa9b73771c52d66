/// Waits for what others do; no wait is for a fixed time.
package enum Waiting {
    /// Whether a condition comes true in time; it is looked at every few milliseconds.
    @discardableResult
    package static func isTrue(
        within limit: Duration, every pause: Duration = .milliseconds(3),
        _ condition: () async throws -> Bool
    ) async throws -> Bool {
        let deadline = ContinuousClock.now + limit
        while try await !condition() {
            guard ContinuousClock.now < deadline else { return false }
            try await Task.sleep(for: pause)
        }
        return true
    }
}
