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
    let settings: DemoSettings

    func play() async throws -> TableReport {
        let began = ContinuousClock.now
        try say(heading: "1. What ships, in virtual time")
        let results = try await SimulationSearch(
            workloads: Workloads.all, from: seed, count: nil,
            budget: budget / Workloads.all.count, mutation: nil, tier: .model, jobs: jobs,
            isQuiet: settings.isQuiet
        ).run()
        try say(heading: "\n2. The case studies' own algorithms, in the same workloads")
        var judgements: [Judgement] = []
        var told: (baseline: Baseline, detection: Detection)?
        for baseline in Baseline.all where !Task.isCancelled {
            let detection = baseline.detect(choosingFrom: 1)
            let judgement = Judgement(baseline, detection)
            judgements.append(judgement)
            try settings.say(judgement.row(.output))
            if let detection, detection.lines.count < told?.detection.lines.count ?? .max {
                told = (baseline, detection)
            }
        }
        try Task.checkCancellation()
        if let told {
            try say(heading: "\n3. One of them, from beginning to end")
            try settings.say(told.baseline.account(of: told.detection))
        }
        return report(Evidence(results: results, judgements: judgements), took: .now - began)
    }

    private func say(heading: String) throws {
        try settings.say(Terminal.output.paint(heading, .bold))
    }

    // MARK: Expectations

    struct Evidence: Sendable {
        let results: [SimulationResult]
        let judgements: [Judgement]
    }

    /// The verdict on a baseline.
    struct Judgement: Encodable, ReportMember {
        let baseline: String
        let does: String
        let isDetected: Bool
        /// The number of random seeds tried.
        let tried: Int?
        let seed: UInt64?
        let broke: String?

        private enum CodingKeys: String, CodingKey {
            case baseline, does
            case isDetected = "convicted"
            case tried, seed, broke
        }

        init(_ baseline: Baseline, _ detection: Detection?) {
            self.baseline = baseline.name
            does = baseline.does
            isDetected = detection != nil
            tried = detection?.tried
            seed = detection?.whole.seed
            broke = detection?.violation.description
        }

        func row(_ terminal: Terminal) -> String {
            let name = "  " + baseline.left(22)
            guard let seed, let broke else {
                return name + terminal.paint("not detected: the proof cannot fail here", .red)
            }
            let disposition = "detected by seed \(seed): "
            return name + terminal.paint(disposition, .yellow)
                + broke.fitting(80 - 24 - disposition.count)
        }
    }

    static let expectations: [Expectation<Evidence>] = [
        Expectation("every invariant of what ships holds, in some schedules at least") { evidence in
            evidence.results.filter { $0.hasFailed || $0.report.schedules == 0 }.map {
                .init("violated", "violated", "\($0.workload): not every invariant held")
            }
        },
        Expectation("each of the case studies' own algorithms is detected") { evidence in
            let isEmpty = evidence.judgements.isEmpty
            let undetected = evidence.judgements.filter { !$0.isDetected }.map(\.baseline)
            return (isEmpty ? ["nobody"] : undetected).map {
                .init("not detected", "not detected", "\($0) was not detected: it cannot fail")
            }
        },
    ]

    // MARK: The report

    private func report(_ evidence: Evidence, took: Duration) -> TableReport {
        let faults = Self.expectations.flatMap { $0.faults(evidence) }
        let ours = evidence.results.map { result in
            let kills = Fault.Kind.kills.reduce(0) { $0 + (result.report.schedulesWith[$1] ?? 0) }
            return TableRow(
                "Reprise: \(result.workload)",
                [
                    (result.report.schedules.grouped, nil), (kills.grouped, nil),
                    result.hasFailed ? ("violated", .red) : ("held", .green),
                ])
        }
        let theirs = evidence.judgements.map { judgement in
            TableRow(
                judgement.baseline,
                [
                    (judgement.tried ?? 0).grouped, "",
                    judgement.isDetected ? "detected" : "not detected",
                ])
        }
        return TableReport(
            name: "proof", seed: seed, took: took,
            head: TableRow("who", ["schedules", "kills", "invariants"]), rows: ours + theirs,
            faults: faults, verdict: "The proof holds, and it can fail.",
            failure: "Something is wrong. Please report it with the seed.",
            explanation: """
                "kills": for each kind of kill, the schedules in which it struck.
                Took \(took.shown). Again: reprise-lab demo proof --seed \(seed)
                """,
            figures: [
                "workloads": SimulationSummary(evidence.results).workloads,
                "baselines": evidence.judgements,
            ])
    }
}

extension Fault.Kind {
    /// The faults that end a process.
    static let kills: [Fault.Kind] = [
        .killDevice, .killServer, .powerLossDevice, .powerLossServer,
    ]
}
