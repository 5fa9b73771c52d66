import RepriseCommandLine
import RepriseSimulator

/// The output for people, in 80 columns.
struct ReachText {
    let report: ReachReport
    let terminal: Terminal

    var text: String {
        ([heading, table, chart, dominance, claim, notes].map { $0.joined(separator: "\n") })
            .joined(separator: "\n\n")
    }

    private var heading: [String] {
        let states = zip(
            ["foreground", "background time", "suspended", "force-quit"], report.states
        )
        .map { "\($0) \($1.percent) %" }.joined(separator: ", ")
        return [
            terminal.paint("What share of messages is shown, and when", .bold),
            "\(report.devices.grouped) devices, \(report.days) days, "
                + "\(report.messages.grouped) messages, seed \(report.seed). The app was, when they came:",
            states + ".",
        ].flatMap { $0.wrapped(80) }
    }

    // MARK: The table

    private var table: [String] {
        var lines = [
            terminal.paint(
                "% of messages".left(20) + "within 5 s".right(12) + "1 min".right(12)
                    + "1 h".right(12) + "only at open".right(14) + "noticed".right(10), .bold)
        ]
        for mode in report.modes {
            let figures = mode.within + [mode.atOpen, mode.noticed]
            lines.append(
                mode.mode.title.left(20)
                    + row(figures) { "\($0.value.share.percent) ±\($0.value.error.percentUp)" })
            lines.append(
                terminal.paint(
                    "  over assumptions".left(20)
                        + row(figures) { "\($0.low.percent)–\($0.high.percent)" },
                    .dim))
        }
        return lines
    }

    private func row(_ figures: [ReachReport.Figure], _ text: (ReachReport.Figure) -> String)
        -> String
    {
        figures.enumerated().map { text($1).right($0 < 3 ? 12 : $0 == 3 ? 14 : 10) }.joined()
    }

    // MARK: The chart

    private static let width = 50

    private var chart: [String] {
        let parts: [(glyph: Character, colour: Terminal.Colour?)] = [
            ("█", .green), ("▓", .green), ("▒", .yellow), ("░", .yellow), ("·", .dim),
        ]
        var lines = report.modes.map { mode in
            let edges = mode.within.map(\.value.share)
            let noticed = (edges.last ?? 0) + mode.later.value.share
            var bar = ""
            var done = 0
            for (part, edge) in zip(parts, edges + [noticed, 1]) {
                let end = max(done, Int((edge * Double(Self.width)).rounded()))
                let run = String(repeating: part.glyph, count: end - done)
                bar += run.isEmpty ? "" : part.colour.map { terminal.paint(run, $0) } ?? run
                done = end
            }
            let quiet = mode.quiet.value.share.percent
            return mode.mode.title.left(20) + bar + "  \(quiet) %".right(8)
        }
        lines.append("0".right(21) + "100 %".right(Self.width - 1) + "in list".right(8))
        lines.append("█ within 5 s  ▓ 1 min  ▒ 1 h  ░ later, by a notice  · when the app is opened")
        return lines
    }

    // MARK: Dominant inputs

    private var dominance: [String] {
        [terminal.paint("What decides it most, within 1 min (one input at a time)", .bold)]
            + report.modes.flatMap { mode in
                mode.swings[ReachReport.judged.rawValue].prefix(2).enumerated().map {
                    index, swing in
                    let range = report.inputs[swing.input].range
                    return (index == 0 ? mode.mode.title : "").left(20)
                        + swing.input.label.left(24)
                        + "\(range.low.plain) … \(range.high.plain)".right(14)
                        + "  \(swing.atLow.percent) → \(swing.atHigh.percent) %".right(16)
                }
            }
    }

    // MARK: The claim

    private var claim: [String] {
        var lines = [
            terminal.paint(
                "What the case study's \"90–95 %\" without a push would require", .bold)
        ]
        for mode in ReachMode.allCases {
            guard let best = report.favourable[mode], let figures = report[mode] else { continue }
            let now = figures.within[ReachReport.judged.rawValue].value.share
            lines +=
                ("\(mode.title): \(now.percent) % within 1 min; \(best.percent) % with every input at the "
                + "better end of its range.").wrapped(80)
            lines += ordinary(mode)
            lines += ideal(mode)
        }
        return lines
    }

