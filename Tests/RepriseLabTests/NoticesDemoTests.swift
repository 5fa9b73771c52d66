import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseLab

/// The demo's scenarios, held to what each has to come to; the tool asks the phone, the server and
/// the ledger.
@Suite("demo notices")
struct NoticesDemoTests {
    @Test(
        "at most one banner of a message, the badge is what is unread, and a push reaches a dead app",
        arguments: 0..<2)
    func all(half: Int) async throws {
        let scenarios = NoticesScenario.all().half(half)
        let report = try await Self.play(
            ["--alone"] + scenarios.flatMap { ["--only", $0.name] })
        #expect(report.passed)
        #expect(report.scenarios.map(\.name) == scenarios.map(\.name))
        for (scenario, result) in zip(scenarios, report.scenarios) {
            let run = try #require(result.apps["reprise"])
            #expect(run.faults.isEmpty, "\(scenario.name)")
            #expect(run.badge == run.unread, "\(scenario.name)")
            #expect(result.ledger["pending"] == 0, "\(scenario.name)")
        }
    }

    @Test("the original app shows what it says it does, and goes wrong where nothing of it runs")
    func original() async throws {
        let folder = try TemporaryFolder()
        let names = ["test-2", "test-4", "read-there", "force-quit"]
        let report = try await Self.play(
            names.flatMap { ["--only", $0] } + ["--output", folder.url.path])
        #expect(report.passed)
        let faults = report.scenarios.map { $0.apps["seed"]?.faults ?? ["none"] }
        #expect(faults[0].isEmpty && faults[1].isEmpty)
        #expect(faults[2].contains("the badge was 1, and 0 were unread"))
        #expect(faults[3].contains("1 messages were seen only when the app ran again"))
        let text = try String(
            contentsOf: folder.url.appendingPathComponent("notices.txt"), encoding: .utf8)
        #expect(text.contains("A BANNER: m1") && text.contains("the extension runs"))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test("the table fits into 80 columns, and names every scenario once")
    func columns() {
        let report = LabTool.checkTable(of: NoticesDemo.self) {
            Self.run($0, $1, badge: 99, unread: 10)
        }
        #expect(report.accounts.map(\.promise.count).allSatisfy { $0 < 33 })
    }

    @Test(
        "no banner, one too many, a wrong badge, one for what is read: each violates the invariant",
        arguments: [
            (["banner m"], Int64(1), Int64(0), true), ([], 1, 0, false),
            (["foreground", "banner m"], 1, 0, false),
            (["banner m", "banner m"], 1, 0, false), (["banner m"], 0, 0, false),
            (["banner m"], 1, 1, false),
        ])
    func promises(events: [String], badge: Int64, read: Int64, isKept: Bool) throws {
        let scenario = try #require(NoticesScenario.all().first { $0.name == "test-1" })
        let run = Self.run(scenario, .reprise, events: events, badge: badge, unread: 1, read: read)
        #expect(NoticesDemo.Result(scenario: scenario, runs: [run]).isKept == isKept)
    }

    @Test(
        "a banner has its sender and its group",
        arguments: [("The team", true), ("ada", false)])
    func names(title: String, isKept: Bool) throws {
        let scenario = try #require(NoticesScenario.all().first { $0.name == "test-1" })
        let run = Self.run(scenario, .reprise, badge: 1, unread: 1, title: title)
        #expect(NoticesDemo.Result(scenario: scenario, runs: [run]).isKept == isKept)
    }

    @Test("a second alert that raced is forgiven where it is counted, and nowhere else")
    func races() throws {
        for (name, counted, isKept) in [
            ("at-once", 1, true), ("at-once", 0, false), ("test-1", 1, false),
        ] {
            let scenario = try #require(NoticesScenario.all().first { $0.name == name })
            let run = Self.run(
                scenario, .reprise, events: ["banner m", "banner m"], badge: 1, unread: 1,
                alerts: Int64(counted))
            #expect(NoticesDemo.Result(scenario: scenario, runs: [run]).isKept == isKept)
        }
    }

    @Test(
        "two phones and a terminal hold to the same: what is wrong on the other phone, or twice in the terminal, violates it",
        arguments: [
            (["banner m"], Int64(1), "The team", ["1 ada: Message m", "* 1 unread."], true),
            ([], 1, "The team", ["1 ada: Message m"], false),
            (["banner m", "banner m"], 1, "The team", ["1 ada: Message m"], false),
            (["banner m"], 0, "The team", ["1 ada: Message m"], false),
            (["banner m"], 1, "ada", ["1 ada: Message m"], false),
            (["banner m"], 1, "The team", ["1 ada: Message m", "1 ada: Message m"], false),
            (["banner m"], 1, "The team", [], false),
        ])
    func twoPhones(
        events: [String], badge: Int64, title: String, terminal: [String], isKept: Bool
    ) throws {
        let scenario = try #require(NoticesScenario.all().first { $0.phones == 2 })
        let other = Self.run(
            scenario, .reprise, events: events, badge: badge, unread: 1, title: title)
        let run = Self.run(
            scenario, .reprise, events: ["launched", "banner m"], badge: 1, unread: 1,
            others: [other], terminal: terminal)
        let result = NoticesDemo.Result(scenario: scenario, runs: [run])
        #expect(result.isKept == isKept)
        #expect(ScenarioTimeline(result).text(.plain).contains("terminal: ") != terminal.isEmpty)
    }

    private static func run(
        _ scenario: NoticesScenario, _ algorithm: NoticesAlgorithm,
        events: [String] = ["banner m"], badge: Int64,
        unread: Int64, read: Int64 = 0, alerts: Int64 = 0, title: String = "The team",
        others: [NoticesDemo.Run] = [], terminal: [String] = []
    ) -> NoticesDemo.Run {
        var content = NotificationContent(title: title, body: "Message m", info: [])
        content.subtitle = "ada"
        content.thread = "team"
        content.sound = true
        var ledger = LedgerSum()
        (ledger.accepted, ledger.outcomes) = (1, [.applied: 1])
        var notes = NoticesNotes(messages: [
            .init(id: "m", channel: "team", seq: 1, microseconds: 1, due: .banner)
        ])
        if !others.isEmpty { notes.said = ["m"] }
        return NoticesDemo.Run(
            scenario: scenario, app: algorithm,
            log: events.enumerated().map { index, event in
                let parts = event.split(separator: " ").map(String.init)
                return PhoneEvent(
                    number: index, at: WallTime(milliseconds: 0), microseconds: Int64(index + 2),
                    app: nil, what: parts[0], detail: parts.count > 1 ? parts[1] : "")
            },
            ledger: ledger,
            seen: .init(
                notes: notes, badge: badge,
                standings: ["team": NoticesStatus(read: read, unread: unread)],
                delivered: [NotificationRequest(id: "m", content: content)],
                secondAlerts: alerts, others: others,
                terminal: terminal.map { .init(text: $0, microseconds: 5) }))
    }

    private struct Run: Decodable {
        let faults: [String]
        let messages: Int
        let banners: Int
        let milliseconds: Int64?
        let badge: Int64
        let unread: Int64
        let secondAlerts: Int64
    }

    private static func play(_ arguments: [String]) async throws -> PlayedReport<Run> {
        try await LabTool.play("notices", arguments)
    }
}
