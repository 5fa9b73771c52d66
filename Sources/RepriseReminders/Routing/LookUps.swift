import RepriseCore
import Synchronization

/// Asks the app's store about single entities, and sees which of them change meanwhile.
final class LookUps: Sendable {
    private struct State {
        var underWay: [Int: LookUpWatch] = [:]
        var nextID = 0
    }

    private let patience: Patience
    private let limit: Duration
    private let state = Mutex(State())

    init(timekeeper: any Timekeeper, patience limit: Duration) {
        patience = Patience(clock: timekeeper, most: RouteLimits.abandonedLookUps)
        self.limit = limit
    }

    /// How many calls nobody waits for any more.
    var abandoned: Int { patience.abandoned }

    /// The store says that these have changed; nil: anything may have.
    func changed(_ ids: Set<String>?) {
        state.withLock { state in
            for key in state.underWay.keys { state.underWay[key]?.changed(ids) }
        }
    }

    /// - Returns: with the answer, whether what it names has changed meanwhile.
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

    /// Calls the app, and does not wait for ever.
    ///
    /// - Throws: what it throws; ``RepriseCore/RepriseError`` `.timedOut` when it takes too long,
    ///   `.unavailable` when too many before have taken too long.
    func ask<T: Sendable>(_ what: String, _ body: @escaping @Sendable () async throws -> T)
        async throws -> T
    {
        try await patience.wait(limit, for: "The store's \(what)", body)
    }
}