    private func ordinary(_ mode: ReachMode) -> [String] {
        let asked = report.requirements.filter { $0.mode == mode && !$0.isIdeal }
        var lines: [String] = []
        var best: (ReachReport.Requirement, Double)?
        var failed = 0
        for requirement in asked {
            switch requirement.answer {
            case .met: lines.append("\(requirement.target.percent) % is so already.")
            case .needs(let value, let isLeast):
                lines.append(
                    "\(requirement.target.percent) % needs "
                        + Self.bound(value, isLeast, requirement.input) + ", all else as it is.")
            case .never(let share, _):
                failed += 1
                if share > best?.1 ?? -1 { best = (requirement, share) }
            }
        }
        if let best, case .never(let share, let at) = best.0.answer {
            let which =
                failed == asked.count
                ? "No value of any one input reaches it" : "No value of the other \(failed) does"
            lines.append(
                "\(which); the best is \(share.percent) %, by \(best.0.input.label) at "
                    + "\(Self.shown(at, best.0.input)).")
        }
        return Array(Set(lines)).sorted().flatMap { $0.wrapped(78) }.map { "  " + $0 }
    }

    private func ideal(_ mode: ReachMode) -> [String] {
        let asked = report.requirements.filter { $0.mode == mode && $0.isIdeal }
        guard !asked.isEmpty else { return [] }
        var lines = [
            "  If all allowed notices, none muted or force-quit, and networks never failed:"
        ]
        for requirement in asked {
            let label = requirement.input.label
            let answer =
                switch requirement.answer {
                case .met: "it is so already"
                case .needs(let value, let isLeast):
                    Self.bound(value, isLeast, requirement.input)
                case .never(let best, _): "no value of \(label) does; at most \(best.percent) %"
                }
            lines.append("    \(requirement.target.percent) %: \(answer)")
        }
        return lines
    }

    private static func bound(_ value: Double, _ isLeast: Bool, _ input: ReachInput) -> String {
        let text = (isLeast ? "at least " : "at most ") + shown(value, input)
        return switch input {
        case .backgroundSeconds: text + " of background time after each use"
        case .foregroundMinutes: text + " in the foreground"
        default: "\(input.label): \(text)"
        }
    }

    /// A value with what helps to imagine it.
    private static func shown(_ value: Double, _ input: ReachInput) -> String {
        switch input {
        case .backgroundSeconds, .replySeconds:
            value >= 120 ? "\((value / 60).short) min" : "\(value.short) s"
        case .foregroundMinutes: "\(value.short) of the day's 1,440 min"
        default: value.short
        }
    }

    // MARK: How to read it

    private var notes: [String] {
        let bases = ReachInput.allCases.map { report.inputs[$0].basis }
        let counts = ReachInput.Basis.allCases.map { basis in
            "\(bases.filter { $0 == basis }.count) \(basis.rawValue)"
        }
        return [
            "± is the error of the simulation (95 %); \"over assumptions\" the middle 90 % of "
                + "\(report.draws.grouped) draws of all inputs from their ranges.",
            "Shown: in front of the person, or a banner or an entry in the list by "
                + "the decision that ships (noticed; within the list alone: in list). The server pushes after 0.5 s, and after 5.5 s if the device has a connection, or had one 90 s before.",
            "Inputs: \(counts.joined(separator: ", ")). `reprise-lab reach --print-inputs` has each with its source.",
        ].flatMap { $0.wrapped(80) }
    }
}

extension Double {
    /// A share in whole percent.
    var percent: String { String(Int((self * 100).rounded())) }

    /// A share in whole percent, rounded up: for errors.
    var percentUp: String { String(Int((self * 100).rounded(.up))) }

    /// With at most three digits that matter.
    var short: String {
        let scale = self >= 100 ? 1.0 : self >= 10 ? 10 : 1_000
        return ((self * scale).rounded() / scale).plain
    }
}
