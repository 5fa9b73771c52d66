import Foundation
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
            return "t=\(seconds(row.microseconds))".left(13)
                + row.label.fitting(40).left(41) + beside
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
        return String(format: "%lld.%03llds", milliseconds / 1_000, milliseconds % 1_000)
    }

    /// In order of time, from the first of the demo's beginnings on.
    private func rows(_ run: ScenarioRun<Demo>) -> [Row] {
        let begins = Demo.beginnings.lazy.compactMap { what in
            run.log.first { $0.what == what }?.microseconds
        }.first
        guard let begins else { return [] }
        let said = run.log.compactMap { event in
            Demo.label(event, in: run).map { (event.what, $0, event.microseconds) }
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

/// The line of each event in a timeline.
enum PhoneLabel {
    /// The detail replaces `%`; nil: the event's own.
    static func of(_ event: PhoneEvent, detail: String? = nil) -> String? {
        words[event.what]?.replacing("%", with: detail ?? event.detail)
    }

    private static let words = [
        "background": "the app is in the background",
        "badge": "the badge is %",
        "banner": "A BANNER: %",
        "clock": "time passes: %",
        "completed": "completion handler is called",
        "dropped": "dropped: more than 64 pending",
        "exited": "the process has died",
        "foreground": "the app is in the foreground",
        "installed": "the app is updated",
        "launched": "the phone starts the process",
        "network": "the network is %",
        "notLaunched": "the phone does not: %",
        "push": "a push arrives",
        "resumed": "the process runs again (SIGCONT)",
        "started": "the phone is started",
        "submitted": "asks for time in the background",
        "suspended": "the process is stopped (SIGSTOP)",
        "tapped": "the tap",
        "taskBegan": "a slot begins",
        "taskCompleted": "the slot is given back: %",
        "taskExpired": "its time is over",
        "terminated": "SIGKILL (%)",
        "transferEnded": "the phone has the file",
        "transferRuns": "the phone fetches the file",
        "app.chain": "chain %",
        "app.deepLink": "the app is led to %",
        "app.did": "the goals are changed",
        "app.event": "the event goes to the page",
        "app.extension": "the extension runs",
        "app.extensionAnswer": "it says: %",
        "app.formDidAppear": "the page has drawn the form",
        "app.formsData": "the page has the catalogue",
        "app.full": "there is no room: %",
        "app.handshake": "handshake",
        "app.journal": "the journal is open",
        "app.loaded": "the goals are loaded",
        "app.notLoaded": "the goals are not to be loaded yet",
        "app.presented": "the app has said so, durably",
        "app.process": "the app talks to the system",
        "app.recorded": "the tap is recorded, durably",
        "app.route": "ON THE SCREEN: %",
        "app.screen": "ON THE SCREEN: %",
        "app.started": "the chains are there",
        "app.stopped": "the app stops: %",
        "app.stored": "the app has %",
        "app.webView": "the web view has loaded its page",
        "app.webViewDies": "the web view's process dies",
    ]
}
