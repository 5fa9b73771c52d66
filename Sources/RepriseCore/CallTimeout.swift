import Synchronization

/// Runs a call with a timeout.
///
/// A blocking call of the app or the system cannot be ended. At the timeout the wait ends and the
/// call is abandoned; when too many are abandoned, no other starts until one returns.
package final class CallTimeout: Sendable {
    private let clock: any Timekeeper
    private let most: Int
    private let left = Mutex(0)

    /// - Parameters:
    ///   - clock: measures the timeout.
    ///   - most: how many calls may be abandoned.
    package init(clock: any Timekeeper, most: Int) {
        self.clock = clock
        self.most = most
    }

    /// How many abandoned calls have not returned.
    package var abandoned: Int { left.withLock { $0 } }

    /// - Throws: the error of `body`; ``RepriseCore/RepriseError`` `.timedOut`, `.unavailable`;
    ///   `CancellationError`.
    package func wait<T: Sendable>(
        _ limit: Duration, for what: String, _ body: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        guard abandoned < most else {
            throw RepriseError(
                .unavailable, "\(most) calls have not returned.",
                remedy: "\(what) blocks: let it return, or throw.")
        }
        let race = Race<T>()
        let task = Task {
            do {
                let value = try await body()
                if !race.end(.success(value)) { self.returned() }
            } catch {
                if !race.end(.failure(error)) { self.returned() }
            }
        }
        let timer = Task {
            do { try await self.clock.sleep(for: limit) } catch { return }
            self.leave(
                task, race,
                RepriseError(
                    .timedOut, "\(what) took longer than \(limit).",
                    remedy: "Let it return, or throw."))
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await race.value()
        } onCancel: {
            leave(task, race, CancellationError())
        }
    }

    private func returned() { left.withLock { $0 -= 1 } }

    private func leave<T>(_ task: Task<Void, Never>, _ race: Race<T>, _ error: any Error) {
        left.withLock { $0 += 1 }
        guard race.end(.failure(error)) else { return returned() }
        task.cancel()
    }
}
