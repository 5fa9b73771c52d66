import RepriseSimulator
import Testing

extension Workload {
    /// Fails the test at the first seed that violates an invariant; prints the smallest run that
    /// does, and how to replay it.
    func expectHolds(
        _ seeds: some Sequence<UInt64>, on tier: Tier = .model,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for seed in seeds {
            guard let found = detection(seeds: seed..<seed + 1, tier: tier) else { continue }
            let replay = found.replay(of: self, tier: tier)
            return record(found.violation, seed, replay, found.lines, sourceLocation)
        }
    }

    /// Fails the test if the schedule violates an invariant.
    func expectHolds(
        _ schedule: FaultSchedule, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let outcome = run(schedule, isTracing: true)
        guard let violation = outcome.violation else { return }
        let options = schedule.options(reducedFrom: self.schedule(seed: schedule.seed))
        record(
            violation, schedule.seed, "reprise-lab simulate --workload \(name) \(options)",
            outcome.lines, sourceLocation)
    }

    private func record(
        _ violation: Violation, _ seed: UInt64, _ replay: String, _ lines: [TraceLine],
        _ sourceLocation: SourceLocation
    ) {
        Issue.record(
            """
            \(name), seed \(seed): \(violation)
            Replay: \(replay)
            \(lines.timeline().joined(separator: "\n"))
            """, sourceLocation: sourceLocation)
    }

    /// Fails the test if a second run of a seed differs in one line of its trace.
    ///
    /// - Returns: the trace.
    @discardableResult
    func expectRepeats(
        seed: UInt64, sourceLocation: SourceLocation = #_sourceLocation
    ) -> [TraceLine] {
        let runs = (0..<2).map { _ in run(schedule(seed: seed), isTracing: true).lines }
        #expect(runs[0] == runs[1], sourceLocation: sourceLocation)
        #expect(runs[0].count > 50, sourceLocation: sourceLocation)
        return runs[0]
    }

    /// Fails the test where no seed shows that a wrong driver violates this invariant, or 21 show
    /// that it violates others.
    func expectDetected(
        _ mutation: Mutation, _ invariant: Invariant, in seeds: Range<UInt64>,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var found: [Invariant] = []
        for seed in seeds where found.count <= 20 {
            guard let violation = run(schedule(seed: seed), mutation: mutation).violation else {
                continue
            }
            if violation.invariant == invariant { return }
            found.append(violation.invariant)
        }
        Issue.record(
            "\(mutation.text), and nobody noticed \(invariant), only \(found)",
            sourceLocation: sourceLocation)
    }
}
