package import RepriseCore
import Synchronization

/// Calls that wait for the system: each ends with its first answer, or with the end of all.
///
/// The system may answer twice, and may leave a call unanswered when a connection ends.
package final class PendingCalls: Sendable {
    private struct State {
        var calls: [Int: @Sendable (any Error) -> Void] = [:]
        var count = 0
        var end: (any Error)?
    }

    private let state = Mutex(State())

    /// None waits.
    package init() {}

    /// Begins a call and waits for it.
    ///
    /// - Parameter begin: hands the call to the system; not called after the end.
    /// - Returns: the answer.
    /// - Throws: the answer, or the reason of the end.
    package func wait<Value: Sendable>(_ begin: (Race<Value>) -> Void) async throws -> Value {
        let call = Race<Value>()
        let (id, end) = state.withLock { state in
            state.count += 1
            if state.end == nil { state.calls[state.count] = { call.end(.failure($0)) } }
            return (state.count, state.end)
        }
        defer { state.withLock { $0.calls[id] = nil } }
        if let end { call.end(.failure(end)) } else { begin(call) }
        return try await call.value()
    }

    /// The same within a time; cancelled, it ends every call.
    ///
    /// - Parameters:
    ///   - limit: the time.
    ///   - what: what the call does, for the error.
    ///   - begin: hands the call to the system.
    /// - Returns: the answer.
    /// - Throws: as above, ``RepriseCore/RepriseError`` `.timedOut`, `CancellationError`.
    package func wait<Value: Sendable>(
        within limit: Duration, for what: String,
        _ begin: @escaping @Sendable (Race<Value>) -> Void
    ) async throws -> Value {
        try await withTimeout(limit, for: what) {
            try await withTaskCancellationHandler {
                try await self.wait(begin)
            } onCancel: {
                // The system need not report the end of a task that was never resumed.
                self.end(CancellationError())
            }
        }
    }

    /// Ends every call a while later, unless the system has told a better reason by then.
    ///
    /// - Parameters:
    ///   - error: the reason.
    ///   - delay: how long the system's own is waited for.
    package func end(_ error: any Error, after delay: Duration) {
        Task {
            try await Task.sleep(for: delay)
            end(error)
        }
    }

    /// Ends every call that waits, and those to come; the first reason stays.
    package func end(_ error: any Error) {
        let (calls, reason) = state.withLock { state in
            let reason = state.end ?? error
            state.end = reason
            defer { state.calls = [:] }
            return (state.calls, reason)
        }
        for call in calls.values { call(reason) }
    }
}
