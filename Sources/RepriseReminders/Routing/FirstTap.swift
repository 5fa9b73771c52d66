import GRDB
import RepriseCore
import RepriseJournal
import Synchronization

/// Opens `store`, and lets a waiting tap go before the first reconciliation: a person waits.
final class FirstTap: Sendable {
    private let journal: Journal
    private let clock: any Timekeeper
    private let signal = Mutex<Signal?>(nil)

    init(journal: Journal, clock: any Timekeeper) {
        self.journal = journal
        self.clock = clock
    }

    /// Returns when the first tap that waits is with a loop, or has turned out to be none for it
    /// now; at once if none waits.
    ///
    /// - Parameter hasLoop: whether a loop of the app waits.
    func open(_ hasLoop: Bool) async {
        let made = Signal()
        signal.withLock { $0 = made }
        defer { signal.withLock { $0 = nil } }
        await journal.setReady(.store)
        guard hasLoop, journal.isOpen(.ui), await isWaiting() else { return }
        let bound = Task { [clock] in
            try? await clock.sleep(for: .milliseconds(RouteLimits.firstTapMilliseconds))
            made.raise()
        }
        await made.wait()
        bound.cancel()
    }

    private func isWaiting() async -> Bool {
        let found = try? await journal.read { db in
            try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS (SELECT 1 FROM entry WHERE state < 3 AND kind = ?)",
                arguments: [ReminderKinds.route])
        }
        return found ?? false
    }

    /// One was looked up.
    func looked() { signal.withLock { $0 }?.raise() }
}
