import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// Which app plays: the same phone, the same server, the same messages.
enum NoticesAlgorithm: String, ExpressibleByArgument, ScenarioApp {
    /// The original app of `case-badge-banner`: a socket and local notifications.
    case seed
    case reprise

    var title: String { self == .seed ? "original" : rawValue }
}

/// The demo `notices`: the cases of `case-badge-banner` and more, in real processes.
enum NoticesDemo: ScenarioDemo {
    typealias App = NoticesAlgorithm
    typealias Script = NoticesScenario
    typealias Result = ScenarioResult<NoticesDemo>

    /// By the phone's notification centre and by the server.
    struct Observation: Sendable {
        let notes: NoticesNotes
        /// At the icon, in the end.
        let badge: Int64
        /// By the server, by conversation.
        let standings: [String: NoticesStatus]
        /// The delivered notifications at the end.
        let delivered: [NotificationRequest]
        /// How often the app has counted that a person was alerted twice.
        let secondAlerts: Int64
        /// The same of the other persons' phones.
        var others: [Run] = []
        /// What came to a terminal.
        var terminal: [NoticesTerminal.Line] = []

        var messages: [NoticesNotes.Message] { notes.messages }
        var unread: Int64 { standings.values.reduce(0) { $0 + $1.unread } }
    }

    static let name = "notices"
    static let headline = "case-badge-banner, for real; it takes about a minute, --full an hour."
    /// Most of a scenario is waiting for a push.
    static let fixtures = 5

    /// Those that wait for pushes begin first, so that none runs alone at the end.
    static func isLong(_ scenario: NoticesScenario, _ app: App) -> Bool {
        scenario.isPushed && app == .reprise
    }

    // MARK: Expectations

    static let expectations: [Expectation<Run>] = [
        counted("each message reaches the person", "late", "lost", "messages were never seen") {
            run in run.seen.messages.count { !isKnown($0, run) }
        },
        counted(
            "by a banner, where the app is not open", "late", "at open",
            "messages were seen only when the app ran again"
        ) { run in
            run.seen.messages.count {
                $0.due == .banner && isKnown($0, run) && time(of: $0, run) == nil
            }
        },
        counted("by at most one banner", "twice", "twice", "banners too many") { run in
            let count = twice(run)
            // A second alert from a race that was counted.
            let isCounted = run.scenario.mayRace && Int64(count) <= run.seen.secondAlerts
            return isCounted ? 0 : count
        },
        counted(
            "by none, where the person has said no", "other", "shown",
            "banners disturbed the person, who had said no"
        ) { run in
            run.seen.messages.count { $0.due == .quiet && !banners(of: $0.id, run).isEmpty }
        },
        counted(
            "no banner stands for what is read", "stale", "stands",
            "banners stand for what is read"
        ) { run in
            run.seen.messages.count { message in
                message.seq <= run.seen.standings[message.channel]?.read ?? 0
                    && run.seen.delivered.contains { $0.id == message.id }
            }
        },
        counted(
            "a banner has its sender and text", "other", "unnamed",
            "banners lack a sender or a text", unnamed),
        counted("and a sound", "other", "silent", "banners made no sound", silent),
        Expectation("a tap leads to its conversation") { run in
            let led = run.reports("route").map { String($0.prefix { $0 != " " }) }
            let sentence = "the taps led to \(led.joined(separator: ", "))"
            return led == run.seen.notes.routes ? [] : [.init("other", "wrong way", sentence)]
        },
        Expectation("after each step the badge is what is unread, and signs are seen") {
            $0.seen.notes.faults
        },
        Expectation("at the end the badge is what is unread") { run in
            run.seen.badge == run.seen.unread
                ? [] : [badge(saw: run.seen.badge, due: run.seen.unread)]
        },
        .ledger("each message has ended once in the ledger") { _, ledger in
            ledger.isBalanced && ledger.pending == 0
        },
        Expectation("a terminal has each message once, in order") { run in
            let said = NoticesTerminal.names(in: run.seen.terminal)
            let sentence = "the terminal had \(said.joined(separator: ", "))"
            return said == run.seen.notes.said ? [] : [.init("other", "terminal", sentence)]
        },
        Expectation("all of this holds on each person's phone") { run in
            run.seen.others.flatMap { other in
                expectations.flatMap { $0.faults(other) }.map { fault in
                    ScenarioFault(
                        fault.sort, fault.word, "On another phone: " + fault.sentence,
                        count: fault.count)
                }
            }
        },
    ]

    private static func counted(
        _ sentence: String, _ sort: String, _ word: String, _ what: String,
        _ count: @escaping @Sendable (Run) -> Int
    ) -> Expectation<Run> {
        Expectation(sentence) { run in
            let count = count(run)
            return .some(count, sort, "\(count) \(word)", what)
        }
    }

    static func badge(saw: Int64, due: Int64) -> ScenarioFault {
        .init("badge", "badge \(saw) of \(due)", "the badge was \(saw), and \(due) were unread")
    }

    /// When banners of a message were seen, on the clock of the log.
    private static func banners(of id: String, _ run: Run) -> [Int64] {
        run.log.filter { $0.what == "banner" && $0.detail == id }.map(\.microseconds)
    }

    private static func isKnown(_ message: NoticesNotes.Message, _ run: Run) -> Bool {
        run.log.contains {
            ["app.stored", "banner"].contains($0.what) && $0.detail == message.id
        }
    }

    /// How soon a person heard of a message; nil: not before the app ran again.
    private static func time(of message: NoticesNotes.Message, _ run: Run) -> Duration? {
        guard let first = banners(of: message.id, run).first else { return nil }
        let opened = run.log.first {
            ($0.what == "foreground" || $0.what == "resumed")
                && $0.microseconds > message.microseconds
        }
        if let opened, opened.microseconds < first { return nil }
        return .microseconds(max(0, first - message.microseconds))
    }

