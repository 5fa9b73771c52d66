import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

/// Events whose form's time is far off: the page gives them back, and the journal keeps them.
@Suite("Forms and delays")
struct FormsDelayTests {
    let folder: TemporaryFolder
    let time = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    /// A page that evaluates as forms.js does: `slow` has a form a minute later, `opened_push` at
    /// once.
    private static let page: StandInView.Manner = {
        var manner = StandInView.Manner()
        manner.protocols = [1, 2]
        manner.answer = { view, event in
            let due = (event["at"] as? Int64 ?? 0) + 60_000
            if event["name"] as? String != "slow" {
                view.say("showing", ["event": event["id"] ?? "", "form": "welcome"])
            } else if due > event["now"] as? Int64 ?? 0 {
                view.say("later", ["events": [["id": event["id"] ?? "", "at": due]]])
            } else {
                view.handled(event["id"], "noMatch")
            }
        }
        return manner
    }()

    private func postponed(_ feature: FormsFixture, _ count: Int) async throws {
        try await eventually("\(count) are given back") {
            try await feature.count("SELECT COUNT(*) FROM entry WHERE state = 2") == count
        }
    }

    /// Lets time pass until it is so: a timer is set some time after what it is set for is written.
    private func advance(_ what: String, until isSo: () async throws -> Bool) async throws {
        try await eventually(what) {
            time.advance(by: .seconds(1))
            return try await isSo()
        }
    }

    @Test(
        "300 events with a long delay hold no place: one after them is shown at once",
        .limit("forms.inFlight"))
    func places() async throws {
        let host = StandInHost(Self.page)
        // While time is let pass nobody waits for the page's answers.
        let feature = try await FormsFixture(
            in: folder, host, timekeeper: time, timeout: .seconds(3_600))
        for _ in 0..<300 { try await feature.forms.record("slow") }
        try await postponed(feature, 300)
        let tap = try await feature.forms.received(tap("a"))
        try await feature.ended(tap, .applied, "shown welcome")
        let diagnostics = await feature.forms.diagnostics
        #expect(diagnostics.inFlight == 0)
        #expect(diagnostics.tally.postponed == 300)
        #expect(host.views[0].told("welcome").first?["protocol"] as? Int == 2)
        try await advance("all have come again") {
            try await feature.journal.ledger().outcomes[.applied] == 301
        }
        #expect(time.now >= WallTime(milliseconds: 1_800_000_060_000))
        #expect(await feature.forms.diagnostics.tally.replacements == 0)
        #expect(try await feature.journal.ledger().isBalanced)
        await feature.close()
    }

    @Test("Killed while it is given back, an event comes to the next page when its time has come")
    func killed() async throws {
        let first = try await FormsFixture(in: folder, StandInHost(Self.page), timekeeper: time)
        let id = try await first.forms.record("slow")
        try await postponed(first, 1)
        try await first.kill()
        let host = StandInHost(Self.page)
        let feature = try await FormsFixture(in: folder, host, timekeeper: time)
        try await feature.ended(
            try await feature.forms.received(tap("a")), .applied, "shown welcome")
        let told = host.views[0].told("events").flatMap { $0["events"] as? [[String: Any]] ?? [] }
        #expect(told.compactMap { $0["name"] as? String } == ["opened_push"])
        #expect(
            try await feature.reason(of: id) == "The time of its form has not come.")
        try await advance("it comes") { try await feature.outcome(of: id) == .applied }
        #expect(time.now >= WallTime(milliseconds: 1_800_000_060_000))
        await feature.close()
    }

    @Test("An event whose time to live is shorter than its form's delay expires while it is away")
    func expires() async throws {
        let feature = try await FormsFixture(
            in: folder, StandInHost(Self.page),
            events: [FormsEvent("slow", timeToLive: .seconds(30))], timekeeper: time)
        let id = try await feature.forms.record("slow")
        try await postponed(feature, 1)
        try await eventually("it ends, before the time of its form") {
            if time.now < WallTime(milliseconds: 1_800_000_059_000) {
                time.advance(by: .seconds(1))
            }
            return try await feature.outcome(of: id) != nil
        }
        #expect(try await feature.outcome(of: id) == .expired)
        await feature.close()
    }

    @Test(
        "An event with a bound to deliver goes to the app when its delay is over and no page is there"
    )
    func late() async throws {
        let rules = [FormsEvent("slow", timeToLive: .seconds(30), then: .deliver)]
        let first = try await FormsFixture(
            in: folder, StandInHost(Self.page), events: rules, timekeeper: time, late: { _ in })
        let id = try await first.forms.record("slow")
        try await postponed(first, 1)
        await first.close()
        let seen = Seen<EntryID>()
        let feature = try await FormsFixture(
            in: folder, StandInHost(.withoutHello), events: rules, timekeeper: time,
            late: { seen.add($0.id) }, timeout: .seconds(3_600))
        try await advance("the app gets it") { seen.all == [id] }
        try await feature.ended(id, .applied, "delivered late")
        #expect(time.now >= WallTime(milliseconds: 1_800_000_060_000))
        await feature.close()
    }

    @Test(
        "A page that has nonsense for a moment waits a second at least, and a day at most",
        .limit("forms.postponed"))
    func nonsense() async throws {
        var manner = StandInView.Manner()
        manner.answer = { view, event in
            let at = event["name"] as? String == "past" ? Int64.min + 1 : Int64.max
            view.say("later", ["events": [["id": event["id"] ?? "", "at": at]]])
        }
        let feature = try await FormsFixture(in: folder, StandInHost(manner), timekeeper: time)
        try await feature.forms.record("past")
        try await feature.forms.record("future")
        try await postponed(feature, 2)
        let due = "SELECT due - 1800000000000 FROM entry WHERE kind = 'forms' ORDER BY seq"
        #expect(try await feature.count(due + " LIMIT 1") == 1_000)
        #expect(try await feature.count(due + " LIMIT 1 OFFSET 1") == 86_400_000)
        await feature.close()
    }
}

extension StandInView.Manner {
    fileprivate static var withoutHello: Self {
        var manner = Self()
        manner.saysHello = false
        return manner
    }
}
