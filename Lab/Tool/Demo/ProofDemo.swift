import RepriseCommandLine
import RepriseCore
import RepriseSimulator

/// Runs the simulation for a while, then lets it detect the case studies' own algorithms: a proof,
/// and evidence that it can fail.
struct ProofDemo: Sendable {
    let seed: UInt64
    /// How long the search lasts.
    let budget: Duration
    let jobs: Int
    let isQuiet: Bool

    func play() async throws -> ProofReport {
        let began = ContinuousClock.now
        try say(Terminal.output.paint("1. What ships, in virtual time", .bold))
        let results = try await SimulationSearch(
            workloads: Workloads.all, from: seed, count: nil,
            budget: budget / Workloads.all.count, mutation: nil, tier: .model, jobs: jobs,
            isQuiet: isQuiet
        ).run()
        try say("")
        try say(Terminal.output.paint("2. The seeds' own algorithms, under the same eyes", .bold))
        var judgements: [ProofReport.Judgement] = []
        var told: (baseline: Baseline, detection: Detection)?
        for baseline in Baseline.all where !Task.isCancelled {
            let detection = baseline.detect(choosingFrom: 1)
            let judgement = ProofReport.Judgement(baseline, detection)
            judgements.append(judgement)
            try say(judgement.row(Terminal.output))
            if let detection, detection.lines.count < told?.detection.lines.count ?? .max {
                told = (baseline, detection)
            }
        }
        try Task.checkCancellation()
        if let told {
            try say("")
            try say(Terminal.output.paint("3. One of them, from beginning to end", .bold))
            try say(told.baseline.account(of: told.detection))
        }
        return ProofReport(
            seed: seed, results: results, judgements: judgements, took: .now - began)
    }

    private func say(_ line: String) throws {
        if !isQuiet { try StandardOutput.write(line) }
    }
}

/// The demo's result.
struct ProofReport: DemoReport {
    /// The verdict on a baseline.
    struct Judgement: Sendable, Encodable {
        var baseline: String
        var does: String
        var convicted: Bool
        /// The number of random seeds tried.
        var tried: Int?
        var seed: UInt64?
        var broke: String?

        init(_ baseline: Baseline, _ detection: Detection?) {
            self.baseline = baseline.name
            does = baseline.does
            convicted = detection != nil
            tried = detection?.tried
            seed = detection?.whole.seed
            broke = detection?.violation.description
        }

        func row(_ terminal: Terminal) -> String {
            let name = "  " + baseline.left(22)
            guard let seed, let broke else {
                return name + terminal.paint("acquitted: the proof cannot fail here", .red)
            }
            let disposition = "detected by seed \(seed): "
            let room = 80 - 24 - disposition.count
            let what = broke.count > room ? broke.prefix(max(0, room - 1)) + "…" : broke[...]
            return name + terminal.paint(disposition, .yellow) + what
        }
    }

    private struct Summary: Encodable {
        var scenario = "proof"
        var seed: UInt64
        var passed: Bool
        var workloads: [SimulationSummary.Workload]
        var baselines: [Judgement]
        var milliseconds: Int64
    }

    var seed: UInt64
    var results: [SimulationResult]
    var judgements: [Judgement]
    var took: Duration

    /// The shipping code violated no invariant, and all baselines that should fail did.
    var hasPassed: Bool {
        !results.contains(where: \.hasFailed) && results.allSatisfy { $0.report.schedules > 0 }
            && !judgements.isEmpty && judgements.allSatisfy(\.convicted)
    }

    func json() throws -> String {
        try Summary(
            seed: seed, passed: hasPassed, workloads: SimulationSummary(results).workloads,
            baselines: judgements, milliseconds: took.milliseconds
        ).line()
    }

    var accounts: [DemoAccount] { [] }

    func rest(_ terminal: Terminal) -> String {
        var lines = [
            "",
            terminal.paint(
                "who".left(24) + "schedules".right(12) + "kills".right(12) + "  result", .bold),
        ]
        for result in results {
            let kills = Fault.Kind.kills.reduce(0) { $0 + (result.report.schedulesWith[$1] ?? 0) }
            lines.append(
                "Reprise: \(result.workload)".left(24) + result.report.schedules.grouped.right(12)
                    + kills.grouped.right(12)
                    + (result.hasFailed
                        ? terminal.paint("  an invariant was violated", .red)
                        : terminal.paint("  every invariant held", .green)))
        }
        for judgement in judgements {
            let disposition = judgement.convicted ? "  convicted" : "  acquitted"
            lines.append(
                judgement.baseline.left(24) + (judgement.tried ?? 0).grouped.right(12)
                    + "".right(12) + disposition)
        }
        lines += [
            "",
            hasPassed
                ? terminal.paint("The proof holds, and it can fail.", .green)
                : terminal.paint("Something is wrong. Please report it with the seed.", .red),
            "\"kills\": for each kind of kill, the schedules in which it struck.",
            "Took \(took.shown). Again: reprise-lab demo proof --seed \(seed)",
        ]
        return lines.joined(separator: "\n")
    }
}

extension Fault.Kind {
    /// The faults that end a process.
    static let kills: [Fault.Kind] = [
        .killDevice, .killServer, .powerLossDevice, .powerLossServer,
    ]
}
