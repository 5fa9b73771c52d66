import RepriseCore
import ReprisePhone

/// One scenario as a timeline: Reprise's on the left, the times of the original app beside it.
struct NoticesTimeline {
    private let result: NoticesResult

    init(_ result: NoticesResult) { self.result = result }

    func text(_ terminal: Terminal) -> String {
        guard let ours = result.run(.reprise) else { return "" }
        let others = result.runs.filter { $0.algorithm != .reprise }.map { run in
            ScenarioTimeline.Other(
                title: run.algorithm.rawValue, rows: rows(run), fate: fate(run))
        }
        return ScenarioTimeline(
            title: result.scenario.title, ours: rows(ours), others: others,
            notes: fate(ours).map { ["reprise    \($0)"] } ?? []
                + [
                    "badge      \(ours.badge), and \(ours.unread) unread by the server",
                    "ledger     " + (ours.ledger?.equation ?? "–"),
                ]
        ).text(terminal)
    }

    /// The violations; nil: none.
    private func fate(_ run: NoticesRun) -> String? {
        let faults = result.faults(run)
        return faults.isEmpty
            ? nil : faults.map(\.sentence).joined(separator: "\n" + "".left(13))
    }

    /// From when the app first runs.
    private func rows(_ run: NoticesRun) -> [ScenarioTimeline.Row] {
        ScenarioTimeline.rows(
            run.log, from: "launched",
            seen: run.messages.map { ("\(Self.name($0.id)) is stored", $0.microseconds) },
            label: Self.label)
    }

    /// As the scenario has it.
    private static func name(_ id: String) -> String {
        String(id.split(separator: "-").last ?? "")
    }

    private static func label(_ event: PhoneEvent) -> String? {
        switch event.what {
        case "exited", "terminated": "the process has died (\(event.detail))"
        case "suspended": "the process is stopped (SIGSTOP)"
        case "foreground": "the app is in the foreground"
        case "background": "the app is in the background"
        case "banner": "A BANNER: \(name(event.detail))"
        case "removed": "taken away: \(name(event.detail))"
        case "badge": "the badge is \(event.detail)"
        case "push": "a push arrives"
        case "app.stored": "the app has \(name(event.detail))"
        case "app.extension": "the extension runs"
        case "app.extensionAnswer": "it says: \(event.detail)"
        case "app.route": "ON THE SCREEN: \(event.detail)"
        case "app.process", "completed": nil
        default: ScenarioTimeline.label(event)
        }
    }
}
