import UnixSignals

/// Ends work at SIGINT or SIGTERM.
package enum Interruption {
    /// Runs `body`; SIGINT or SIGTERM cancels it.
    ///
    /// - Returns: the result of `body`, and whether a signal came.
    package static func cancelling<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T
    ) async throws -> (value: T, wasInterrupted: Bool) {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        return try await withThrowingTaskGroup(of: T?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                for await _ in signals { return nil }
                return nil
            }
            var wasInterrupted = false
            while let result = try await group.next() {
                if let value = result {
                    group.cancelAll()
                    return (value, wasInterrupted)
                }
                wasInterrupted = true
                group.cancelAll()
            }
            throw CancellationError()
        }
    }
}
