import RepriseCore
import ReprisePhone

/// One scenario as a timeline: Reprise's on the left, the times of the original apps beside it.
struct RemindersTimeline {
    private let result: RemindersResult

    init(_ result: RemindersResult) { self.result = result }

    func text(_ terminal: Terminal) -> String {
        guard let ours = result.run(.reprise) else { return "" }
        let others = result.runs.filter { $0.algorithm != .reprise }.map { run in
            ScenarioTimeline.Other(
                title: run.algorithm.rawValue, rows: rows(run), fate: fate(run))
        }
        let centre = ours.centre
        return ScenarioTimeline(
            title: result.scenario.title, ours: rows(ours), others: others,
            notes: fate(ours).map { ["reprise    \($0)"] } ?? []
                + [
                    "pending    \(centre.pending), of which \(centre.orphans) should not be",
                    "ledger     " + (ours.ledger?.equation ?? "–"),
                ]
        ).text(terminal)
    }

    /// The violations; nil: none.
    private func fate(_ run: RemindersRun) -> String? {
        let faults = result.faults(run)
        return faults.isEmpty
            ? nil
            : faults.map(\.sentence)
                .joined(separator: "\n" + "".left(13))
    }

    /// From the first tap on; without one from when the app first runs.
    private func rows(_ run: RemindersRun) -> [ScenarioTimeline.Row] {
        let start = run.log.contains { $0.what == "tapped" } ? "tapped" : "launched"
        return ScenarioTimeline.rows(run.log, from: start, label: Self.label)
    }

    private static func label(_ event: PhoneEvent) -> String? {
        switch event.what {
        case "exited": "the process has died"
        case "started": "the phone is started"
        case "delivered": "it rings"
        case "dropped": "dropped: more than 64 pending"
        case "app.notLoaded": "the goals are not to be loaded yet"
        case "app.loaded": "the goals are loaded"
        case "app.did": "the goals are changed"
        case "app.route": event.detail.prefix { $0 != ":" }.description
        case "app.screen": "ON THE SCREEN: \(event.detail)"
        case "app.presented": "the app has said so, durably"
        default: ScenarioTimeline.label(event)
        }
    }
}
