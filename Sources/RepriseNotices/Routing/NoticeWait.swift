import GRDB
import RepriseCore
import RepriseJournal

/// Waits for an effect of the journal's transactions: checks once at the beginning and after each
/// commit.
final class NoticeWait: TransactionObserver, Sendable {
    private let signal = Signal()
    private let clock: any Timekeeper

    /// Observes commits until it is released.
    init(_ journal: Journal, _ clock: any Timekeeper) async {
        self.clock = clock
        try? await journal.write { [self] db in
            db.add(transactionObserver: self, extent: .observerLifetime)
        }
    }

    /// Returns when the condition is true, at the deadline, or when the task is cancelled.
    func until(_ end: Duration, _ isTrue: () async -> Bool) async {
        while clock.uptime() < end, !Task.isCancelled, await !isTrue() {
            await signal.wait(until: end, by: clock)
        }
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) { signal.raise() }
    func databaseDidRollback(_ db: Database) {}
}
