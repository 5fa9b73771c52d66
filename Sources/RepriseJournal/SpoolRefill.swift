import RepriseCore
import Synchronization

/// Merges the spool after a disk failure left entries there, until the merge succeeds.
final class SpoolRefill: Sendable {
    private let state = Mutex<(task: Task<Void, Never>?, isStopped: Bool)>((nil, false))

    static let backoff = Backoff(base: .seconds(1), longest: .seconds(60))

    func start(_ journal: Journal, _ clock: any Timekeeper) {
        state.withLock { state in
            guard !state.isStopped, state.task == nil else { return }
            state.task = Task { [weak self, weak journal] in
                var failures = 0
                while !Task.isCancelled {
                    failures += 1
                    try? await clock.sleep(for: Self.backoff.ceiling(failures: failures))
                    guard let journal, await !Self.isDone(journal) else { break }
                }
                self?.state.withLock { $0.task = nil }
            }
        }
    }

    func stop() {
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
