import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseFakes
import RepriseNIO
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
    typealias Run = ScenarioRun<NoticesDemo>
    typealias Result = ScenarioResult<NoticesDemo>

    /// By the phone's notification centre and by the server.
    struct Observation: Sendable {
        let messages: [NoticesRecorder.Message]
        /// Violations during the run.
        let noted: [ScenarioFault]
        /// The expected targets of taps.
        let routes: [String]
        /// At the icon, in the end.
        let badge: Int64
        /// By the server, by conversation.
        let standings: [String: NoticesStatus]
        /// The delivered notifications at the end.
        let delivered: [NotificationRequest]
        /// How often the app has counted that a person was alerted twice.
        let secondAlerts: Int64

        var unread: Int64 { standings.values.reduce(0) { $0 + $1.unread } }
    }

    static let name = "notices"
    static let headline = "case-badge-banner, for real; it takes about a minute, --full an hour."
    /// Most of a scenario is waiting for a push.
    static let fixtures = 5

    static func scenarios(_ settings: DemoSettings) -> [NoticesScenario] {
        NoticesScenario.all(settings)
    }

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
        Expectation("by at most one banner") { run in
            let count = twice(run)
            // A second alert from a race that was counted.
            let isCounted = run.scenario.mayRace && Int64(count) <= run.seen.secondAlerts
            return fault("twice", isCounted ? 0 : count, "twice", "banners too many")
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
            return led == run.seen.routes ? [] : [.init("other", "wrong way", sentence)]
        },
        Expectation("after each step the badge is what is unread, and signs are seen") {
            $0.seen.noted
        },
        Expectation("at the end the badge is what is unread") { run in
            run.seen.badge == run.seen.unread
                ? [] : [badge(saw: run.seen.badge, due: run.seen.unread)]
        },
        .ledger("each message has ended once in the ledger") { _, ledger in
            ledger.isBalanced && ledger.pending == 0
        },
    ]

    private static func counted(
        _ sentence: String, _ sort: String, _ word: String, _ what: String,
        _ count: @escaping @Sendable (Run) -> Int
    ) -> Expectation<Run> {
        Expectation(sentence) { run in fault(sort, count(run), word, what) }
    }

    private static func fault(
        _ sort: String, _ count: Int, _ word: String, _ what: String
    ) -> [ScenarioFault] {
        count > 0 ? [.init(sort, "\(count) \(word)", "\(count) \(what)", count: count)] : []
    }

    static func badge(saw: Int64, due: Int64) -> ScenarioFault {
        .init("badge", "badge \(saw) of \(due)", "the badge was \(saw), and \(due) were unread")
    }

    /// When banners of a message were seen, on the clock of the log.
    private static func banners(of id: String, _ run: Run) -> [Int64] {
        run.log.filter { $0.what == "banner" && $0.detail == id }.map(\.microseconds)
    }

    private static func isKnown(_ message: NoticesRecorder.Message, _ run: Run) -> Bool {
        run.log.contains {
            ["app.stored", "banner"].contains($0.what) && $0.detail == message.id
        }
    }

    /// How soon a person heard of a message; nil: not before the app ran again.
    private static func time(of message: NoticesRecorder.Message, _ run: Run) -> Duration? {
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

    /// Delivered notifications without sender, channel or text.
    @Sendable private static func unnamed(_ run: Run) -> Int {
        run.seen.delivered.count { request in
            guard let message = run.seen.messages.first(where: { $0.id == request.id }) else {
                return true
            }
            let names = request.content.title + request.content.subtitle
            return !names.contains("ada") && !names.contains(message.channel)
                || request.content.body != "Message \(name(of: message.id))"
        }
    }

    /// As the scenario has it.
    static func name(of id: String) -> String { String(id.split(separator: "-").last ?? "") }

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
        func row(_ title: String, _ count: (Result, Run) -> Int) -> String {
            ScenarioReport<NoticesDemo>.line(title, report.sums(count).map(String.init))
        }
        return [
            "", row("messages") { $1.seen.messages.count },
            row("  not heard of before the app was opened", total("late")),
            row("  with a second banner", total("twice")),
            row("banners of what is read", total("stale")),
            row("scenarios with a wrong badge") { total("badge")($0, $1) > 0 ? 1 : 0 },
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
        centre has it. A push is sent when a device has not received a message by
        itself in 5 s. “2 at open”: not before the app was opened or ran again. “badge
        0 of 1”: what the icon showed, and what was unread by the server. “1 stands”:
        a banner of what is read. – : the case study does not cover it.
        """

    static func accounts(_ report: ScenarioReport<NoticesDemo>) -> [DemoAccount] {
        func account(
            _ promise: String, _ sort: String, _ word: String,
            where isMeant: @escaping (Result) -> Bool = { _ in true }
        ) -> DemoAccount {
            func sum(_ app: App) -> String? {
                let runs = report.results.filter(isMeant).compactMap { result in
                    result.run(app).map { total(sort)(result, $0) }
                }
                return runs.isEmpty ? nil : "\(runs.reduce(0, +)) \(word)"
            }
            return DemoAccount(
                feature: "notices", promise: promise, before: sum(.seed), repaired: nil,
                reprise: sum(.reprise) ?? "–", kept: report.hasPassed)
        }
        return [
            account("at most one banner of a message", "twice", "twice"),
            account("the badge is what is unread", "badge", "wrong"),
            account("seen although the app was dead", "late", "not") { $0.scenario.isPushed },
        ]
    }

    static func json(_ result: Result, _ run: Run) -> ReportObject {
        [
            "faults": result.faults(run).map(\.sentence), "messages": run.seen.messages.count,
            "banners": run.log.count { $0.what == "banner" },
            "milliseconds": time(run)?.milliseconds, "badge": run.seen.badge,
            "unread": run.seen.unread, "secondAlerts": run.seen.secondAlerts,
        ]
    }

    // MARK: The timeline

    static let beginnings = ["launched"]

    static func sightings(_ run: Run) -> [(label: String, microseconds: Int64)] {
        run.seen.messages.map { ("\(name(of: $0.id)) is stored", $0.microseconds) }
    }

    static func notes(_ run: Run) -> [String] {
        ["badge        \(run.seen.badge), and \(run.seen.unread) unread by the server"]
    }

    static func label(_ event: PhoneEvent) -> String? {
        switch event.what {
        case "exited", "terminated": "the process has died (\(event.detail))"
        case "foreground": "the app is in the foreground"
        case "background": "the app is in the background"
        case "banner": "A BANNER: \(name(of: event.detail))"
        case "removed": "taken away: \(name(of: event.detail))"
        case "badge": "the badge is \(event.detail)"
        case "push": "a push arrives"
        case "app.stored": "the app has \(name(of: event.detail))"
        case "app.extension": "the extension runs"
        case "app.extensionAnswer": "it says: \(event.detail)"
        case "app.route": "ON THE SCREEN: \(event.detail)"
        case "app.process", "completed": nil
        default: PhoneLabel.of(event)
        }
    }
}

// MARK: - Playing

extension NoticesDemo {
    /// A phone, a server and what brings pushes from one to the other.
    struct Fixture: Sendable {
        let phone: Phone
        let server: NoticesServer
        let program: URL
        let address: PushEndpoint.Address
        let clock = LogClock()
    }

    static func withFixture<T: Sendable>(
        _ settings: DemoSettings, _ body: (Fixture) async throws -> T
    ) async throws -> T {
        try await DemoFolder.with { folder in
            let (pushes, taken) = AsyncStream<FakeRequest>.makeStream(
                bufferingPolicy: .bufferingNewest(10_000))
            return try await NoticesServer.with(
                folder.url.appendingPathComponent("server"), taken: { taken.yield($0) }
            ) { server in
                try await folder.withPhone { phone in
                    let address = try await address(of: phone)
                    let carrying = Task { await carry(pushes, to: address) }
                    defer { carrying.cancel() }
                    return try await body(
                        Fixture(
                            phone: phone, server: server, program: folder.program,
                            address: address))
                }
            }
        }
    }

    /// The phone's push address, once it listens.
    private static func address(of phone: Phone) async throws -> PushEndpoint.Address {
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            if let address = PushEndpoint.Address(in: phone.folder) { return address }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw CommandFailure(.internal, "The phone takes no pushes.")
    }

    /// Delivers pushes from Apple's stand-in to the phone, one after the other.
    private static func carry(
        _ pushes: AsyncStream<FakeRequest>, to address: PushEndpoint.Address
    ) async {
        for await push in pushes {
            var headers = Dictionary(
                push.headers.filter { $0.name.hasPrefix("apns-") }.map { ($0.name, $0.value) }
            ) { first, _ in first }
            // On the phone each app of the demo is one of its own.
            headers["apns-topic"] = nil
            let call = HTTPCall(
                method: "POST", url: address.url + push.path, headers: headers,
                body: .bytes(push.body))
            _ = try? await NIOTransport().fetch(call, limit: 65_536)
        }
    }

    static func begin(
        _ scenario: NoticesScenario, as app: App, on fixture: Fixture, number: Int
    ) async throws -> NoticesSession {
        let (phone, server, id) = (fixture.phone, fixture.server, "p\(number)-\(scenario.name)")
        let since = try await phone.status().lastEvent
        try await phone.online()
        try await phone.ask(.rules(scenario.rules))
        let (url, person) = (await server.url, "person\(number)")
        let ada = try await NoticesCaller.make("ada", at: url)
        let isPushed = scenario.isPushed && app == .reprise
        let session = NoticesSession(
            phone: phone, server: server, program: fixture.program, id: id, algorithm: app,
            person: person, channels: ["team\(number)", "club\(number)"], sender: ada,
            elsewhere: try await NoticesCaller.make(person, at: url),
            pushToken: isPushed ? fixture.address.token(of: id) : nil, clock: fixture.clock,
            since: since)
        for channel in session.channels {
            try await ada.send(
                "PUT", ["channels", channel],
                #"{"title":"The \#(channel)","visibility":"private"}"#)
            try await ada.send("PUT", ["channels", channel, "members", person])
        }
        if let token = session.pushToken { server.apns.install(token) }
        try await session.install()
        try await phone.permit(app: id)
        return session
    }

    /// The person opens the app; when all is idle, or at a timeout, the result is judged.
    static func end(_ session: NoticesSession, of scenario: NoticesScenario, on fixture: Fixture)
        async throws -> Run
    {
        try await session.open()
        let end = ContinuousClock.now + (session.isReprise ? .seconds(12) : session.timeout)
        var run = try await session.run(scenario)
        while ContinuousClock.now < end {
            let result = ScenarioResult(scenario: scenario, runs: [run])
            if result.faults(run).isEmpty, session.isLive(run.log) { break }
            try await Task.sleep(for: .milliseconds(25))
            run = try await session.run(scenario)
        }
        if let token = session.pushToken { fixture.server.apns.uninstall(token, since: Date()) }
        try await session.phone.ask(.uninstall(app: session.id))
        return run
    }
}
