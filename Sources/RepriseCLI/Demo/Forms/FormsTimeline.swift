import RepriseCore
import ReprisePhone

/// One scenario as a timeline like the seed's: Reprise's on the left, the others' times beside it.
struct FormsTimeline {
    private struct Row {
        /// What, and the how manieth of its kind.
        let key: String
        let label: String
        let microseconds: Int64
    }

    private let result: FormsResult
    /// The lines that are printed of a long one.
    private static let longest = 26

    init(_ result: FormsResult) { self.result = result }

    func text(_ terminal: Terminal) -> String {
        let others = result.runs.filter { $0.algorithm != .reprise }
        guard let ours = result.run(.reprise) else { return "" }
        let theirs = others.map { run in
            Dictionary(rows(run).map { ($0.key, $0.microseconds) }) { first, _ in first }
        }
        let head = result.scenario.title
        var lines = [
            "",
            terminal.paint(
                head.left(54) + others.reduce("") { $0 + $1.algorithm.title.right(12) }, .bold),
        ]
        var printed = self.rows(ours).map { row in
            let beside = zip(others, theirs).reduce("") { line, other in
                line + (other.1[row.key].map(Self.seconds) ?? "–").right(12)
            }
            return "t=\(Self.seconds(row.microseconds))".left(13) + row.label.left(41) + beside
        }
        if printed.count > Self.longest {
            let half = Self.longest / 2
            printed.replaceSubrange(
                half..<(printed.count - half),
                with: ["             … \(printed.count - 2 * half) more …"])
        }
        lines += printed
        for run in others {
            guard let fate = fate(run) else { continue }
            lines.append("  " + run.algorithm.title.left(11) + terminal.paint(fate, .red))
        }
        lines.append("  ledger     " + ledger(ours))
        return lines.joined(separator: "\n")
    }

    /// What became of an event that was not shown once; nil: it was.
    private func fate(_ run: FormsRun) -> String? {
        switch result.verdict(run) {
        case .right: nil
        case .lost:
            "lost: "
                + (run.log.last { $0.what == "app.lost" }?.detail ?? "it died with its process")
        case .twice: "shown \(run.sightings.count) times"
        case .other: "another form was shown"
        }
    }

    private func ledger(_ run: FormsRun) -> String {
        guard let ledger = run.ledger else { return "–" }
        let parts = Outcome.allCases.compactMap { outcome in
            ledger.outcomes[outcome].flatMap { $0 > 0 ? "\($0) \(outcome.rawValue)" : nil }
        }
        return "\(ledger.accepted) accepted = "
            + (parts + ["\(ledger.pending) pending"]).joined(separator: " + ")
            + (ledger.duplicates > 0 ? "; \(ledger.duplicates) came twice" : "")
    }

    private static func seconds(_ microseconds: Int64) -> String {
        let milliseconds = (max(microseconds, 0) + 500) / 1_000
        let rest = String(milliseconds % 1_000)
        return "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)s"
    }

    /// From the first tap on, in order of time.
    private func rows(_ run: FormsRun) -> [Row] {
        guard let start = run.log.first(where: { $0.what == "tapped" })?.microseconds else {
            return []
        }
        let said = run.log.compactMap { event in
            Self.label(event).map { (event.what, $0, event.microseconds) }
        }
        let seen = run.sightings.map { ("seen", "ON THE SCREEN: \($0.title)", $0.microseconds) }
        var counts: [String: Int] = [:]
        return (said + seen).sorted { $0.2 < $1.2 }.filter { $0.2 >= start }.map { row in
            counts[row.0, default: 0] += 1
            return Row(
                key: "\(row.0) \(counts[row.0] ?? 0)", label: row.1, microseconds: row.2 - start)
        }
    }

    private static func label(_ event: PhoneEvent) -> String? {
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
        case "app.webView": "the web view has loaded its page"
        case "app.webViewDies": "the web view's process dies"
        case "app.handshake": "handshake"
        case "app.formsData": "the page has the catalogue"
        case "app.event": "the event goes to the page"
        case "app.formDidAppear": "the page has drawn the form"
        default: nil
        }
    }
}
