import Foundation
import RepriseTestSupport
import Testing

/// The real binary `reprise-lab`, run as a person runs it.
enum LabTool {
    static func run(
        _ arguments: [String], environment: [String: String] = [:], limit: Double = 60
    ) async throws -> Tool.Result {
        try await Tool.run(arguments, program: .lab, environment: environment, limit: limit)
    }

    static func run(_ arguments: String...) async throws -> Tool.Result { try await run(arguments) }

    /// Plays scenarios of a demo, and says of each that is not right what is wrong.
    static func play<Report: Decodable>(
        _ demo: String, _ arguments: [String], as: Report.Type = Report.self
    ) async throws -> Report {
        let result = try await run(["demo", demo, "--json"] + arguments, limit: 240)
        let output = Data(result.output.utf8)
        let report = try? JSONDecoder().decode(PlayedScenarios.self, from: output)
        let wrong = (report?.scenarios ?? []).filter { !$0.kept }
        #expect(result.status == 0, "\(wrong) \(result.error)")
        return try JSONDecoder().decode(Report.self, from: output)
    }

    private struct PlayedScenarios: Decodable {
        struct Scenario: Decodable {
            struct Run: Decodable { let faults: [String] }

            let name: String
            let kept: Bool
            let apps: [String: Run]
            let ledger: [String: Int64]
        }

        let scenarios: [Scenario]
    }
}

extension Sequence {
    /// Every second element: a test that plays all scenarios in two halves ends within a minute.
    func half(_ number: Int) -> [Element] {
        enumerated().filter { $0.offset % 2 == number }.map(\.element)
    }
}
