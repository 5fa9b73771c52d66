import Foundation
import RepriseCore

/// The scenario `reminders`: the cases of `case-reminder-routing` and more, in real processes, with
/// three apps.
struct RemindersDemo: Sendable {
    let scenarios: [RemindersScenario]
    let algorithms: [RemindersAlgorithm]
    /// The folder for the report; nil: terminal only.
    let output: URL?
    let printsTimelines: Bool
    let isQuiet: Bool

    /// Plays all, and prints each as soon as it is over.
    func play() async throws -> RemindersReport {
        let began = ContinuousClock.now
        try say(RemindersReport.head(algorithms, .output))
        let results = try await results()
        let report = RemindersReport(
            results: results, algorithms: algorithms, took: .now - began)
        if printsTimelines {
            for result in results { try say(RemindersTimeline(result).text(.output)) }
        }
        try say(report.foot(.output))
        if let output { try save(report, in: output) }
        return report
    }

    /// Played on two phones at once: one for all whose times count, one for the others.
    private func results() async throws -> [RemindersResult] {
        let score = RemindersScore(scenarios.count) { result in
            try say(RemindersReport.row(result, algorithms, .output))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for isUntimed in [false, true] {
                let part = scenarios.indices.filter { scenarios[$0].isUntimed == isUntimed }
                guard !part.isEmpty else { continue }
                group.addTask {
                    try await RemindersDemoFixture.with { stage in
                        for index in part {
                            try await score.note(try await play(scenarios[index], on: stage), index)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        return await score.results
    }

    private func play(_ scenario: RemindersScenario, on stage: RemindersDemoFixture) async throws
        -> RemindersResult
    {
        var runs: [RemindersRun] = []
        for algorithm in algorithms where scenario.isOfSeed || algorithm == .reprise {
            try Task.checkCancellation()
            runs.append(try await stage.play(scenario, as: algorithm))
        }
        return RemindersResult(scenario: scenario, runs: runs)
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

/// The results in the order of the scenarios, whichever are there first.
private actor RemindersScore {
    private var noted: [RemindersResult?]
    private var told = 0
    private let tell: @Sendable (RemindersResult) throws -> Void

    init(_ count: Int, tell: @escaping @Sendable (RemindersResult) throws -> Void) {
        noted = Array(repeating: nil, count: count)
        self.tell = tell
    }

    var results: [RemindersResult] { noted.compactMap(\.self) }

    /// Reports all results up to the first missing one.
    func note(_ result: RemindersResult, _ index: Int) throws {
        noted[index] = result
        while told < noted.count, let next = noted[told] {
            try tell(next)
            told += 1
        }
    }
}
