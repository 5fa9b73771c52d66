import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// The app is told before a form is shown, and decides.
@Suite("Forms: the app decides")
struct FormsDecisionTests {
    let folder: TemporaryFolder
    let time = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    /// An app that answers in this order, and then that they may be shown.
    private final class App: Sendable {
        let asked = Seen<FormsAppearance>()
        private let answers: Mutex<[FormsDecision]>

        init(_ answers: FormsDecision...) { self.answers = Mutex(answers) }

        @Sendable func decide(_ form: FormsAppearance) async -> FormsDecision {
            asked.add(form)
            return answers.withLock { $0.isEmpty ? .show : $0.removeFirst() }
        }
    }

    /// An app that does not answer until it is let go.
    private final class SilentApp: Sendable {
        let asked = Seen<String>()
        private let gate = AsyncStream<Void>.makeStream()

        @Sendable func decide(_ form: FormsAppearance) async -> FormsDecision {
            asked.add(form.form)
            // Whatever becomes of the task that waits.
            await Task { [gate] in for await _ in gate.stream {} }.value
            return .show
        }

        func letGo() { gate.continuation.finish() }
    }

    private func advance(_ what: String, until isSo: () async throws -> Bool) async throws {
        try await eventually(what) {
            time.advance(by: .seconds(1))
            return try await isSo()
        }
    }

    private func isPutOff(_ feature: FormsFixture, _ id: EntryID, _ reason: String) async throws {
        try await eventually("it is put off: \(reason)") {
            try await feature.count("SELECT COUNT(*) FROM entry WHERE state = 2") == 1
        }
        #expect(try await feature.reason(of: id) == "put off welcome: \(reason)")
    }

    @Test("The app gets the form, its title and the event before the page may show anything")
    func told() async throws {
        let (host, app) = (StandInHost(.showing("welcome")), App())
        let isGranted = Seen<Bool>()
        let feature = try await FormsFixture(
            in: folder, host,
            willAppear: { [app] form in
                isGranted.add(host.views.contains { !$0.told("granted").isEmpty })
                return await app.decide(form)
            })
        let id = try await feature.forms.received(tap("a"))
        try await feature.ended(id, .applied, "shown welcome")
        let asked = try #require(app.asked.all.first)
        #expect(app.asked.all.count == 1)
        #expect(asked.form == "welcome" && asked.title == "Welcome" && asked.catalogue == "1")
        #expect(asked.event.id == id && asked.event.name == "opened_push")
        #expect(isGranted.all == [false])
        await feature.close()
    }

    @Test("A form that it refuses is never shown; its event ends with the reason, cut to its bound")
    func veto() async throws {
        let (host, app) = (StandInHost(.showing("welcome")), App(.no("in checkout"), .no(.long)))
        let feature = try await FormsFixture(in: folder, host, willAppear: app.decide)
        let id = try await feature.forms.received(tap("a"))
        try await feature.ended(id, .applied, "vetoed welcome in checkout")
        let other = try await feature.forms.received(tap("b"))
        try await eventually("it ends") { try await feature.outcome(of: other) != nil }
        let count = FormsEngineLimits.vetoCharacters + "vetoed welcome ".count
        #expect(try await feature.reason(of: other)?.count == count)
        #expect(host.views[0].told("granted").isEmpty)
        try await eventually("the page forgets them") {
            let denied = host.views[0].told("denied").compactMap { $0["reason"] as? String }
            return denied == ["settled", "settled"]
        }
        #expect(await feature.forms.diagnostics.tally.endings[.vetoed] == 2)
        // A cap counts what was shown.
        #expect(try await feature.count("SELECT COUNT(*) FROM formsShowing") == 0)
        await feature.close()
    }

