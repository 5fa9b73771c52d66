import RepriseCore
import Synchronization

/// Looks up single entities in the app's store, and detects changes meanwhile.
final class LookUps: Sendable {
    private struct State {
        var underWay: [Int: LookUpWatch] = [:]
        var nextID = 0
    }

    private let timeout: CallTimeout
    private let limit: Duration
    private let state = Mutex(State())

    init(timekeeper: any Timekeeper, timeout limit: Duration) {
        timeout = CallTimeout(clock: timekeeper, most: RouteLimits.abandonedLookUps)
        self.limit = limit
    }

    /// The number of abandoned calls still running.
    var abandoned: Int { timeout.abandoned }

    /// The store reports these as changed; nil: possibly all.
    func changed(_ ids: Set<String>?) {
        state.withLock { state in
            for key in state.underWay.keys { state.underWay[key]?.changed(ids) }
        }
    }

    /// - Returns: the answer, and whether its entity has changed meanwhile.
    func watching(_ id: String, _ body: () async throws -> EntityFinding) async throws
        -> (EntityFinding, hasChanged: Bool)
    {
        let key = state.withLock { state in
            state.nextID += 1
            state.underWay[state.nextID] = LookUpWatch(id)
            return state.nextID
        }
        defer { state.withLock { _ = $0.underWay.removeValue(forKey: key) } }
        let answer = try await body()
        return (answer, state.withLock { $0.underWay[key]?.hasChanged(answer) ?? false })
    }

    /// Calls the app with a timeout.
    ///
    /// - Throws: what it throws; ``RepriseCore/RepriseError`` `.timedOut` at the timeout,
    ///   `.unavailable` when too many earlier calls are still running.
    func ask<T: Sendable>(_ what: String, _ body: @escaping @Sendable () async throws -> T)
        async throws -> T
    {
        try await timeout.wait(limit, for: "The store's \(what)", body)
    }
}
