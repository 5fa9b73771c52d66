import RepriseCore
import ReprisePhone

/// The report for programs.
struct NoticesSummary: Codable {
    struct Run: Codable {
        /// The violations, each as a sentence.
        let faults: [String]
        let messages: Int
        /// As the notification centre had them.
        let banners: Int
        /// From “stored” to the banner, the longest.
        let milliseconds: Int64?
        let badge: Int64
        let unread: Int64
        /// Alerts that raced and were counted.
        let secondAlerts: Int64
    }

    struct Scenario: Codable {
        let name: String
        let kept: Bool
        let apps: [String: Run]
        let ledger: [String: Int64]

        init(_ result: NoticesResult) {
            name = result.scenario.name
            kept = result.isKept
            apps = Dictionary(
                result.runs.map { run in
                    (
                        run.algorithm.rawValue,
                        Run(
                            faults: result.faults(run).map(\.sentence),
                            messages: run.messages.count,
                            banners: run.log.count { $0.what == "banner" },
                            milliseconds: run.time?.milliseconds, badge: run.badge,
                            unread: run.unread, secondAlerts: run.secondAlerts)
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

    init(_ report: NoticesReport) {
        scenario = "notices"
        passed = report.hasPassed
        scenarios = report.results.map(Scenario.init)
        milliseconds = report.took.milliseconds
    }
}
