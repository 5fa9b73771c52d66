/// A seed's own algorithm, to be convicted: the proof that the proof can fail.
package struct Baseline: Sendable {
    /// The seed and its version: `001-repaired`.
    package let name: String
    /// The document that it is transcribed from, by its number.
    package let seed: String
    /// One line: what it does.
    package let does: String
    /// One line: what it should have kept instead, and which door keeps it.
    package let shouldHaveKept: String
    package let workload: any Workload

    /// All of them, by seed and version; none of them may survive ``seeds``.
    package static let all: [Baseline] = forms + channels + reminders + chains + notices

    /// Within how many seeds each has to be convicted.
    package static let seeds: Range<UInt64> = 0..<10_000

    /// The baseline of this name.
    package static func named(_ name: String) -> Baseline? { all.first { $0.name == name } }

    /// Lets the simulation find what it loses or does twice.
    ///
    /// - Returns: the first seed that convicts it, shrunk, with its trace; nil: it stands acquitted.
    package func convict(seeds: Range<UInt64> = Baseline.seeds) -> Conviction? {
        workload.conviction(seeds: seeds)
    }

    /// The judgement in plain words, the trace line by line.
    package func account(of conviction: Conviction) -> String {
        let shrunk = conviction.shrunk
        var lines = [
            "\(name): \(does)",
            "convicted by seed \(shrunk.seed) of \(conviction.tried) tried: \(conviction.violation)",
            "shrunk to \(shrunk.devices) device(s), \(shrunk.messages) message(s), "
                + "\(shrunk.faults.count) fault(s):",
        ]
        lines += conviction.lines.map { "  \(Self.moment($0.at))  \($0.who)  \($0.what)" }
        lines.append("it should have kept: \(shouldHaveKept)")
        return lines.joined(separator: "\n")
    }

    private static func moment(_ time: Duration) -> String {
        let text = seconds(time)
        return String(repeating: " ", count: max(0, 12 - text.count)) + text
    }

    /// With three digits behind the point; without a formatter, which depends on the place.
    static func seconds(_ time: Duration) -> String {
        let milliseconds = time.wholeNanoseconds / 1_000_000
        let fraction = String(milliseconds % 1_000)
        let zeros = String(repeating: "0", count: 3 - fraction.count)
        return "\(milliseconds / 1_000)." + zeros + fraction + " s"
    }
}
