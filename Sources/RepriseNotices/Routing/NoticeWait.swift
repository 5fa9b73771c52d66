import GRDB
import RepriseCore
import RepriseJournal

/// Waits for what transactions of the journal bring about: looks once at the beginning and after
/// each commit, and never in between.
final class NoticeWait: TransactionObserver, Sendable {
    private let signal = Signal()
    private let clock: any Timekeeper

    /// Hears of commits from now on, until it is let go.
    init(_ journal: Journal, _ clock: any Timekeeper) async {
        self.clock = clock
        try? await journal.write { [self] db in
            db.add(transactionObserver: self, extent: .observerLifetime)
        }
    }

    /// Returns when it is true, or at a moment; a task that is cancelled does not wait.
    func until(_ end: Duration, _ isTrue: () async -> Bool) async {
        let alarm = Task { [clock, signal] in
            try? await clock.sleep(until: end)
            signal.raise()
        }
        defer { alarm.cancel() }
        while clock.uptime() < end, !Task.isCancelled, await !isTrue() { await signal.wait() }
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) { signal.raise() }
    func databaseDidRollback(_ db: Database) {}
}
