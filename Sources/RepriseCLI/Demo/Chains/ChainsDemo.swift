import Foundation
import RepriseCore

/// The scenario `chains`: real processes, beside the store of the case study `case-task-chain`.
struct ChainsDemo: Sendable {
    let scenarios: [ChainsScenario]
    let scale: ChainsScale
    let algorithms: [ChainsAlgorithm]
    /// The folder for the effects of each run; nil: none.
    let output: URL?
    /// Whether each scenario prints its events.
    let tells: Bool
    let isQuiet: Bool

    /// Plays all, and prints each as soon as it is over.
    func play() async throws -> ChainsReport {
        let began = ContinuousClock.now
        if !isQuiet, !tells {
            try StandardOutput.write(
                ChainsReport.head(Terminal.output).joined(separator: "\n"))
        }
        let results = try await ChainsDemoFixture.with(output: output, scale: scale) { stage in
            var results: [ChainsResult] = []
            for scenario in scenarios {
                try Task.checkCancellation()
                var runs: [ChainsRun] = []
                for algorithm in algorithms where scenario.isOfSeed || algorithm == .reprise {
                    runs.append(try await stage.play(scenario, as: algorithm))
                }
                let result = ChainsResult(scenario: scenario, runs: runs)
                try show(result)
                results.append(result)
            }
            return results
        }
        return ChainsReport(results: results, took: .now - began)
    }

    private func show(_ result: ChainsResult) throws {
        guard !isQuiet else { return }
        if tells {
            for run in result.runs {
                try StandardOutput.write(ChainsTimeline(result, run).text(Terminal.output))
            }
            try StandardOutput.write(
                "\n" + ChainsReport.head(Terminal.output).joined(separator: "\n"))
        }
        try StandardOutput.write(
            ChainsReport.rows(result, Terminal.output).joined(separator: "\n"))
    }
}
