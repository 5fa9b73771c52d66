import Foundation
import RepriseCore

/// The scenario `notices`: the cases of `case-badge-banner` and more, in real processes, with two
/// apps.
struct NoticesDemo: Sendable {
    /// The number of phones, each with a server.
    static let stages = 5

    let scenarios: [NoticesScenario]
    let algorithms: [NoticesAlgorithm]
    /// The folder for the report; nil: terminal only.
    let output: URL?
    let printsTimelines: Bool
    let isQuiet: Bool

    /// Plays all, and prints each as soon as it is over.
    func play() async throws -> NoticesReport {
        let began = ContinuousClock.now
        try say(NoticesReport.head(algorithms, .output))
        let results = try await results()
        let report = NoticesReport(results: results, algorithms: algorithms, took: .now - began)
        if printsTimelines {
            for result in results { try say(NoticesTimeline(result).text(.output)) }
        }
        try say(report.foot(.output))
        if let output { try save(report, in: output) }
        return report
    }

    /// Whichever phone is free plays the next: most of a scenario is waiting for a push.
    private func results() async throws -> [NoticesResult] {
        let score = NoticesScore(scenarios, algorithms) { result in
            try say(NoticesReport.row(result, algorithms, .output))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<min(Self.stages, await score.parts) {
                group.addTask {
                    try await NoticesDemoFixture.with { stage in
                        while let (index, algorithm) = await score.next() {
                            try Task.checkCancellation()
                            let run = try await play(scenarios[index], algorithm, stage)
                            try await score.note(run, index)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        return await score.results
    }

    private func play(
        _ scenario: NoticesScenario, _ algorithm: NoticesAlgorithm, _ stage: NoticesDemoFixture
    ) async throws -> NoticesRun {
        guard scenario.isAlone else { return try await stage.play(scenario, as: algorithm) }
        return try await NoticesDemoFixture.with { try await $0.play(scenario, as: algorithm) }
    }

    private func say(_ text: String) throws {
        if !isQuiet { try StandardOutput.write(text) }
    }

    private func save(_ report: NoticesReport, in folder: URL) throws {
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let text =
                [report.table(.plain)] + report.results.map { NoticesTimeline($0).text(.plain) }
            for (name, content) in [
                ("notices.txt", text.joined(separator: "\n") + "\n"),
                ("notices.json", try report.json() + "\n"),
            ] {
                try Data(content.utf8).write(to: folder.appendingPathComponent(name))
            }
        } catch {
            throw CommandFailure(
                .cannotCreate, "The report cannot be written to \(folder.path): \(error)")
        }
    }
}

/// Distributes the scenarios, and collects the results in their order.
private actor NoticesScore {
    private let scenarios: [NoticesScenario]
    private let work: [(index: Int, algorithm: NoticesAlgorithm)]
    private var begun = 0
    private var runs: [[NoticesRun]]
    private var told = 0
    private let tell: @Sendable (NoticesResult) throws -> Void

    init(
        _ scenarios: [NoticesScenario], _ algorithms: [NoticesAlgorithm],
        tell: @escaping @Sendable (NoticesResult) throws -> Void
    ) {
        self.scenarios = scenarios
        let all = scenarios.indices.flatMap { index in
            algorithms.filter { scenarios[index].isOfSeed || $0 == .reprise }.map { (index, $0) }
        }
        // Those that wait for pushes begin first, so that none runs alone at the end.
        let isLong = { (part: (Int, NoticesAlgorithm)) in
            scenarios[part.0].isPushed && part.1 == .reprise
        }
        work = all.filter(isLong) + all.filter { !isLong($0) }
        runs = Array(repeating: [], count: scenarios.count)
        self.tell = tell
    }

    var parts: Int { work.count }

    var results: [NoticesResult] { scenarios.indices.map(result) }

    private func result(_ index: Int) -> NoticesResult {
        NoticesResult(scenario: scenarios[index], runs: runs[index])
    }

    func next() -> (Int, NoticesAlgorithm)? {
        guard begun < work.count else { return nil }
        begun += 1
        return work[begun - 1]
    }

    /// Reports all results up to the first missing one.
    func note(_ run: NoticesRun, _ index: Int) throws {
        runs[index].append(run)
        while told < scenarios.count,
            runs[told].count == work.count(where: { $0.index == told })
        {
            try tell(result(told))
            told += 1
        }
    }
}