    /// The longest of those that were to be banners; nil: there was none.
    private static func time(_ run: Run) -> Duration? {
        run.seen.messages.filter { $0.due == .banner }.compactMap { time(of: $0, run) }.max()
    }

    /// Banners beyond the first of a message.
    private static func twice(_ run: Run) -> Int {
        run.seen.messages.reduce(0) { $0 + max(0, banners(of: $1.id, run).count - 1) }
    }

    /// Expected banners that were delivered silently.
    ///
    /// Except where a push has replaced an audible banner: that one must be silent.
    @Sendable private static func silent(_ run: Run) -> Int {
        run.seen.messages.count { message in
            message.due == .banner
                && run.log.count { $0.what == "delivered" && $0.detail == message.id } == 1
                && run.seen.delivered.contains { $0.id == message.id && !$0.content.sound }
        }
    }

    /// Delivered notifications without sender, group or text.
    @Sendable private static func unnamed(_ run: Run) -> Int {
        run.seen.delivered.count { request in
            guard let message = run.seen.messages.first(where: { $0.id == request.id }) else {
                return true
            }
            let (title, subtitle) = (request.content.title, request.content.subtitle)
            // The original app names one of the two.
            let isNamed =
                run.app == .reprise
                ? title == "The \(message.channel)" && subtitle == message.author
                : (title + subtitle).contains("ada") || title.contains(message.channel)
            return !isNamed || request.content.body != "Message \(message.name)"
        }
    }

    /// As the scenario has it.
    private static func name(of id: String, in run: Run) -> String {
        run.seen.messages.first { $0.id == id }?.name ?? NoticesNotes.name(of: id)
    }

    // MARK: The report

    static let column = (title: "what a person saw", width: 42)

    static func cell(_ result: Result, _ run: Run) -> String {
        if let fault = result.faults(run).first { return fault.word }
        if let time = time(run) { return String(format: "%.2f s", time.inSeconds) }
        return run.seen.messages.contains { $0.due == .atOpen } ? "when opened" : "right"
    }

    private static func total(_ sort: String) -> (Result, Run) -> Int {
        { result, run in
            result.faults(run).reduce(0) { $0 + ($1.sort == sort ? $1.count : 0) }
        }
    }

    static func sums(_ report: ScenarioReport<NoticesDemo>, _ terminal: Terminal) -> [String] {
        [
            "", report.row("messages") { $1.seen.messages.count },
            report.row("  not heard of before the app was opened", total("late")),
            report.row("  with a second banner", total("twice")),
            report.row("banners of what is read", total("stale")),
            report.row("scenarios with a wrong badge") { total("badge")($0, $1) > 0 ? 1 : 0 },
        ]
    }

    static let verdict = "At most one banner of a message, and the badge is what is unread."
    static let explanation = """
        original   the case study's app: a socket while it runs, a local notification
                   for each message, and nothing when it does not run. What is left
                   open is filled in to its advantage: no message is lost, the badge is
                   in the banner, and asked of the server at each opening.
        reprise    the same, and pushes from a server process by a stand-in of Apple's
                   to the phone, where an extension decides by what the app has left.

        A time is the longest from “stored” to its banner, as the phone's notification
        centre has it. A push is sent after 0.5 s to a device without a connection, and
        after 5 s to a connected one that has not received the message. “2 at open”:
        not before the app was opened or ran again. “badge 0 of 1”: what the icon
        showed, and what was unread by the server. “1 stands”: a banner of what is
        read. – : the case study does not cover it.
        """

    static func accounts(_ report: ScenarioReport<NoticesDemo>) -> [DemoAccount] {
        func account(
            _ promise: String, _ sort: String, _ word: String,
            where isMeant: @escaping (NoticesScenario) -> Bool = { _ in true }
        ) -> DemoAccount {
            report.account(promise) { app in
                report.sum(app, where: isMeant, total(sort)).map { "\($0) \(word)" }
            }
        }
        return [
            account("at most one banner of a message", "twice", "twice"),
            account("the badge is what is unread", "badge", "wrong"),
            account("seen although the app was dead", "late", "not") { $0.isPushed },
        ]
    }

    static func json(_ result: Result, _ run: Run) -> ReportObject {
        [
            "messages": run.seen.messages.count,
            "banners": run.log.count { $0.what == "banner" },
            "milliseconds": time(run)?.milliseconds, "badge": run.seen.badge,
            "unread": run.seen.unread, "secondAlerts": run.seen.secondAlerts,
        ]
    }

    // MARK: The timeline

    static let beginnings = ["launched"]

    static func sightings(_ run: Run) -> [Sighting] {
        var all: [Sighting] = run.seen.messages.map { ("\($0.name) is stored", $0.microseconds) }
        for line in run.seen.terminal where line.isMessage {
            all.append(("  terminal: " + line.text, line.microseconds))
        }
        for other in run.seen.others {
            for event in other.log where marks.contains(event.what) {
                guard let words = label(event, in: other) else { continue }
                all.append(("  other phone: " + words, event.microseconds))
            }
        }
        return all
    }

    /// What a timeline has of other phones.
    private static let marks: Set = ["launched", "terminated", "banner", "badge", "app.route"]

    static func notes(_ run: Run) -> [String] {
        ["badge        \(run.seen.badge), and \(run.seen.unread) unread by the server"]
    }

    static func label(_ event: PhoneEvent, in run: Run) -> String? {
        switch event.what {
        case "banner", "app.stored": PhoneLabel.of(event, detail: name(of: event.detail, in: run))
        case "removed": "taken away: \(name(of: event.detail, in: run))"
        default: PhoneLabel.of(event)
        }
    }
}
