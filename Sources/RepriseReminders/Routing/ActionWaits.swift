import RepriseCore
import RepriseJournal
import Synchronization

/// Callers that wait until an action has ended.
///
/// The system suspends a background app as soon as the completion handler is called: so the call
/// waits for the effect.
final class ActionWaits: Sendable {
    private struct State {
        var waiting: [Int: (id: EntryID, signal: Signal)] = [:]
        var nextKey = 0
    }

    private let journal: Journal
    private let limit: Duration
    private let timeout: CallTimeout
    private let state = Mutex(State())

    init(journal: Journal, clock: any Timekeeper, limit: Duration) {
        self.journal = journal
        self.limit = limit
        timeout = CallTimeout(clock: clock, most: RouteLimits.actionsLeft)
    }

    /// Returns when the action has ended and its follow-up is done, or at the timeout: then it is
    /// done later.
    ///
    /// - Parameters:
    ///   - id: of the action's entry, which is recorded.
    ///   - after: its follow-up.
    func over(_ id: EntryID, then after: @escaping @Sendable () async -> Void) async {
        guard limit > .zero else { return }
        // Any failure here is harmless: the action is recorded, and the journal dispatches it
        // again.
        try? await timeout.wait(limit, for: "An action") { [self] in
            await ended(id)
            await after()
        }
    }

    private func ended(_ id: EntryID) async {
        let signal = Signal()
        let key = state.withLock { state in
            state.nextKey += 1
            state.waiting[state.nextKey] = (id, signal)
            return state.nextKey
        }
        defer { state.withLock { _ = $0.waiting.removeValue(forKey: key) } }
        while !Task.isCancelled {
            // One that came through another entrance before may have ended already.
            if case .finished = try? await journal.entry(id)?.state { return }
            await signal.wait()
        }
    }

    /// The journal has written something about it.
    func written(_ id: EntryID) {
        let signals = state.withLock { state in
            state.waiting.values.filter { $0.id == id }.map(\.signal)
        }
        for signal in signals { signal.raise() }
    }
}
