import Foundation
import Goals
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// The demo `reminders`: the cases of `case-reminder-routing` and more, in real processes.
enum RemindersDemo: ScenarioDemo {
    typealias App = RemindersAlgorithm
    typealias Script = RemindersScenario
    typealias Result = ScenarioResult<RemindersDemo>
    typealias Fixture = DemoPhone

    struct Observation: Sendable {
        let centre: NotificationCentre
        /// When something rang, by the phone's wall clock.
        let heard: [String]
    }

    static let name = "reminders"
    static let headline = "case-reminder-routing, for real; it takes about a minute."

    // MARK: Expectations

    static let expectations: [Expectation<Run>] = [
        Expectation("each tap has its screen, once") { run in
            let more = run.reports("screen").count - run.scenario.screens.count
            if more < 0 {
                let word = more == -1 ? "lost" : "\(-more) lost"
                return [.init("screen", word, "\(-more) taps led nowhere")]
            }
            let word = more == 1 ? "twice" : "\(more) again"
            return more == 0 ? [] : [.init("screen", word, "\(more) screens too many")]
        },
        Expectation("it is the right screen") { run in
            let wrong = zip(run.reports("screen"), run.scenario.screens).first {
                !isRight($0, $1, run.app)
            }
            return wrong.map { [.init("screen", word(of: $0.0), "the person saw \($0.0)")] } ?? []
        },
        Expectation("it rings when it must, and at no other time") { run in
            guard let due = run.scenario.heard, due != run.seen.heard else { return [] }
            let times = run.seen.heard
            return [
                .init("heard", "\(times.count)× heard", "rang at \(times.joined(separator: ", "))")
            ]
        },
        Expectation("a button does what it says, once") { run in
            let did = run.reports("applied")
            guard did != run.scenario.applied else { return [] }
            let sentence = "buttons have done: \(did.joined(separator: ", "))"
            return [.init("applied", "\(did.count)× done", sentence)]
        },
        Expectation("the system is asked for no more than it keeps") { run in
            let over = dropped(run)
            return .some(
                over, "dropped", "\(over) over", "requests were more than the system keeps")
        },
        Expectation("nothing waits to ring for what is gone, paused or moved") { run in
            let count = run.seen.centre.orphans
            return .some(
                count, "orphans", "+\(count)", "wait to ring for what is gone, paused or moved")
        },
        Expectation("every goal in use rings next time") { run in
            // Reprise reads the store; the original app schedules where a person creates goals.
            let knowsGoals = run.app == .reprise || !run.reports("did").isEmpty
            let count = run.scenario.leavesNoneSilent && knowsGoals ? run.seen.centre.silent : 0
            return .some(count, "silent", "\(count) silent", "goals in use do not ring next time")
        },
        .ledger("each tap has ended once in the ledger, and as it must") { scenario, ledger in
            ledger.isSettled(as: scenario.outcomes)
        },
    ]

    /// The original app deliberately has one screen for every missing target.
    private static func isRight(_ seen: String, _ due: String, _ app: App) -> Bool {
        seen == due
            || app != .reprise && due.hasPrefix("deletedGoal ")
                && seen == due.replacing("deletedGoal", with: "missingGoal")
    }

    private static func word(of screen: String) -> String {
        switch screen.prefix(while: { $0 != " " }) {
        case "missingGoal", "deletedGoal": "“gone”"
        case "dataEntry": "“entry”"
        case "inactiveGoal": "“paused”"
        case "replacedGoal": "“moved”"
        default: "“other”"
        }
    }

    /// Requests that the phone dropped at its limit.
    private static func dropped(_ run: Run) -> Int {
        run.log.count { $0.what == "dropped" && $0.detail.hasSuffix("more than 64 pending") }
    }

    // MARK: The report

    /// The case study's metric: “data entry sheet appears within 500ms of tap”.
    private static let metric = Duration.milliseconds(500)

    static let column = (title: "what was seen, and how soon", width: 41)

    static func cell(_ result: Result, _ run: Run) -> String {
        let faults = result.faults(run)
        guard faults.isEmpty else {
            // Only the first fault and the orphans fit.
            return
                (faults.filter { $0.sort != "orphans" }.prefix(1)
                + faults.filter { $0.sort == "orphans" }).map(\.word).joined(separator: " ")
        }
        if let time = time(result, run) { return String(format: "%.2f s", time.inSeconds) }
        return run.seen.heard.isEmpty ? "in order" : "on time"
    }

