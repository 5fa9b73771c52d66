import RepriseCore
import RepriseJournal
import Synchronization

/// Asks the app's store, and does not wait for ever.
///
/// Nobody can stop a call that does not return: it is left behind, and counted, so that their number is bounded.
final class LookUps: Sendable {
    private struct State {
        var underWay: [Int: (id: String, hasChanged: Bool)] = [:]
        var abandoned = 0
        var nextID = 0
    }

    private let clock: any Timekeeper
    private let patience: Duration
    private let state = Mutex(State())

    init(timekeeper: any Timekeeper, patience: Duration) {
        clock = timekeeper
        self.patience = patience
    }

    /// How many calls nobody waits for any more.
    var abandoned: Int { state.withLock { $0.abandoned } }

    // MARK: Changes

    /// The store says that these have changed; nil: anything may have.
    func changed(_ ids: Set<String>?) {
        state.withLock { state in
            for (key, lookUp) in state.underWay where ids?.contains(lookUp.id) ?? true {
                state.underWay[key]?.hasChanged = true
            }
        }
    }

    /// - Returns: with the answer, whether the entity has changed meanwhile.
    func watching<T: Sendable>(_ id: String, _ body: () async throws -> T) async throws
        -> (T, hasChanged: Bool)
    {
        let key = state.withLock { state in
            state.nextID += 1
            state.underWay[state.nextID] = (id, false)
            return state.nextID
        }
        defer { state.withLock { _ = $0.underWay.removeValue(forKey: key) } }
        let answer = try await body()
        return (answer, state.withLock { $0.underWay[key]?.hasChanged ?? false })
    }

    // MARK: Patience

    /// Calls the app.
    ///
    /// - Throws: what it throws; ``RepriseCore/RepriseError`` `.timedOut` when it takes too long, `.unavailable` when too many before
    ///   have taken too long.
    func ask<T: Sendable>(_ what: String, _ body: @escaping @Sendable () async throws -> T)
        async throws -> T
    {
        guard abandoned < RouteLimits.abandonedLookUps else {
            throw RepriseError(
                .unavailable, "\(RouteLimits.abandonedLookUps) calls of the app's store hang.",
                remedy: "Let \(what) return or throw.")
        }
        let race = Race<T>()
        let call = Task {
            let result: Result<T, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            if !race.end(result) { state.withLock { $0.abandoned -= 1 } }
        }
        let timer = Task { [clock, patience] in
            do { try await clock.sleep(for: patience) } catch { return }
            let late = RepriseError(
                .timedOut, "The app's store has not answered within \(patience).",
                remedy: "Let \(what) return or throw.")
            self.leave(race, .failure(late))
            call.cancel()
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await race.result()
        } onCancel: {
            leave(race, .failure(CancellationError()))
            call.cancel()
        }
    }

    private func leave<T>(_ race: Race<T>, _ result: Result<T, any Error>) {
        // Counted first: the call may return at once, and takes itself off.
        state.withLock { $0.abandoned += 1 }
        if !race.end(result) { state.withLock { $0.abandoned -= 1 } }
    }
}

/// The first of several results.
private final class Race<T: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<T, any Error>)
        case ended(Result<T, any Error>)
    }

    private let state = Mutex(State.open)

    /// - Returns: whether it was the first.
    func end(_ result: Result<T, any Error>) -> Bool {
        let (isFirst, waiting) = state.withLock {
            state -> (Bool, CheckedContinuation<T, any Error>?) in
            defer { if case .ended = state {} else { state = .ended(result) } }
            switch state {
            case .open: return (true, nil)
            case .awaited(let continuation): return (true, continuation)
            case .ended: return (false, nil)
            }
        }
        waiting?.resume(with: result)
        return isFirst
    }

    func result() async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state -> Result<T, any Error>? in
                if case .ended(let result) = state { return result }
                state = .awaited(continuation)
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }
}
