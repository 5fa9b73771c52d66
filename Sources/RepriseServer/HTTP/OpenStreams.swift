import Synchronization

/// The streams being read, so that they end with the server.
///
/// ```swift
/// let answer = try await streams.run { try await readAll() }  // cancelled by end()
/// ```
package final class OpenStreams: Sendable {
    private struct State {
        var hasEnded = false
        var nextID = 0
        var cancels: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Runs `body` in a task that ``end()`` or the caller's cancellation cancels.
    package func run<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) async -> Value {
        let task = Task { await body() }
        let id = add { task.cancel() }
        defer { state.withLock { $0.cancels[id] = nil } }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Cancels running streams, and later ones at once.
    package func end() {
        let cancels = state.withLock { state in
            state.hasEnded = true
            return Array(state.cancels.values)
        }
        for cancel in cancels { cancel() }
    }

    private func add(_ cancel: @escaping @Sendable () -> Void) -> Int {
        let (id, hasEnded) = state.withLock { state in
            state.nextID += 1
            state.cancels[state.nextID] = cancel
            return (state.nextID, state.hasEnded)
        }
        if hasEnded { cancel() }
        return id
    }
}
