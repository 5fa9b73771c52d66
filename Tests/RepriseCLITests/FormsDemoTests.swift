import Foundation
import RepriseCore
import Testing

@testable import RepriseCLI

/// The demo's scenarios, held to what each has to come to; the tool asks the browser and the
/// ledger.
@Suite("demo forms")
struct FormsDemoTests {
    @Test("every scenario of seed 000 ends with the forms that were promised, each seen once")
    func all() async throws {
        let folder = try Folder()
        let report = try await Self.play(["--alone", "--output", folder.url.path])
        #expect(report.passed)
        #expect(report.scenarios.count == FormsScenario.all.count)
        for (scenario, result) in zip(FormsScenario.all, report.scenarios) {
            #expect(result.name == scenario.name)
            #expect(result.apps["reprise"]?.seen == scenario.forms, "\(scenario.name)")
            #expect(result.ledger["pending"] == 0, "\(scenario.name)")
            for (outcome, count) in scenario.outcomes {
                #expect(result.ledger[outcome.rawValue] == count, "\(scenario.name)")
            }
        }
        let picture = try #require(report.picture)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: picture))
        #expect(bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]) && bytes.count > 2_000)
    }

    @Test("the seed's own code shows the form where the seed says so, and loses it where it can")
    func seeds() async throws {
        let names = ["running", "terminated-fast", "killed-once"]
        let folder = try Folder()
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
        #expect(Set(FormsScenario.all.map(\.name)).count == FormsScenario.all.count)
        let results = FormsScenario.all.map { FormsResult(scenario: $0, runs: []) }
        let report = FormsReport(
            results: results, algorithms: FormsAlgorithm.allCases, picture: nil, took: .seconds(90))
        #expect(!report.hasPassed)
        for line in report.table(Terminal.output).split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
        }
    }

    private struct Report: Decodable {
        struct Run: Decodable {
            let disposition: String
            let seen: [String]

            private enum CodingKeys: String, CodingKey {
                case disposition = "verdict"
                case seen
            }
        }

        struct Scenario: Decodable {
            let name: String
            let apps: [String: Run]
            let ledger: [String: Int64]
        }

        let passed: Bool
        let scenarios: [Scenario]
        let picture: String?
    }

    private static func play(_ arguments: [String]) async throws -> Report {
        let result = try await Tool.run(["demo", "forms", "--json"] + arguments, limit: 240)
        #expect(result.status == 0, "\(result.error)")
        return try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
    }
}
