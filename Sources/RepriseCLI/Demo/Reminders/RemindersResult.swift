import RepriseCore

/// The results of the apps in one scenario.
struct RemindersResult: Sendable {
    /// A violation.
    enum Fault: Hashable, Sendable {
        /// This number of taps without a screen.
        case lost(Int)
        /// This number of surplus screens.
        case twice(Int)
        /// This screen instead of another.
        case screen(String)
        /// This number of pending notifications are wrong.
        case orphans(Int)
        /// This number of goals will not ring.
        case silent(Int)
        /// This number of requests were dropped by the phone.
        case dropped(Int)
        /// It rang at other times.
        case heard([String])
        /// This was given to the goals by buttons, instead of something else.
        case applied([String])
    }

    /// The case study's metric: “data entry sheet appears within 500ms of tap”.
    static let metric = Duration.milliseconds(500)

    let scenario: RemindersScenario
    let runs: [RemindersRun]

    func run(_ algorithm: RemindersAlgorithm) -> RemindersRun? {
        runs.first { $0.algorithm == algorithm }
    }

    func faults(_ run: RemindersRun) -> [Fault] {
        var faults: [Fault] = []
        let (seen, due) = (run.screens, scenario.screens)
        if seen.count < due.count { faults.append(.lost(due.count - seen.count)) }
        if seen.count > due.count { faults.append(.twice(seen.count - due.count)) }
        let wrong = zip(seen, due).first { !Self.isRight($0, $1, run.algorithm) }
        if let wrong { faults.append(.screen(wrong.0)) }
        if let heard = scenario.heard, heard != run.heard { faults.append(.heard(run.heard)) }
        if run.applied != scenario.applied { faults.append(.applied(run.applied)) }
        if run.dropped > 0 { faults.append(.dropped(run.dropped)) }
        if run.centre.orphans > 0 { faults.append(.orphans(run.centre.orphans)) }
        if scenario.leavesNoneSilent, run.hasMadeGoals, run.centre.silent > 0 {
            faults.append(.silent(run.centre.silent))
        }
        return faults
    }

    /// The original app deliberately has one screen for every missing target.
    private static func isRight(_ seen: String, _ due: String, _ app: RemindersAlgorithm) -> Bool {
        seen == due
            || app != .reprise && due.hasPrefix("deletedGoal ")
                && seen == due.replacing("deletedGoal", with: "missingGoal")
    }

    /// Whether all invariants held.
    var isKept: Bool {
        guard let run = run(.reprise), let ledger = run.ledger else { return false }
        return faults(run).isEmpty && ledger.isSettled(as: scenario.outcomes)
    }

    /// The longest time from a tap to its screen; nil: none was seen.
    func time(_ run: RemindersRun) -> Duration? {
        run.time(since: [scenario.startsAtLaunch ? "launched" : "tapped"])
    }

    /// From when the app had tap and goals.
    func timeWithGoals(_ run: RemindersRun) -> Duration? {
        run.time(since: ["tapped", "launched", "app.loaded"])
    }
}
