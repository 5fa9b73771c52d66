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
