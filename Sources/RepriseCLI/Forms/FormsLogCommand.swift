import ArgumentParser
import Foundation
import Reprise
import RepriseCommandLine
import RepriseCore
import RepriseForms
import RepriseWire

/// `reprise forms log`: a device's events, what was decided about them, and the forms shown.
struct FormsLogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show a device's events, and which form each has shown.",
        usage: "reprise forms log --journal DIR [--limit N] [--json]",
        discussion: """
            Newest first: the event, its state, the decision (shown FORM, noMatch,
            suppressed FORM WHY, vetoed FORM WHY, …: docs/forms.md#events), and its
            forms: how each was closed, or why it did not come, and until when it is put
            off. Safe while another process owns the journal. With --json the events have
            their properties, too.

            EXAMPLES
              reprise forms log --journal ./device
              reprise forms log --journal ./device --json | jq -r .reason

            EXIT CODES
              0 done; 65 no journal there, or a damaged one. All: reprise --help
            """)

    @OptionGroup var recent: RecentOptions

    func run() async throws {
        let events = try recent.journal.read {
            try FormsLogReading.read(
                at: $0, schemas: AccountClient.featureSchemas, limit: recent.limit)
        }
        if recent.json {
            for event in events {
                try StandardOutput.write(HTTPMembers.line(Self.object(event)))
            }
        } else if events.isEmpty {
            try StandardOutput.write("No event was recorded yet, or it is forgotten already.")
        } else {
            try Listing(
                isJSON: false, header: ["recorded", "event", "state", "decision", "forms"],
                cells: { _ in [] }
            ).print(events.map(Self.cells))
        }
    }

    private static func cells(_ event: FormsLogReading) -> [String] {
        [
            event.recordedAt.dayAndTime, event.event, state(event), event.reason ?? "–",
            event.showings.isEmpty && event.decisions.isEmpty
                ? "–"
                : (event.showings.map(text) + event.decisions.map(text)).joined(separator: "; "),
        ]
    }

    private static func text(_ decision: FormsLogReading.Decision) -> String {
        let until = decision.until.map { ", until \($0.dayAndTime)" } ?? ""
        return "\(decision.form) not shown: \(decision.reason)\(until)"
    }

    private static func text(_ showing: FormsLogReading.Showing) -> String {
        guard showing.appeared != nil else { return "\(showing.form) granted" }
        guard showing.dismissed != nil else { return "\(showing.form) on the screen" }
        return "\(showing.form) closed: \(showing.how ?? "–")"
    }

    private static func state(_ event: FormsLogReading) -> String {
        switch event.state {
        case .pending: "pending"
        case .dispatched: "dispatched"
        case .finished(let outcome): outcome.rawValue
        }
    }

    private static func object(_ event: FormsLogReading) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { json in
            json.member("id", event.id.text)
            json.member("event", event.event)
            json.member("recorded", event.recordedAt.milliseconds)
            json.member("source", event.source)
            json.member("attempt", Int64(event.attempt))
            json.member("state", state(event))
            json.member("reason", event.reason)
            json.key("properties")
            if let properties = event.properties { json.raw(properties) } else { json.null() }
            json.key("showings")
            json.array { list in for showing in event.showings { write(showing, to: &list) } }
            json.key("decisions")
            json.array { list in for decision in event.decisions { write(decision, to: &list) } }
        }
        return writer.bytes
    }

    private static func write(_ showing: FormsLogReading.Showing, to list: inout JSONWriter) {
        list.object { json in
            json.member("form", showing.form)
            json.member("granted", showing.granted.milliseconds)
            json.member("appeared", showing.appeared?.milliseconds)
            json.member("dismissed", showing.dismissed?.milliseconds)
            json.member("how", showing.how)
        }
    }

    private static func write(_ decision: FormsLogReading.Decision, to list: inout JSONWriter) {
        list.object { json in
            json.member("form", decision.form)
            json.member("at", decision.at.milliseconds)
            json.member("until", decision.until?.milliseconds)
            json.member("reason", decision.reason)
        }
    }
}
