import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// The demo `forms`: every timeline and table of `case-push-form`, in real processes.
enum FormsDemo: ScenarioDemo {
    typealias App = FormsAlgorithm
    typealias Script = FormsScenario
    typealias Result = ScenarioResult<FormsDemo>

    /// What a person saw on the screen, by asking the browser.
    struct Observation: Sendable {
        let sightings: [FormsObserver.Sighting]
        var picture: Data?
    }

    static let name = "forms"
    static let headline = "case-push-form, for real; it takes about a minute and a half."

    static let expectations: [Expectation<Run>] = [
        Expectation("each form is seen on the screen that has to be, once, in order") {
            run in
            let scenario = run.scenario
            let seen = run.seen.sightings.map(\.title)
            let (more, due) = (seen.count - scenario.forms.count, scenario.forms.count)
            if seen == scenario.forms { return [] }
            if more < 0 {
                let why = run.reports("lost").last ?? "it died with its process"
                return [.init("lost", due == 1 ? "lost" : "\(-more) lost", "lost: \(why)")]
            }
            if more > 0 {
                let word = more == 1 ? "twice" : "\(more) again"
                return [.init("twice", word, "shown \(seen.count) times")]
            }
            return [.init("other", "another", "another form was shown")]
        },
        Expectation("the app is led where a form leads") { run in
            let said = run.log.map { "\($0.what) \($0.detail)" }
            let isLed = run.scenario.says.allSatisfy { said.contains("app." + $0) }
            return isLed || run.app != .reprise ? [] : [.init("says", "not led", "it led nowhere")]
        },
        .ledger("each event has ended once in the ledger, and as it must") { scenario, ledger in
            ledger.isSettled(as: scenario.outcomes)
        },
    ]

    // MARK: The report

    static let column = (title: "what was seen, and how soon", width: 41)

    static func cell(_ result: Result, _ run: Run) -> String {
        if let fault = result.faults(run).first { return fault.word }
        if result.scenario.forms.isEmpty { return "not shown" }
        return time(result, run).map { String(format: "%.2f s", $0.inSeconds) } ?? "–"
    }

    /// From when a form could be shown to when it was seen; nil if none was.
    static func time(_ result: Result, _ run: Run) -> Duration? {
        let start =
            switch result.scenario.start {
            case .tap: run.log.first { $0.what == "tapped" }
            case .online: run.log.last { $0.what == "network" }
            case .launch: run.log.last { $0.what == "launched" }
            }
        guard let seen = run.seen.sightings.first?.microseconds, let start else { return nil }
        // The log's time of the drawing: on a busy machine the observer is late.
        let drawn = run.log.first { $0.what == "app.formDidAppear" }?.microseconds ?? seen
        return .microseconds(min(seen, drawn) - start.microseconds)
    }

    /// The way of a launch from dead, split into its stages.
    static func sums(_ report: ScenarioReport<FormsDemo>, _ terminal: Terminal) -> [String] {
        let run = report.results.first { $0.scenario.name == "terminated-fast" }?.run(.reprise)
        guard let run, let seen = run.seen.sightings.first,
            let start = run.log.first(where: { $0.what == "launched" })?.microseconds
        else { return [] }
        let stages = [
            ("app.process", "process starts, talks to the system"), ("app.journal", "journal open"),
            ("app.recorded", "tap recorded"), ("app.webView", "web view has loaded its page"),
            ("app.handshake", "handshake"), ("app.formsData", "catalogue in the page"),
            ("app.event", "event to the page"), ("app.formDidAppear", "form drawn"),
        ]
        var moments = stages.compactMap { what, label in
            run.log.first { $0.what == what }.map { (label, $0.microseconds) }
        }
        moments.append(("seen from outside, by asking the browser", seen.microseconds))
        moments.sort { $0.1 < $1.1 }
        var last = start
        let head =
            "From process launch to form visible".left(44) + "step".right(14) + "so far".right(14)
        return ["", terminal.paint(head, .bold)]
            + moments.map { label, moment in
                defer { last = moment }
                return "  " + label.left(42)
                    + String(format: "%8.1f ms", Double(moment - last) / 1_000).right(14)
                    + String(format: "%8.1f ms", Double(moment - start) / 1_000).right(14)
            }
    }

    static let verdict = "Every form was seen that had to be, once; none other."
    static let explanation = """
        chaining   the original app: an event for a web view that is not there is
                   dropped without a word.
        waiting    its repair at its best: kept in memory, replayed when the forms have
                   come or after 3 s, into a page that may have none.
        reprise    recorded before anything else, delivered when the page says that it
                   has its forms, finished when the form has appeared.

        A time is from the tap, or from the moment at which a form became possible (the
        network is back, the app is launched again). – : the case study does not cover
        it. All three use the same system, browser and page; what the case study leaves
        open is filled in to its advantage.
        """

    static func accounts(_ report: ScenarioReport<FormsDemo>) -> [DemoAccount] {
        [
            report.account("its form for each tap, once") { app in
                report.share(app) { $0.faults($1).isEmpty }
            }
        ]
    }

    static func json(_ result: Result, _ run: Run) -> ReportObject {
        let fault = result.faults(run).first { ["lost", "twice", "other"].contains($0.sort) }
        return [
            "verdict": fault?.sort ?? "right", "seen": run.seen.sightings.map(\.title),
            "milliseconds": time(result, run)?.milliseconds,
        ]
    }

    static func json(_ result: Result) -> ReportObject { ["expected": result.scenario.forms] }

    /// For the picture of a form.
    static let isAlwaysSaved = true
    static func files(_ run: Run) -> [String: Data] {
        run.seen.picture.map { ["form.png": $0] } ?? [:]
    }

    // MARK: The timeline

    static let beginnings = ["tapped"]

    static func sightings(_ run: Run) -> [Sighting] {
        run.seen.sightings.map { ("ON THE SCREEN: \($0.title)", $0.microseconds) }
    }
}
