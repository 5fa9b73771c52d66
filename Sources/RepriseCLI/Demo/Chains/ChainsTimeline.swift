import RepriseCore
import ReprisePhone

/// One scenario as run by one app: the phone's events, and the effects.
struct ChainsTimeline {
    private let result: ChainsResult
    private let run: ChainsRun
    /// The lines that are printed of a long one.
    private static let longest = 40

    init(_ result: ChainsResult, _ run: ChainsRun) {
        self.result = result
        self.run = run
    }

    func text(_ terminal: Terminal) -> String {
        let head = "\(result.scenario.title): \(run.algorithm.rawValue)"
        let rows = rows
        let start = rows.first?.at ?? 0
        var lines = rows.map { row in
            "t=\(Self.seconds(row.at - start))".left(13) + String(row.text.prefix(66))
        }
        if lines.count > Self.longest {
            let half = Self.longest / 2
            lines.replaceSubrange(
                half..<(lines.count - half),
                with: ["             … \(lines.count - 2 * half) more …"])
        }
        return (["", terminal.paint(head, .bold)] + lines).joined(separator: "\n")
    }

    private var rows: [(at: Int64, text: String)] {
        // The phone's clock may have been moved: both are put in order by the machine's, from the
        // newest process report on.
        let said = run.log.compactMap { event in
            Self.label(event).map { (event.microseconds, $0) }
        }
        var counts: [String: Int] = [:]
        let done = run.effects.compactMap { line -> (Int64, String)? in
            switch line.verb {
            case .life: return nil
            case .began: return (line.microseconds, "begins  \(line.label)")
            case .failed: return (line.microseconds, "FAILS   \(line.label)")
            case .known: return (line.microseconds, "knows its key: \(line.label)")
            case .done:
                counts[line.label, default: 0] += 1
                let again = counts[line.label] == 1 ? "" : "  AGAIN"
                return (line.microseconds, "EFFECT  \(line.label)\(again)")
            }
        }
        return (said + done).sorted { $0.0 < $1.0 }.map { (at: $0.0, text: $0.1) }
    }

    private static func seconds(_ microseconds: Int64) -> String {
        let milliseconds = (max(microseconds, 0) + 500) / 1_000
        let rest = String(milliseconds % 1_000)
        return "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)s"
    }

    private static func label(_ event: PhoneEvent) -> String? {
        switch event.what {
        case "launched": "the phone starts the process: \(event.detail)"
        case "notLaunched": "the phone does not: \(event.detail)"
        case "terminated": "SIGKILL \(event.detail)"
        case "background": "in the background"
        case "suspended": "suspended (SIGSTOP): \(event.detail)"
        case "resumed": "runs again (SIGCONT)"
        case "installed": "the app is installed"
        case "submitted": "asks for time in the background"
        case "taskBegan": "a slot begins"
        case "taskExpired": "its time is over"
        case "taskCompleted": "the slot is given back: \(event.detail)"
        case "transferRuns": "the phone fetches the file"
        case "transferEnded": "the phone has it"
        case "clock": "time passes: \(event.detail)"
        case "app.started": "the chains are there"
        case "app.chain": "chain \(event.detail)"
        case "app.full": "there is no room: \(event.detail)"
        case "app.stopped": "the app stops: \(event.detail)"
        default: nil
        }
    }
}
