import RepriseCore
import ReprisePhone

/// One scenario as a timeline: Reprise's on the left, the others' times beside it.
struct FormsTimeline {
    private let result: FormsResult

    init(_ result: FormsResult) { self.result = result }

    func text(_ terminal: Terminal) -> String {
        guard let ours = result.run(.reprise) else { return "" }
        let others = result.runs.filter { $0.algorithm != .reprise }.map { run in
            ScenarioTimeline.Other(
                title: run.algorithm.title, rows: rows(run), fate: fate(run))
        }
        return ScenarioTimeline(
            title: result.scenario.title, ours: rows(ours), others: others,
            notes: ["ledger     " + (ours.ledger?.equation ?? "–")]
        ).text(terminal)
    }

    /// The outcome of an event that was not shown exactly once; nil: it was.
    private func fate(_ run: FormsRun) -> String? {
        switch result.disposition(run) {
        case .right: nil
        case .lost:
            "lost: "
                + (run.log.last { $0.what == "app.lost" }?.detail ?? "it died with its process")
        case .twice: "shown \(run.sightings.count) times"
        case .other: "another form was shown"
        }
    }

    /// From the first tap on, in order of time.
    private func rows(_ run: FormsRun) -> [ScenarioTimeline.Row] {
        ScenarioTimeline.rows(
            run.log, from: "tapped",
            seen: run.sightings.map { ("ON THE SCREEN: \($0.title)", $0.microseconds) },
            label: Self.label)
    }

    private static func label(_ event: PhoneEvent) -> String? {
        switch event.what {
        case "app.webView": "the web view has loaded its page"
        case "app.webViewDies": "the web view's process dies"
        case "app.handshake": "handshake"
        case "app.formsData": "the page has the catalogue"
        case "app.event": "the event goes to the page"
        case "app.deepLink": "the app is led to \(event.detail)"
        case "app.formDidAppear": "the page has drawn the form"
        default: ScenarioTimeline.label(event)
        }
    }
}
