import RepriseWire
import Synchronization

/// The streams being read: their number is bounded, and they end with the server.
///
/// Each holds two batches while its user has to wait.
///
/// ```swift
/// let answer = try await streams.run(of: user, within: limits) {
///     await readAll()  // cancelled by end()
/// }
/// ```
package final class OpenStreams: Sendable {
    private struct Stream {
        /// Nil: of no user whose streams are counted.
        let user: UserID?
        var cancel: (@Sendable () -> Void)?
    }

    private struct State {
        var hasEnded = false
        var nextID = 0
        var streams: [Int: Stream] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Runs `body` in a task that ``end()`` or the caller's cancellation cancels.
    ///
    /// - Parameters:
    ///   - user: whose streams are counted together; nil for an admin, and where access is open.
    ///   - limits: how many there may be.
    ///   - body: reads the stream.
    /// - Returns: what `body` returns.
    /// - Throws: ``HTTPFailure`` 429 or 503 at a limit.
    func run<Value: Sendable>(
        of user: UserID?, within limits: HTTPLimits,
        _ body: @escaping @Sendable () async -> Value
    ) async throws -> Value {
        let id = try begin(of: user, within: limits)
        defer { state.withLock { $0.streams[id] = nil } }
        let task = Task { await body() }
        let hasEnded = state.withLock { state in
            state.streams[id]?.cancel = { task.cancel() }
            return state.hasEnded
        }
        if hasEnded { task.cancel() }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Cancels running streams, and later ones at once.
    package func end() {
        let streams = state.withLock { state in
            state.hasEnded = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.cancel?() }
    }

    private func begin(of user: UserID?, within limits: HTTPLimits) throws -> Int {
        try state.withLock { state in
            guard state.streams.count < limits.streams else {
                throw HTTPFailure(
                    .overloaded,
                    "This server reads at most \(limits.streams) NDJSON requests at a time. "
                        + "Ask again later.")
            }
            let own = state.streams.values.count { $0.user == user }
            guard user == nil || own < limits.streamsOfUser else {
                throw HTTPFailure(
                    .rateLimited,
                    "A user has at most \(limits.streamsOfUser) NDJSON requests at a time. "
                        + "Wait for the answer to one.")
            }
            state.nextID += 1
            state.streams[state.nextID] = Stream(user: user)
            return state.nextID
        }
    }
}
