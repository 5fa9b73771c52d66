import Foundation
import RepriseCommandLine
import RepriseTestSupport
import Testing

@testable import RepriseLab

/// The real binary `reprise-lab`, run as a person runs it.
enum LabTool {
    static func run(
        _ arguments: [String], environment: [String: String] = [:], limit: Double = 60
    ) async throws -> Tool.Result {
        try await Tool.run(arguments, program: .lab, environment: environment, limit: limit)
    }

    static func run(_ arguments: String...) async throws -> Tool.Result { try await run(arguments) }

    /// Plays scenarios of a demo, and says of each that is not right what is wrong.
    static func play<Run: Decodable>(
        _ demo: String, _ arguments: [String]
    ) async throws -> PlayedReport<Run> {
        let result = try await run(["demo", demo, "--json"] + arguments, limit: 240)
        let output = Data(result.output.utf8)
        let report = try? JSONDecoder().decode(PlayedReport<Faults>.self, from: output)
        let wrong = (report?.scenarios ?? []).filter { !$0.kept }
        #expect(result.status == 0, "\(wrong) \(result.error)")
        return try JSONDecoder().decode(PlayedReport<Run>.self, from: output)
    }

    private struct Faults: Decodable { let faults: [String] }

    /// A table of all scenarios with these runs, which are wrong, fits into 80 columns; no two
    /// scenarios have one name.
    @discardableResult
    static func checkTable<Demo: ScenarioDemo>(
        of _: Demo.Type, _ run: (Demo.Script, Demo.App) -> Demo.Run
    ) -> ScenarioReport<Demo> {
        let scenarios = Demo.Script.all(DemoSettings())
        #expect(Set(scenarios.map(\.name)).count == scenarios.count)
        let apps = Array(Demo.App.allCases)
        let results = scenarios.map { scenario in
            ScenarioResult<Demo>(scenario: scenario, runs: apps.map { run(scenario, $0) })
        }
        let report = ScenarioReport<Demo>(results: results, apps: apps, took: .seconds(90))
        #expect(!report.hasPassed)
        for line in report.table(.plain).split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
        }
        return report
    }
}

/// A demo's report for programs; a run has members of its feature.
struct PlayedReport<Run: Decodable>: Decodable {
    struct Scenario: Decodable {
        let name: String
        let kept: Bool
        /// Of forms and reminders: what has to be seen.
        let expected: [String]?
        /// Of chains.
        let faults: [String]?
        let apps: [String: Run]
        let ledger: [String: Int64]
    }

    let scenario: String
    let passed: Bool
    let scenarios: [Scenario]
    let milliseconds: Int64
    let picture: String?
}

extension Sequence {
    /// Every second element: a test that plays all scenarios in two halves ends within a minute.
    func half(_ number: Int) -> [Element] {
        enumerated().filter { $0.offset % 2 == number }.map(\.element)
    }
}
