import Foundation
import RepriseCore

/// The scenario `reminders`: what seed 002 tells of and what it does not, for real, with three apps.
struct RemindersDemo: Sendable {
    let scenarios: [RemindersScenario]
    let algorithms: [RemindersAlgorithm]
    /// Where the report goes beside the terminal.
    let output: URL?
    let printsTimelines: Bool
    let isQuiet: Bool

    /// Plays all, and prints each as soon as it is over.
    func play() async throws -> RemindersReport {
        let began = ContinuousClock.now
        try say(RemindersReport.head(algorithms, .output))
        let results = try await RemindersStage.with { stage in
            var results: [RemindersResult] = []
            for scenario in scenarios {
                var runs: [RemindersRun] = []
                for algorithm in algorithms where scenario.isOfSeed || algorithm == .reprise {
                    try Task.checkCancellation()
                    runs.append(try await stage.play(scenario, as: algorithm))
                }
                let result = RemindersResult(scenario: scenario, runs: runs)
                try say(RemindersReport.row(result, algorithms, .output))
                results.append(result)
            }
            return results
        }
        let report = RemindersReport(
            results: results, algorithms: algorithms, took: .now - began)
        if printsTimelines {
            for result in results { try say(RemindersTimeline(result).text(.output)) }
        }
        try say(report.foot(.output))
        if let output { try save(report, in: output) }
        return report
    }

    private func say(_ text: String) throws {
        if !isQuiet { try StandardOutput.write(text) }
    }

    private func save(_ report: RemindersReport, in folder: URL) throws {
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let text =
                [report.table(.plain)]
                + report.results.map { RemindersTimeline($0).text(.plain) }
            for (name, content) in [
                ("reminders.txt", text.joined(separator: "\n") + "\n"),
                ("reminders.json", try report.json() + "\n"),
            ] {
                try Data(content.utf8).write(to: folder.appendingPathComponent(name))
            }
        } catch {
            throw CommandFailure(
                .cannotCreate, "The report cannot be written to \(folder.path): \(error)")
        }
    }
}
