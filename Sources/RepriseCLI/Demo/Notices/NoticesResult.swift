import RepriseCore

/// The results of the apps in one scenario.
struct NoticesResult: Sendable {
    /// A violation.
    enum Fault: Hashable, Sendable {
        /// This number of messages without any notification.
        case lost(Int)
        /// This number only when the app was opened, or ran again.
        case atOpen(Int)
        /// This number of second banners.
        case twice(Int)
        /// This number of banners were not allowed.
        case shown(Int)
        /// This number of read messages still have a notification.
        case stands(Int)
        /// This number of notifications lack a sender or text.
        case unnamed(Int)
        /// This number of banners without a sound.
        case silent(Int)
        /// A missing observation other than a message.
        case missed(String)
        /// The taps led here.
        case routes([String])
        /// The figure at the icon, and what was unread.
        case badge(saw: Int64, due: Int64)
    }

    let scenario: NoticesScenario
    let runs: [NoticesRun]

    func run(_ algorithm: NoticesAlgorithm) -> NoticesRun? {
        runs.first { $0.algorithm == algorithm }
    }

    /// The violations, without a second alert from a race that was counted.
    func faults(_ run: NoticesRun) -> [Fault] {
        guard scenario.mayRace, Int64(run.twice) <= run.secondAlerts else { return run.faults }
        return run.faults.filter { if case .twice = $0 { false } else { true } }
    }

    /// Whether all invariants held.
    var isKept: Bool {
        guard let run = run(.reprise), let ledger = run.ledger else { return false }
        return faults(run).isEmpty && ledger.isBalanced && ledger.pending == 0
    }
}
