import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseSimulator

/// What came of one workload, for people and for programs.
struct SimulationResult: Sendable {
    var workload: String
    var report: CampaignReport
    var took: Duration
    var tier: String
    var jobs: Int
    var detection: Detection?
    /// The command that replays the detection.
    var replay: String?

    var hasFailed: Bool { report.failure != nil }
    var rate: Double { Double(report.schedules) / max(took.inSeconds, 1e-9) }

    // MARK: For people

    func text(_ terminal: Terminal) -> String {
        let disposition =
            hasFailed ? terminal.paint("BROKEN", .red) : terminal.paint("holds", .green)
        var lines = [
            terminal.paint(workload, .bold)
                + ": \(disposition), \(report.schedules.grouped) schedules in \(took.shown), "
                + "\(Int(rate).grouped)/s on \(jobs) threads (\(tier))"
        ]
        if report.schedules > 0 {
            lines.append(
                "  devices \(text(report.devices)), messages \(text(report.messages)), faults "
                    + text(report.faults))
            lines.append(
                "  \(report.steps.grouped) events, "
                    + "\((report.virtualSeconds.sum / 3_600).grouped) h virtual")
            lines += met
        }
        if let detection, let replay { lines += Self.told(detection, replay, terminal) }
        return lines.joined(separator: "\n")
    }

    /// `2–4 (mean 2.1)`.
    private func text(_ spread: CampaignReport.Spread) -> String {
        guard spread.least < spread.most else { return "\(spread.least)" }
        let tenths = Int((10 * Double(spread.sum) / Double(report.schedules)).rounded())
        return "\(spread.least)–\(spread.most) (mean \(tenths / 10).\(tenths % 10))"
    }

    /// In how many of a hundred schedules each kind of fault took effect, and what else not all
    /// have.
    private var met: [String] {
        shares(
            "faults met", Fault.Kind.allCases.map { ($0.rawValue, report.schedulesWith[$0] ?? 0) })
            + shares(
                "had", Feature.allCases.map { ($0.rawValue, report.schedulesHaving[$0] ?? 0) })
    }

    private func shares(_ title: String, _ counts: [(name: String, count: Int)]) -> [String] {
        let counts = counts.filter { $0.count > 0 }
        guard !counts.isEmpty else { return [] }
        var lines = ["  \(title), in % of the schedules:"]
        var line = "   "
        for (name, count) in counts {
            let share = 100 * Double(count) / Double(report.schedules)
            let item = " \(name) " + (share < 1 ? "<1" : "\(Int(share.rounded()))")
            if line.count + item.count > 78 {
                lines.append(line)
                line = "   "
            }
            line += item
        }
        return lines + [line]
    }

    /// The most lines of a timeline that are shown; `--trace` shows all.
    private static let shownLines = 60

    private static func told(
        _ detection: Detection, _ replay: String, _ terminal: Terminal
    ) -> [String] {
        var lines = ["", terminal.paint("Seed \(detection.whole.seed), shrunk:", .bold)]
        let timeline = detection.lines.timeline()
        let left = timeline.count - shownLines
        if left > 0 { lines.append("  (the last \(shownLines) lines of \(timeline.count))") }
        lines += timeline.suffix(shownLines)
        return lines + ["", "Replay: \(replay)"]
    }
}

/// What programs are told.
struct SimulationSummary: Encodable {
    struct Workload: Encodable, ReportMember {
        var workload: String
        var tier: String
        var holds: Bool
        var schedules: Int
        var milliseconds: Int64
        var threads: Int
        var events: Int
        /// In how many schedules each kind of fault took effect.
        var schedulesWith: [String: Int]
        /// In how many there was each of what not all have.
        var schedulesHaving: [String: Int]
        var seed: UInt64?
        var promise: String?
        var violation: String?
        var replay: String?
    }

    var holds: Bool
    var workloads: [Workload]

    init(_ results: [SimulationResult]) {
        holds = !results.contains(where: \.hasFailed)
        workloads = results.map { result in
            Workload(
                workload: result.workload, tier: result.tier, holds: !result.hasFailed,
                schedules: result.report.schedules, milliseconds: result.took.milliseconds,
                threads: result.jobs, events: result.report.steps,
                schedulesWith: Dictionary(
                    uniqueKeysWithValues: result.report.schedulesWith.map { ($0.rawValue, $1) }),
                schedulesHaving: Dictionary(
                    uniqueKeysWithValues: result.report.schedulesHaving.map { ($0.rawValue, $1) }),
                seed: result.detection?.whole.seed,
                promise: result.detection?.violation.invariant.rawValue,
                violation: result.detection?.violation.what, replay: result.replay)
        }
    }
}

extension Encodable {
    /// One line of JSON, the same for the same value.
    func line() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