    @Test(
        "A form that it puts off comes after that time, also after a kill, and is asked about again",
        .limit("forms.decisions"))
    func later() async throws {
        let first = App(.later(.seconds(600)))
        let before = try await FormsFixture(
            in: folder, StandInHost(.showing("welcome")), timekeeper: time,
            timeout: .seconds(7_200),
            willAppear: first.decide)
        let id = try await before.forms.received(tap("a"))
        try await isPutOff(before, id, "the app: later")
        #expect(
            try await before.count("SELECT due - 1800000000000 FROM entry WHERE state = 2")
                == 600_000)
        try await before.kill()
        let (host, second) = (StandInHost(.showing("welcome")), App())
        let feature = try await FormsFixture(
            in: folder, host, timekeeper: time, timeout: .seconds(7_200),
            willAppear: second.decide)
        try await eventually("the page is ready") { feature.forms.state == .ready }
        #expect(second.asked.all.isEmpty)
        try await advance("it is shown") { try await feature.outcome(of: id) == .applied }
        #expect(time.now >= WallTime(milliseconds: 1_800_000_600_000))
        #expect(try await feature.reason(of: id) == "shown welcome")
        #expect(second.asked.all.map(\.event.id).contains(id))
        #expect(try await feature.count("SELECT COUNT(*) FROM formsShowing") == 1)
        await feature.close()
    }

    @Test(
        "A form is put off for a second at least and a day at most",
        arguments: [(0, 1_000), (-5, 1_000), (1_000_000_000, 86_400_000)])
    func bounded(seconds: Int, milliseconds: Int) async throws {
        let app = App(.later(.seconds(seconds)))
        let feature = try await FormsFixture(
            in: folder, StandInHost(.showing("welcome")), timekeeper: time,
            timeout: .seconds(7_200),
            willAppear: app.decide)
        let id = try await feature.forms.received(tap("a"))
        try await isPutOff(feature, id, "the app: later")
        let due = "SELECT due - 1800000000000 FROM entry WHERE state = 2"
        #expect(try await feature.count(due) == milliseconds)
        let until = "SELECT until - 1800000000000 FROM formsDecision"
        #expect(try await feature.count(until) == milliseconds)
        await feature.close()
    }

    @Test(
        "An answer that does not come is not waited for: the form is put off, and a late one ignored",
        .limit("forms.decide"))
    func silent() async throws {
        let (host, app) = (StandInHost(.showing("welcome")), SilentApp())
        let feature = try await FormsFixture(
            in: folder, host, timekeeper: time, timeout: .seconds(7_200),
            willAppearTimeout: Forms.Configuration().willAppearTimeout, willAppear: app.decide)
        let id = try await feature.forms.received(tap("a"))
        try await eventually("it is asked") { !app.asked.all.isEmpty }
        // By steps that its timer keeps up with: a late one means a suspension.
        try await time.advance(by: .seconds(1), within: .seconds(50)) {
            try await feature.reason(of: id) == "put off welcome: the app: no answer"
        }
        #expect(time.now >= WallTime(milliseconds: 1_800_000_005_000))
        // It comes again, and the app, which still has its first question, is asked no second time.
        try await time.advance(by: .seconds(1), within: .seconds(50)) {
            await feature.forms.diagnostics.tally.undecided >= 2
        }
        #expect(time.now >= WallTime(milliseconds: 1_800_000_065_000))
        #expect(app.asked.all == ["welcome"])
        #expect(host.views.count == 1, "the page is not at fault")
        app.letGo()
        try await advance("it is shown once the app answers") {
            try await feature.outcome(of: id) == .applied
        }
        #expect(try await feature.reason(of: id) == "shown welcome")
        #expect(host.views[0].told("granted").count == 1)
        await feature.close()
    }

    @Test("An answer about a form whose page has died meanwhile counts for nothing")
    func pageDies() async throws {
        let (host, app) = (StandInHost(.showing("welcome")), SilentApp())
        let feature = try await FormsFixture(in: folder, host, willAppear: app.decide)
        let id = try await feature.forms.received(tap("a"))
        try await eventually("it is asked") { !app.asked.all.isEmpty }
        host.views[0].crash()
        try await eventually("the next page asks, too") {
            host.views.count == 2 && !host.views[1].told("events").isEmpty
        }
        app.letGo()
        try await feature.ended(id, .applied, "shown welcome")
        #expect(host.views[0].told("granted").isEmpty)
        #expect(host.views[1].told("granted").count == 1)
        // The page that died, and the one that lives: a question each.
        #expect(app.asked.all.count == 2)
        await feature.close()
    }

    @Test(
        "A form that the app has allowed comes without another question if the page dies before it appears"
    )
    func allowed() async throws {
        var dying = StandInView.Manner.showing("welcome")
        dying.granted = { view, _ in view.crash() }
        let app = App()
        let feature = try await FormsFixture(
            in: folder, StandInHost(dying, .showing("welcome")), willAppear: app.decide)
        let id = try await feature.forms.received(tap("a"))
        try await feature.ended(id, .applied, "shown welcome")
        #expect(app.asked.all.count == 1)
        #expect(try await feature.count("SELECT COUNT(*) FROM formsShowing") == 1)
        await feature.close()
    }

    @Test("Killed while it decides, the form comes after the restart, once it has said so")
    func killed() async throws {
        let (before, silent) = (StandInHost(.showing("welcome")), SilentApp())
        let first = try await FormsFixture(in: folder, before, willAppear: silent.decide)
        let id = try await first.forms.received(tap("a"))
        try await eventually("it is asked") { !silent.asked.all.isEmpty }
        try await first.kill()
        silent.letGo()
        let (host, app) = (StandInHost(.showing("welcome")), App(.no("not now")))
        let feature = try await FormsFixture(in: folder, host, willAppear: app.decide)
        try await feature.ended(id, .applied, "vetoed welcome not now")
        #expect(before.views[0].told("granted").isEmpty && host.views[0].told("granted").isEmpty)
        await feature.close()
    }

    @Test("The app is not asked about a form whose cap is reached")
    func capped() async throws {
        let app = App()
        let feature = try await FormsFixture(
            in: folder, StandInHost(.capped), willAppear: app.decide)
        for name in ["a", "b"] {
            let id = try await feature.forms.received(tap(name))
            try await feature.ended(id, .applied, "shown welcome")
        }
        let third = try await feature.forms.received(tap("c"))
        try await feature.ended(third, .applied, "suppressed welcome formFrequency")
        #expect(app.asked.all.count == 2)
        await feature.close()
    }

    @Test("No time for it, and more than a minute, are refused", arguments: [0, -1, 61])
    func timeout(seconds: Int) {
        var configuration = Forms.Configuration()
        configuration.willAppearTimeout = .seconds(seconds)
        expectError(.badConfiguration) { try configuration.check() }
    }
}

extension String {
    fileprivate static var long: String { String(repeating: "x", count: 1_000) }
}

extension StandInView.Manner {
    /// It says that a form is gone as soon as it is shown, and what the host has denied.
    fileprivate static var capped: Self {
        var manner = Self()
        manner.answer = { view, event in
            view.say("showing", ["event": event["id"] ?? "", "form": "welcome"])
        }
        manner.granted = { view, message in
            view.say("formDidAppear", message)
            view.say("formDidDismiss", message.merging(["how": "button"]) { $1 })
        }
        manner.denied = { view, message in
            view.say(
                "handled",
                [
                    "events": [
                        [
                            "id": message["event"] ?? "", "result": "suppressed",
                            "form": message["form"] ?? "", "reason": message["reason"] ?? "",
                        ]
                    ]
                ])
        }
        return manner
    }
}
