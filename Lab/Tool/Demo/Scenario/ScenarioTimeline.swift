import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// One scenario moment by moment: Reprise's on the left, the original apps' times beside it.
struct ScenarioTimeline<Demo: ScenarioDemo> {
    private struct Row {
        /// The event's kind and its number within that.
        let key: String
        let label: String
        let microseconds: Int64
    }

    private let result: ScenarioResult<Demo>
    /// The lines that are printed of a long one.
    private let longest = 26

    init(_ result: ScenarioResult<Demo>) { self.result = result }

    func text(_ terminal: Terminal) -> String {
        guard let ours = result.run(.reprise) else { return "" }
        let others = result.runs.filter { $0.app != .reprise }
        let times = others.map { other in
            Dictionary(rows(other).map { ($0.key, $0.microseconds) }) { first, _ in first }
        }
        let head =
            result.scenario.title.left(54) + others.reduce("") { $0 + $1.app.title.right(12) }
        var lines = rows(ours).map { row in
            let beside = times.reduce("") { $0 + ($1[row.key].map(seconds) ?? "–").right(12) }
            return "t=\(seconds(row.microseconds))".left(13) + row.label.left(41) + beside
        }
        if lines.count > longest {
            let half = longest / 2
            lines.replaceSubrange(
                half..<(lines.count - half),
                with: ["             … \(lines.count - 2 * half) more …"])
        }
        let fates = result.runs.flatMap { run in
            result.faults(run).flatMap { $0.sentence.wrapped(65) }.map { line in
                "  " + run.app.title.left(13) + terminal.paint(line, .red)
            }
        }
        let notes = Demo.notes(ours) + (ours.ledger.map { ["ledger       \($0.equation)"] } ?? [])
        return (["", terminal.paint(head, .bold)] + lines + fates + notes.map { "  " + $0 })
            .joined(separator: "\n")
    }

    private func seconds(_ microseconds: Int64) -> String {
        let milliseconds = (max(microseconds, 0) + 500) / 1_000
        let rest = String(milliseconds % 1_000)
        return "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)s"
    }

    /// In order of time, from the first of the demo's beginnings on.
    private func rows(_ run: ScenarioRun<Demo>) -> [Row] {
        let begins = Demo.beginnings.lazy.compactMap { what in
            run.log.first { $0.what == what }?.microseconds
        }.first
        guard let begins else { return [] }
        let said = run.log.compactMap { event in
            Demo.label(event).map { (event.what, $0, event.microseconds) }
        }
        let seen = Demo.sightings(run).map { ("seen", $0.label, $0.microseconds) }
        var counts: [String: Int] = [:]
        return (said + seen).sorted { $0.2 < $1.2 }.filter { $0.2 >= begins }.map { row in
            counts[row.0, default: 0] += 1
            return Row(
                key: "\(row.0) \(counts[row.0] ?? 0)", label: row.1, microseconds: row.2 - begins)
        }
    }
}

/// The lines of the phone's own events, the same in every timeline.
enum PhoneLabel {
    static func of(_ event: PhoneEvent) -> String? {
        switch event.what {
        case "tapped": "the tap"
        case "launched": "the phone starts the process"
        case "resumed": "the process runs again (SIGCONT)"
        case "suspended": "the process is stopped (SIGSTOP)"
        case "exited": "the process has died"
        case "terminated": "SIGKILL (\(event.detail))"
        case "started": "the phone is started"
        case "completed": "completion handler is called"
        case "network": "the network is \(event.detail)"
        case "installed": "the app is updated"
        case "clock": "time passes: \(event.detail)"
        case "app.process": "the app talks to the system"
        case "app.journal": "the journal is open"
        case "app.recorded": "the tap is recorded, durably"
        default: nil
        }
    }
}
