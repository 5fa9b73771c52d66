import Synchronization

/// The callers that wait for the end of a background session's events, which comes before the
/// system's handler, after it, or never.
package final class TransferEnds: Sendable {
    private struct State {
        var events = TransferEvents()
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    /// How long the end of the events is waited for.
    package static let timeout = Duration.seconds(5)

    private let state = Mutex(State())

    /// Nothing has come.
    package init() {}

    /// A transfer has ended: the end of the events is still to come.
    package func eventArrived() { state.withLock { $0.events.eventArrived() } }

    /// The session has reported everything that there was.
    package func eventsEnded() {
        state.withLock { state in
            state.events.eventsEnded()
            // Somebody waits: the end is used up.
            if !state.waiting.isEmpty { _ = state.events.handlerArrived() }
        }
        endWaiting()
    }

    /// The system's handler has come.
    ///
    /// - Returns: finishes when the session has reported everything, after ``timeout`` at the
    ///   latest.
    package func handlerArrived() -> AsyncStream<Void> {
        let (end, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let isOver = state.withLock { state in
            guard !state.events.handlerArrived() else { return true }
            state.waiting.append(continuation)
            return false
        }
        guard !isOver else {
            continuation.finish()
            return end
        }
        let timer = Task {
            try await Task.sleep(for: Self.timeout)
            endWaiting()
        }
        continuation.onTermination = { _ in timer.cancel() }
        return end
    }

    private func endWaiting() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for end in waiting { end.finish() }
    }
}