    /// The longest time from a tap to its screen; nil: none was seen.
    private static func time(_ result: Result, _ run: Run) -> Duration? {
        time(run, since: [result.scenario.startsAtLaunch ? "launched" : "tapped"])
    }

    /// From when the app had tap and goals.
    private static func timeWithGoals(_ run: Run) -> Duration? {
        time(run, since: ["tapped", "launched", "app.loaded"])
    }

    /// From the newest event of these to the screen after it, the longest.
    private static func time(_ run: Run, since starts: Set<String>) -> Duration? {
        var (start, longest) = (Int64?.none, Int64?.none)
        for event in run.log {
            if starts.contains(event.what) { start = event.microseconds }
            guard event.what == "app.screen", let start else { continue }
            longest = max(longest ?? 0, event.microseconds - start)
        }
        return longest.map { .microseconds($0) }
    }

    private static func hasRightScreens(_ result: Result, _ run: Run) -> Bool {
        !result.faults(run).contains { $0.sort == "screen" }
    }

    static func sums(_ report: ScenarioReport<RemindersDemo>, _ terminal: Terminal) -> [String] {
        func share(_ title: String, _ time: (Result, Run) -> Duration?) -> String {
            let shares = report.apps.map { app in
                report.share(app, where: { !$0.screens.isEmpty }) { result, run in
                    hasRightScreens(result, run)
                        && time(result, run).map { $0 <= metric } == true
                }
            }
            return ScenarioReport<RemindersDemo>.line(title, shares.map { $0 ?? "0 of 0" })
        }
        return [
            "",
            share("the right screen within 500 ms of the tap", time),
            share("  counted from when its goals are loaded") { timeWithGoals($1) },
            report.row("wait to ring for what is gone") { $1.seen.centre.orphans },
        ]
    }

    static let verdict = "Every tap had its screen, once; nothing waits to ring for what is gone."
    static let explanation = """
        first      the original app: the goal is looked up at the tap.
        repaired   all of its repair: after 100 ms, once more after 50, and cancelled
                   where somebody has thought of it.
        reprise    recorded before anything else, looked up when the goals are there,
                   finished when the screen is; what rings is asked of the system anew.

        A time is the longest from a tap to its screen, the start of the app included.
        An app that says “gone” of all that is not loaded yet is right where it is gone.
        “gone”, “entry”, “paused”: the wrong screen. +3: three notifications wait to
        ring for what is gone, paused or moved, as the phone counts them. silent: a
        goal in use does not ring next time. over: not kept by the system, of which
        64 can wait. – : the case study does not cover it; what it leaves open is
        filled in to its advantage.
        """

    static func accounts(_ report: ScenarioReport<RemindersDemo>) -> [DemoAccount] {
        [
            report.account("the right screen for each tap") { app in
                report.share(app, where: { !$0.screens.isEmpty }, hasRightScreens)
            },
            report.account("none rings for what is gone") { app in
                report.sum(app) { $1.seen.centre.orphans }.map { "\($0) do" }
            },
        ]
    }

    static func json(_ result: Result, _ run: Run) -> ReportObject {
        let centre = run.seen.centre
        return [
            "screens": run.reports("screen"),
            "heard": run.seen.heard, "milliseconds": time(result, run)?.milliseconds,
            "millisecondsWithGoals": timeWithGoals(run)?.milliseconds,
            "pending": centre.pending, "orphans": centre.orphans, "silent": centre.silent,
            "dropped": dropped(run),
        ]
    }

    static func json(_ result: Result) -> ReportObject { ["expected": result.scenario.screens] }

    // MARK: The timeline

    /// From the first tap on; without one from when the app first runs.
    static let beginnings = ["tapped", "launched"]

    static func notes(_ run: Run) -> [String] {
        let centre = run.seen.centre
        return ["pending      \(centre.pending), of which \(centre.orphans) should not be"]
    }

    static func label(_ event: PhoneEvent, in _: Run) -> String? {
        switch event.what {
        case "delivered": "it rings"
        case "app.route": String(event.detail.prefix { $0 != ":" })
        default: PhoneLabel.of(event)
        }
    }
}
