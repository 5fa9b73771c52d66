import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseLab

/// The demo's scenarios, held to what each has to come to; the tool asks the browser and the
/// ledger.
@Suite("demo forms")
struct FormsDemoTests {
    @Test(
        "every scenario ends with the forms that were promised, each seen once", arguments: 0..<2)
    func all(half: Int) async throws {
        let folder = try TemporaryFolder()
        let scenarios = FormsScenario.all().half(half)
        let report = try await Self.play(
            ["--alone", "--output", folder.url.path] + scenarios.flatMap { ["--only", $0.name] })
        #expect(report.passed)
        #expect(report.scenarios.count == scenarios.count)
        for (scenario, result) in zip(scenarios, report.scenarios) {
            #expect(result.name == scenario.name)
            #expect(result.apps["reprise"]?.seen == scenario.forms, "\(scenario.name)")
            #expect(result.expected == scenario.forms, "\(scenario.name)")
            #expect(result.ledger["pending"] == 0, "\(scenario.name)")
            for (outcome, count) in scenario.outcomes {
                #expect(result.ledger[outcome.rawValue] == count, "\(scenario.name)")
            }
        }
        let picture = try #require(report.picture)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: picture))
        #expect(bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]) && bytes.count > 2_000)
    }

    @Test(
        "the original apps show the form where the case study says so, and lose it where they can")
    func originals() async throws {
        let names = ["running", "terminated-fast", "killed-once"]
        let folder = try TemporaryFolder()
        let report = try await Self.play(
            names.flatMap { ["--only", $0] } + ["--output", folder.url.path])
        #expect(report.passed)
        let dispositions = report.scenarios.map { result in
            ["optional-chaining", "wait-three-seconds", "reprise"].map {
                result.apps[$0]?.disposition ?? "none"
            }
        }
        #expect(
            dispositions == [
                ["right", "right", "right"], ["lost", "right", "right"], ["lost", "lost", "right"],
            ])
    }

    @Test("the table fits into 80 columns, and names every scenario once")
    func columns() {
        LabTool.checkTable(of: FormsDemo.self) { Self.run($0, $1) }
    }

    @Test(
        "a form too few, too many, another, a link not followed, a wrong ledger: each is a violation",
        arguments: [
            ("running", ["Welcome"], [], Outcome.applied, true),
            ("running", [], [], .applied, false),
            ("running", ["Welcome", "Welcome"], [], .applied, false),
            ("running", ["Most important"], [], .applied, false),
            ("running", ["Welcome"], [], .expired, false),
            ("deep-link", ["Leads on"], ["deepLink demo://cart"], .applied, true),
            ("deep-link", ["Leads on"], [], .applied, false),
        ])
    func expectations(
        name: String, forms: [String], reports: [String], outcome: Outcome, isKept: Bool
    ) throws {
        let scenario = try #require(FormsScenario.all().first { $0.name == name })
        let run = Self.run(
            scenario, .reprise, forms, reports, [outcome: scenario.outcomes.values.reduce(0, +)])
        #expect(FormsDemo.Result(scenario: scenario, runs: [run]).isKept == isKept)
    }

    private static func run(
        _ scenario: FormsScenario, _ app: FormsAlgorithm, _ forms: [String] = [],
        _ reports: [String] = [],
        _ outcomes: [Outcome: Int64] = [:]
    ) -> FormsDemo.Run {
        var ledger = LedgerSum()
        (ledger.accepted, ledger.outcomes) = (outcomes.values.reduce(0, +), outcomes)
        return FormsDemo.Run(
            scenario: scenario, app: app,
            log: reports.map { report in
                let words = report.split(separator: " ").map(String.init)
                return PhoneEvent(
                    number: 1, at: WallTime(milliseconds: 0), microseconds: 0, app: nil,
                    what: "app." + words[0], detail: words[1])
            }, ledger: ledger,
            seen: .init(sightings: forms.map { .init(title: $0, microseconds: 0) }))
    }

    private struct Run: Decodable {
        let disposition: String
        let seen: [String]

        private enum CodingKeys: String, CodingKey {
            case disposition = "verdict"
            case seen
        }
    }

    private static func play(_ arguments: [String]) async throws -> PlayedReport<Run> {
        try await LabTool.play("forms", arguments)
    }
}
