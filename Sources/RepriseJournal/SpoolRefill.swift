package import RepriseCore
import Synchronization

/// Merges the spool after a disk failure left entries there, until the merge succeeds.
package final class SpoolRefill: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var isStopped = false
        /// A file may have come since the current merge has listed them.
        var isAskedAgain = false
    }

    private let state = Mutex(State())

    static let backoff = Backoff(base: .seconds(1), longest: .seconds(60))

    package init() {}

    func start(_ journal: Journal, _ clock: any Timekeeper) {
        start(clock) { [weak journal] in
            guard let journal else { return true }
            return await Self.isDone(journal)
        }
    }

    /// Merges after a wait; once more, if it merges already.
    ///
    /// - Parameters:
    ///   - clock: for the waits.
    ///   - merge: returns whether it has succeeded.
    package func start(_ clock: any Timekeeper, merge: @escaping @Sendable () async -> Bool) {
        state.withLock { state in
            guard !state.isStopped else { return }
            guard state.task == nil else {
                state.isAskedAgain = true
                return
            }
            state.task = Task { [weak self] in
                var failures = 0
                while !Task.isCancelled {
                    failures += 1
                    try? await clock.sleep(for: Self.backoff.ceiling(failures: failures))
                    self?.state.withLock { $0.isAskedAgain = false }
                    guard await merge() else { continue }
                    if self?.ended() ?? true { break }
                    failures = 0
                }
            }
        }
    }

    /// - Returns: false if another merge is wanted.
    private func ended() -> Bool {
        state.withLock { state in
            guard !state.isAskedAgain else { return false }
            state.task = nil
            return true
        }
    }

    package func stop() {
        let task = state.withLock { state in
            state.isStopped = true
            return state.task
        }
        task?.cancel()
    }

    private static func isDone(_ journal: Journal) async -> Bool {
        do {
            return try await journal.mergeSpool().stopped == nil
        } catch let error as RepriseError {
            return error.isEndOfJournal
        } catch {
            return false
        }
    }
}
