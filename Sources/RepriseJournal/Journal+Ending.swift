import Foundation
package import GRDB
package import RepriseCore
import Synchronization

/// The end of an opening's writes, and the handling of entries that it cannot write.
extension Journal {
    // MARK: The end

    /// Waits until this opening can no longer write.
    ///
    /// An owner that writes nothing also detects a takeover, and that the calendar was set: it
    /// checks every ``JournalLimits/ownershipCheck``.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `CancellationError`.
    package func watchOwnership() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.ended() }
            group.addTask {
                while true {
                    try await self.checkOwnership()
                    // A transaction moves what is due; one that fails is repeated at the next look.
                    if self.store.isCalendarSet { try? await self.write { _ in } }
                    try await Task.sleep(for: JournalLimits.ownershipCheck)
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Waits until the end of this opening is known.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `CancellationError`.
    func ended() async throws {
        for await reason in ending.watch() { if let reason { throw reason } }
        throw CancellationError()
    }

    /// Checks whether another process has taken the journal over; reads nothing while this process
    /// holds the lock file.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`.
    package func checkOwnership() async throws {
        if let reason = ending.value, reason.code == .ownershipLost { throw reason }
        guard !lock.isInPlace(folder.lock) else { return }
        let newest = try? await read { db in
            try Int64.fetchOne(db, sql: "SELECT incarnation FROM journal")
        }
        try Task.checkCancellation()  // it ends the read, too, which then says nothing of the owner
        guard let newest, newest != incarnation else { return }
        end(because: EntryStore.takenOver)
        throw EntryStore.takenOver
    }

    func end(because reason: RepriseError) {
        guard ending.value == nil else { return }
        ending.announce(reason)
    }

    // MARK: An entry that must not be lost

    /// Runs `body`, which records `entry`; if the journal cannot be written, the entry goes to the
    /// spool instead.
    ///
    /// After a disk failure, the spool is merged as soon as the disk has recovered; after a
    /// takeover the new owner merges it.
    ///
    /// - Returns: whether `body` was committed.
    /// - Throws: the journal's error, if the spool cannot be written either.
    @discardableResult
    package func write(
        orSpool entry: NewEntry, _ body: @escaping @Sendable (Database) throws -> Void
    ) async throws -> Bool {
        do {
            try await write(body)
            return true
        } catch let error as RepriseError where Self.isOfTheJournal(error) {
            // Nothing is recreated for an account that was removed meanwhile.
            guard access(folder.database, F_OK) == 0 else { throw error }
            do {
                try Spool(at: folder.shared, timekeeper: store.configuration.timekeeper)
                    .record(entry)
            } catch let second {
                throw RepriseError(
                    error.code, error.message, remedy: error.remedy, cause: second)
            }
            if error.code != .ownershipLost { refill.start(self) }
            return false
        }
    }

    private static func isOfTheJournal(_ error: RepriseError) -> Bool {
        switch error.code {
        case .ownershipLost, .diskFull, .diskFailed, .notWritable, .busy, .full, .corrupt: true
        default: false
        }
    }
}

/// Merges the spool after a disk failure left entries there, until the merge succeeds.
final class SpoolRefill: Sendable {
    private let state = Mutex<(task: Task<Void, Never>?, isStopped: Bool)>((nil, false))

    static let backoff = Backoff(base: .seconds(1), longest: .seconds(60))

    func start(_ journal: Journal) {
        let clock = journal.store.configuration.timekeeper
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
