import Foundation
import RepriseCore
import ReprisePhone

/// The scenario `forms`: every timeline and table of `case-push-form`, in real processes, with
/// three apps.
struct FormsDemo: Sendable {
    let scenarios: [FormsScenario]
    let algorithms: [FormsAlgorithm]
    /// The file for the picture.
    let output: URL
    let isQuiet: Bool

    /// Plays all, and prints each as soon as it is over.
    func play() async throws -> FormsReport {
        let began = ContinuousClock.now
        let results = try await FormsDemoFixture.with { stage in
            var results: [FormsResult] = []
            for (index, scenario) in scenarios.enumerated() {
                try Task.checkCancellation()
                Terminal.error.replaceLine(
                    "  \(index + 1) of \(scenarios.count): \(scenario.title)")
                let result = try await play(scenario, on: stage, takingPicture: results.isEmpty)
                if !isQuiet {
                    try StandardOutput.write(FormsTimeline(result).text(Terminal.output))
                }
                results.append(result)
            }
            Terminal.error.replaceLine("")
            return results
        }
        let picture = try results.lazy.flatMap(\.runs).compactMap(\.picture).first.map(save)
        return FormsReport(
            results: results, algorithms: algorithms, picture: picture, took: .now - began)
    }

    private func play(
        _ scenario: FormsScenario, on stage: FormsDemoFixture, takingPicture: Bool
    ) async throws -> FormsResult {
        var runs: [FormsRun] = []
        for algorithm in algorithms where scenario.isOfSeed || algorithm == .reprise {
            runs.append(try await stage.play(scenario, as: algorithm, takingPicture: false))
        }
        if takingPicture, let form = scenario.forms.first {
            // A play of its own: a picture takes time, which would be measured.
            let run = try await stage.play(scenario, as: .reprise, takingPicture: true)
            if run.sightings.first?.title == form, let last = runs.indices.last {
                runs[last].picture = run.picture
            }
        }
        return FormsResult(scenario: scenario, runs: runs)
    }

    private func save(_ picture: Data) throws -> URL {
        do {
            try FileManager.default.createDirectory(at: output, withIntermediateDirectories: true)
            let file = output.appendingPathComponent("form.png")
            try picture.write(to: file)
            return file
        } catch {
            throw CommandFailure(
                .cannotCreate, "The picture cannot be written to \(output.path): \(error)")
        }
    }
}

/// The results of the apps in one scenario.
struct FormsResult: Sendable {
    /// The expected forms compared with those seen.
    enum Disposition: Sendable {
        case right
        case lost(Int)
        case twice(Int)
        case other
    }

    let scenario: FormsScenario
    let runs: [FormsRun]

    func run(_ algorithm: FormsAlgorithm) -> FormsRun? {
        runs.first { $0.algorithm == algorithm }
    }

    func disposition(_ run: FormsRun) -> Disposition {
        let seen = run.sightings.map(\.title)
        if seen == scenario.forms { return .right }
        if seen.count < scenario.forms.count { return .lost(scenario.forms.count - seen.count) }
        return seen.count > scenario.forms.count
            ? .twice(seen.count - scenario.forms.count) : .other
    }

    /// Whether all invariants held; nil: Reprise did not run.
    var isKept: Bool {
        guard let run = run(.reprise), let ledger = run.ledger else { return false }
        guard case .right = disposition(run) else { return false }
        let said = run.log.map { "\($0.what) \($0.detail)" }
        guard scenario.says.allSatisfy({ said.contains("app." + $0) }) else { return false }
        return ledger.isSettled(as: scenario.outcomes)
    }

    /// From when a form could be shown to when it was seen; nil if none was.
    func time(_ run: FormsRun) -> Duration? {
        guard let seen = run.sightings.first?.microseconds, let start = start(of: run) else {
            return nil
        }
        // The log's time of the drawing: on a busy machine the observer is late.
        let drawn = run.log.first { $0.what == "app.formDidAppear" }?.microseconds ?? seen
        return .microseconds(min(seen, drawn) - start)
    }

    private func start(of run: FormsRun) -> Int64? {
        switch scenario.start {
        case .tap: run.log.first { $0.what == "tapped" }?.microseconds
        case .online: run.log.last { $0.what == "network" }?.microseconds
        case .launch: run.log.last { $0.what == "launched" }?.microseconds
        }
    }
}
