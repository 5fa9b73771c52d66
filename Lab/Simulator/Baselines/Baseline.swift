/// An original algorithm, to be detected: the proof that the proof can fail.
package struct Baseline: Sendable {
    /// The case study's number and its version: `001-repaired`.
    package let name: String
    /// The document that it is transcribed from, by its number.
    package let seed: String
    /// One line: what it does.
    package let does: String
    /// One line: what it should have kept instead, and which feature keeps it.
    package let shouldHaveKept: String
    package let workload: any Workload
    /// The same workload with a machine of ours, which must hold; nil: there is none.
    package var control: (any Workload)?

    /// All of them, by case study and version; none of them may survive ``seeds``.
    package static let all: [Baseline] = forms + channels + reminders + chains + notices

    /// Within how many seeds each has to be detected.
    package static let seeds: Range<UInt64> = 0..<10_000

    /// The baseline of this name.
    package static func named(_ name: String) -> Baseline? { all.first { $0.name == name } }

    /// Lets the simulation find what it loses or does twice.
    ///
    /// A story is for people, so of the first few seeds that detect it the one with the shortest
    /// trace is told.
    ///
    /// - Parameters:
    ///   - seeds: where to look.
    ///   - kinds: leave all faults but these out of the schedules; empty: leave them as they are
    ///     drawn.
    ///   - count: how many detections to choose from.
    /// - Returns: the detection, shrunk, with its trace, and how many seeds the first one took;
    ///   nil: it stands acquitted.
    package func detect(
        seeds: Range<UInt64> = Baseline.seeds, by kinds: [Fault.Kind] = [],
        choosingFrom count: Int = 8
    ) -> Detection? {
        var shortest: Detection?
        var tried: Int?
        var from = seeds.lowerBound
        for _ in 0..<count {
            guard from < seeds.upperBound,
                let found = detection(workload, seeds: from..<seeds.upperBound, by: kinds)
            else { break }
            tried = tried ?? found.tried
            if found.lines.count < shortest?.lines.count ?? .max { shortest = found }
            from = found.whole.seed + 1
        }
        if let tried { shortest?.tried = tried }
        return shortest
    }

    private func detection(
        _ workload: some Workload, seeds: Range<UInt64>, by kinds: [Fault.Kind]
    ) -> Detection? {
        guard !kinds.isEmpty else { return workload.detection(seeds: seeds) }
        return OfSomeKinds(workload: workload, kinds: kinds).detection(seeds: seeds)
    }

    /// The judgement in plain words, with the trace line by line and the options that replay it.
    package func account(of detection: Detection) -> String {
        let shrunk = detection.shrunk
        let options = shrunk.options(reducedFrom: workload.schedule(seed: shrunk.seed))
        var lines = [
            "\(name): \(does)",
            "detected after \(detection.tried) seed(s); one that detects it, shrunk:",
            "reprise-lab simulate --workload \(workload.name) \(options)",
        ]
        lines += detection.lines.timeline()
        lines.append("it should have kept: \(shouldHaveKept)")
        return lines.joined(separator: "\n")
    }

    /// With three digits behind the point; without a formatter, which depends on the place.
    static func seconds(_ time: Duration) -> String {
        let milliseconds = time.wholeNanoseconds / 1_000_000
        let fraction = String(milliseconds % 1_000)
        let zeros = String(repeating: "0", count: 3 - fraction.count)
        return "\(milliseconds / 1_000)." + zeros + fraction + " s"
    }
}

/// A workload whose schedules are those of another, with some kinds of faults left in them.
private struct OfSomeKinds<W: Workload>: Workload {
    let workload: W
    let kinds: [Fault.Kind]

    var name: String { workload.name }
    var summary: String { workload.summary }

    func schedule(seed: UInt64) -> FaultSchedule {
        let whole = workload.schedule(seed: seed)
        return whole.reduced(faults: whole.faults.filter { kinds.contains($0.kind) }.map(\.index))
    }

    func play(_ simulation: Simulation, on tier: Tier) { workload.play(simulation, on: tier) }
}
