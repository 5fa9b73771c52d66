/// Runs an operation with a timeout; at the timeout it is cancelled and awaited.
///
/// - Throws: ``RepriseError`` `.timedOut`; the error of `body`.
package func withTimeout<Value: Sendable>(
    _ limit: Duration, for what: String, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let value = first else {
            throw RepriseError(
                .timedOut, "\(what) took longer than \(limit).",
                remedy: "Check the address and the network, and try again.")
        }
        return value
    }
}
