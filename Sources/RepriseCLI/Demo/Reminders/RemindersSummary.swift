import RepriseCore

/// The report for programs.
struct RemindersSummary: Codable {
    struct Run: Codable {
        /// `right`, or what was not, each as a sentence.
        let faults: [String]
        let screens: [String]
        let heard: [String]
        /// From the tap to its screen, the longest.
        let milliseconds: Int64?
        /// The same from when the goals were there.
        let millisecondsWithGoals: Int64?
        let pending: Int
        let orphans: Int
        let silent: Int
        let dropped: Int
    }

    struct Scenario: Codable {
        let name: String
        let kept: Bool
        let expected: [String]
        let apps: [String: Run]
        let ledger: [String: Int64]

        init(_ result: RemindersResult) {
            name = result.scenario.name
            kept = result.isKept
            expected = result.scenario.screens
            apps = Dictionary(
                result.runs.map { run in
                    (
                        run.algorithm.rawValue,
                        Run(
                            faults: result.faults(run).map(\.sentence), screens: run.screens,
                            heard: run.heard, milliseconds: result.time(run)?.milliseconds,
                            millisecondsWithGoals: result.timeWithGoals(run)?.milliseconds,
                            pending: run.centre.pending, orphans: run.centre.orphans,
                            silent: run.centre.silent, dropped: run.dropped)
                    )
                }
            ) { first, _ in first }
            ledger = (result.run(.reprise)?.ledger ?? LedgerSum()).counts
        }
    }

    let scenario: String
    let passed: Bool
    let scenarios: [Scenario]
    let milliseconds: Int64

    init(_ report: RemindersReport) {
        scenario = "reminders"
        passed = report.hasPassed
        scenarios = report.results.map(Scenario.init)
        milliseconds = report.took.milliseconds
    }
}
