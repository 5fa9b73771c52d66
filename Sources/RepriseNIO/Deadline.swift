/// The time is up.
struct DeadlinePassed: Error {}

/// Bounds what has no bound of its own.
enum Deadline {
    /// Does something, and gives up on it after a time.
    ///
    /// - Throws: ``DeadlinePassed``; what `body` throws.
    static func meeting<Value: Sendable>(
        _ time: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: time)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let value = first else {
                throw DeadlinePassed()
            }
            return value
        }
    }
}
