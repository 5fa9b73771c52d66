import Foundation
import RepriseCore
import Testing

@testable import RepriseCLI

/// The demo's scenarios, held to what each has to come to; a file outside the journal says what was
/// done.
@Suite("demo chains")
struct ChainsDemoTests {
    @Test("every scenario of chains ends as it was promised, whatever was killed")
    func all() async throws {
        let report = try await Self.play(["--alone"])
        #expect(report.passed)
        #expect(report.scenarios.map(\.name) == ChainsScenario.all().map(\.name))
        for result in report.scenarios {
            #expect(result.kept, "\(result.name): \(result.faults)")
        }
    }

    @Test("the seed's store goes on at step 2 as it says, and does finished tasks of a step again")
    func seeds() async throws {
        let names = ["seed-flow", "parallel", "effect", "retried"]
        let report = try await Self.play(names.flatMap { ["--only", $0] })
        #expect(report.passed)
        let runs = report.scenarios.compactMap { $0.apps["single-value"] }
        #expect(runs.map(\.lost) == [0, 0, 0, 1])
        let again = runs.map(\.again)
        try #require(again.count == 4)
        #expect(again[0] == 0 && again[1] >= 3 && again[2] == 2)
        let ours = report.scenarios.compactMap { $0.apps["reprise"] }
        #expect(ours.map(\.lost) == [0, 0, 0, 0])
        #expect(ours.map(\.again) == [0, 0, 1, 0])
    }

    @Test(
        "on a disk that is full the seed's store goes on with a chain whose position it could not keep",
        .enabled(if: SmallDisk.isPossible, "needs root on Linux"))
    func fullDisk() async throws {
        let report = try await Self.play(["--only", "full"])
        #expect(report.passed)
        let apps = try #require(report.scenarios.first?.apps)
        #expect(try #require(apps["single-value"]).again >= 1)
        #expect(try #require(apps["reprise"]).lost == 0)
    }

    @Test("the table fits into 80 columns, and names every scenario once")
    func columns() {
        #expect(Set(ChainsScenario.all().map(\.name)).count == ChainsScenario.all().count)
        let results = ChainsScenario.all().map { ChainsResult(scenario: $0, runs: []) }
        let report = ChainsReport(results: results, took: .seconds(60))
        #expect(!report.hasPassed)
        for scenario in ChainsScenario.all() + ChainsScenario.all(.full) {
            #expect(scenario.title.count < 32)
        }
        for line in report.table(Terminal.output).split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
        }
    }

    private struct Report: Decodable {
        struct Run: Decodable {
            let again: Int
            let lost: Int
        }

        struct Scenario: Decodable {
            let name: String
            let kept: Bool
            let faults: [String]
            let apps: [String: Run]
        }

        let passed: Bool
        let scenarios: [Scenario]
    }

    private static func play(_ arguments: [String]) async throws -> Report {
        let result = try await Tool.run(["demo", "chains", "--json"] + arguments, limit: 180)
        #expect(result.status == 0, "\(result.error)")
        return try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
    }
}
