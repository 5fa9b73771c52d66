import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseLab

/// The demo's scenarios, held to what each has to come to; the tool asks the phone, the goals and
/// the ledger.
@Suite("demo reminders")
struct RemindersDemoTests {
    @Test("every tap has its screen once, and no request is pending for a deleted goal")
    func all() async throws {
        let report = try await Self.play(["--alone"])
        #expect(report.passed)
        #expect(report.scenarios.map(\.name) == RemindersScenario.all().map(\.name))
        for (scenario, result) in zip(RemindersScenario.all(), report.scenarios) {
            let run = try #require(result.apps["reprise"])
            #expect(run.faults.isEmpty, "\(scenario.name)")
            #expect(run.screens == scenario.screens, "\(scenario.name)")
            #expect(result.expected == scenario.screens, "\(scenario.name)")
            #expect(run.orphans == 0 && run.dropped == 0, "\(scenario.name)")
            #expect(run.heard == scenario.heard ?? run.heard, "\(scenario.name)")
            #expect(result.ledger["pending"] == 0, "\(scenario.name)")
            #expect(
                result.ledger["applied"] ?? 0 == Int64(scenario.screens.count + scenario.buttons))
        }
    }

    @Test("the original app goes wrong where the case study says so, and its repair where it can")
    func originals() async throws {
        let folder = try TemporaryFolder()
        // Of the store that takes the longest: a tap that was answered late met its goals.
        let names = ["case-2", "problem-3", "store-5000", "import-new"]
        let report = try await Self.play(
            names.flatMap { ["--only", $0] } + ["--output", folder.url.path])
        #expect(report.passed)
        let faults = report.scenarios.map { result in
            ["first", "repaired", "reprise"].map { result.apps[$0]?.faults ?? ["none"] }
        }
        let one = "1 wait to ring for what is gone, paused or moved"
        #expect(
            faults == [
                [["the person saw dataEntry read/pages", one], [], []],
                [["5 wait to ring for what is gone, paused or moved"], [], []],
                [["the person saw missingGoal read"], ["the person saw missingGoal read"], []],
                [
                    [
                        "the person saw missingGoal read", one,
                        "1 goals in use do not ring next time",
                    ],
                    [
                        "the person saw missingGoal read", one,
                        "1 goals in use do not ring next time",
                    ],
                    [],
                ],
            ])
        let text = try String(
            contentsOf: folder.url.appendingPathComponent("reminders.txt"), encoding: .utf8)
        #expect(text.contains("ON THE SCREEN: replacedGoal read by new"))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test("the table fits into 80 columns, and names every scenario once")
    func columns() {
        LabTool.checkTable(of: RemindersDemo.self) {
            Self.run($0, $1, orphans: 64, dropped: 999)
        }
    }

    @Test(
        "an orphan, a silent goal, a wrong screen, one too many or none: each violates the invariant",
        arguments: [
            (["dataEntry read/pages"], 0, 0, true), (["dataEntry read/pages"], 1, 0, false),
            (["dataEntry read/pages"], 0, 1, false), (["missingGoal read"], 0, 0, false),
            ([], 0, 0, false),
            (["dataEntry read/pages", "dataEntry read/pages"], 0, 0, false),
        ])
    func promises(screens: [String], orphans: Int, silent: Int, isKept: Bool) throws {
        let scenario = try #require(RemindersScenario.all().first { $0.name == "case-1" })
        let run = Self.run(scenario, .reprise, screens: screens, orphans: orphans, silent: silent)
        #expect(RemindersDemo.Result(scenario: scenario, runs: [run]).isKept == isKept)
    }

    private static func run(
        _ scenario: RemindersScenario, _ algorithm: RemindersAlgorithm,
        screens: [String] = [], orphans: Int = 0, silent: Int = 0,
        dropped: Int = 0
    ) -> RemindersDemo.Run {
        let events =
            screens.map { ("app.screen", $0) }
            + Array(repeating: ("dropped", "x: more than 64 pending"), count: dropped)
        var ledger = LedgerSum()
        (ledger.accepted, ledger.outcomes) = (1, [.applied: 1])
        return RemindersDemo.Run(
            scenario: scenario, app: algorithm,
            log: events.map { what, detail in
                PhoneEvent(
                    number: 1, at: WallTime(milliseconds: 0), microseconds: 0, app: nil, what: what,
                    detail: detail)
            },
            ledger: ledger,
            seen: .init(
                centre: NotificationCentre(pending: 60, orphans: orphans, silent: silent),
                heard: []))
    }

    private struct Run: Decodable {
        let faults: [String]
        let screens: [String]
        let heard: [String]
        let milliseconds: Int64?
        let millisecondsWithGoals: Int64?
        let pending: Int
        let orphans: Int
        let silent: Int
        let dropped: Int
    }

    private static func play(_ arguments: [String]) async throws -> PlayedReport<Run> {
        try await LabTool.play("reminders", arguments)
    }
}
