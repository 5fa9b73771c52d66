import RepriseCore
import ReprisePhone

/// One scenario as a timeline: Reprise's on the left, the others' times beside it.
struct ScenarioTimeline {
    struct Row {
        /// The event's kind and its number within that.
        let key: String
        let label: String
        let microseconds: Int64
    }

    /// Another app in the same scenario.
    struct Other {
        let title: String
        let rows: [Row]
        /// Its outcome, if unexpected.
        let fate: String?
    }

    let title: String
    let ours: [Row]
    let others: [Other]
    /// The notes below.
    let notes: [String]
    /// The lines that are printed of a long one.
    private static let longest = 26

    func text(_ terminal: Terminal) -> String {
        let times = others.map { other in
            Dictionary(other.rows.map { ($0.key, $0.microseconds) }) { first, _ in first }
        }
        let head = title.left(54) + others.reduce("") { $0 + $1.title.right(12) }
        var rows = ours.map { row in
            let beside = times.reduce("") { line, theirs in
                line + (theirs[row.key].map(Self.seconds) ?? "–").right(12)
            }
            return "t=\(Self.seconds(row.microseconds))".left(13) + row.label.left(41) + beside
        }
        if rows.count > Self.longest {
            let half = Self.longest / 2
            rows.replaceSubrange(
                half..<(rows.count - half),
                with: ["             … \(rows.count - 2 * half) more …"])
        }
        let fates = others.compactMap { other in
            other.fate.map { "  " + other.title.left(11) + terminal.paint($0, .red) }
        }
        return (["", terminal.paint(head, .bold)] + rows + fates + notes.map { "  " + $0 })
            .joined(separator: "\n")
    }

    private static func seconds(_ microseconds: Int64) -> String {
        let milliseconds = (max(microseconds, 0) + 500) / 1_000
        let rest = String(milliseconds % 1_000)
        return "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)s"
    }

    /// The relevant lines in order of time, from the first event of a kind on.
    ///
    /// - Parameters:
    ///   - log: of one app.
    ///   - start: the kind of event from which time is counted; without one: no rows.
    ///   - seen: outside observations with their times.
    ///   - label: the line's text of an event; nil: no line.
    /// - Returns: the lines.
    static func rows(
        _ log: [PhoneEvent], from start: String, seen: [(label: String, microseconds: Int64)] = [],
        label: (PhoneEvent) -> String?
    ) -> [Row] {
        guard let start = log.first(where: { $0.what == start })?.microseconds else { return [] }
        let said = log.compactMap { event in
            label(event).map { (event.what, $0, event.microseconds) }
        }
        var counts: [String: Int] = [:]
        return (said + seen.map { ("seen", $0.label, $0.microseconds) })
            .sorted { $0.2 < $1.2 }.filter { $0.2 >= start }.map { row in
                counts[row.0, default: 0] += 1
                return Row(
                    key: "\(row.0) \(counts[row.0] ?? 0)", label: row.1,
                    microseconds: row.2 - start)
            }
    }

    /// The label of the phone's own events.
    static func label(_ event: PhoneEvent) -> String? {
        switch event.what {
        case "tapped": "the tap"
        case "launched": "the phone starts the process"
        case "resumed": "the process runs again (SIGCONT)"
        case "terminated" where event.detail == "by the system": "SIGKILL"
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
