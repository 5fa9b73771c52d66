/// The timeout has passed.
struct DeadlinePassed: Error {}

/// Adds a timeout to an operation without one.
enum Deadline {
    /// Runs an operation with a timeout.
    ///
    /// - Throws: ``DeadlinePassed``; the error of `body`.
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
