import GRDB
import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Forms and death")
struct FormsDeathTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func rules(_ interruption: EntryKind.Interruption) -> [FormsEvent] {
        [FormsEvent("opened_push", onInterruption: interruption)]
    }

    /// A page that is granted a form and shows nothing.
    private static var granting: StandInView.Manner {
        var manner = StandInView.Manner.showing("welcome")
        manner.granted = { _, _ in }
        return manner
    }

    @Test("Killed between grant and appearance, `again` shows the form again and counts it once")
    func againAfterKill() async throws {
        let host = StandInHost(Self.granting)
        let first = try await FormsFixture(in: folder, host, events: Self.rules(.again))
        let id = try await first.forms.received(tap("a"))
        try await eventually("it is granted") { host.views.first?.told("granted").count == 1 }
        let showing = host.views[0].told("granted")[0]["showing"] as? String
        try await first.kill()
        let next = StandInHost(.showing("welcome"))
        let feature = try await FormsFixture(in: folder, next, events: Self.rules(.again))
        try await feature.ended(id, .applied, "shown welcome")
        #expect(next.views[0].told("granted")[0]["showing"] as? String == showing)
        #expect(try await feature.count("SELECT COUNT(*) FROM formsShowing") == 1)
        #expect(try await feature.journal.ledger().isBalanced)
        await feature.close()
    }

    @Test("Killed between grant and appearance, `never` ends the event as unconfirmed")
    func neverAfterKill() async throws {
        let host = StandInHost(Self.granting)
        let first = try await FormsFixture(in: folder, host, events: Self.rules(.never))
        let id = try await first.forms.received(tap("a"))
        try await eventually("it is granted") { host.views.first?.told("granted").count == 1 }
        try await first.kill()
        let next = StandInHost(.showing("welcome"))
        let feature = try await FormsFixture(in: folder, next, events: Self.rules(.never))
        try await eventually("it is unconfirmed") {
            try await feature.outcome(of: id) == .unconfirmed
        }
        #expect(next.views.allSatisfy { $0.told("events").isEmpty })
        await feature.close()
    }

    @Test(
        "A page that dies between grant and appearance leaves doubt: an event whose time is up by then ends as unconfirmed, not as expired"
    )
    func doubtOutlivesThePage() async throws {
        let time = ManualClock()
        let rules = [FormsEvent("opened_push", timeToLive: .seconds(60))]
        let host = StandInHost(Self.granting)
        let feature = try await FormsFixture(in: folder, host, events: rules, timekeeper: time)
        let id = try await feature.forms.received(tap("a"))
        try await eventually("it is granted") { host.views.first?.told("granted").count == 1 }
        time.advance(by: .seconds(61))
        host.views[0].crash()
        try await eventually("it is unconfirmed") {
            try await feature.outcome(of: id) == .unconfirmed
        }
        await feature.close()
    }

    @Test("Killed with the event only dispatched, `never` dispatches it again")
    func neverDispatched() async throws {
        let host = StandInHost(.silent)
        let first = try await FormsFixture(in: folder, host, events: Self.rules(.never))
        let id = try await first.forms.received(tap("a"))
        try await eventually("the page has it") { host.views.first?.told("events").count == 1 }
        try await first.kill()
        let feature = try await FormsFixture(
            in: folder, StandInHost(.showing("welcome")), events: Self.rules(.never))
        try await feature.ended(id, .applied, "shown welcome")
        await feature.close()
    }

    @Test("Killed five times while the event waits in the page, it is shown once")
    func fiveKills() async throws {
        var id: EntryID?
        for life in 0..<5 {
            let host = StandInHost(.silent)
            let feature = try await FormsFixture(in: folder, host)
            if life == 0 { id = try await feature.forms.received(tap("a")) }
            try await eventually("the page has it") { host.views.first?.told("events").count == 1 }
            try await feature.kill()
        }
        let feature = try await FormsFixture(in: folder, StandInHost(.showing("welcome")))
        try await feature.ended(try #require(id), .applied, "shown welcome")
        #expect(try await feature.count("SELECT COUNT(*) FROM formsShowing") == 1)
        await feature.close()
    }

    @Test(
        "A page that dies before, in or after its handshake is replaced, and the event goes to the next",
        arguments: ["before", "in", "after"])
    func crash(when: String) async throws {
        var manner = StandInView.Manner.silent
        manner.saysHello = when != "before"
        manner.takesCatalogue = when == "after"
        let host = StandInHost(manner, .showing("welcome"))
        let feature = try await FormsFixture(in: folder, host)
        let id = try await feature.forms.received(tap("a"))
        try await eventually("the page is so far") {
            guard let view = host.views.first else { return false }
            switch when {
            case "before": return feature.forms.state == .handshaking
            case "in": return !view.told("catalogue").isEmpty
            default: return view.told("events").count == 1
            }
        }
        host.views[0].crash()
        try await feature.ended(id, .applied, "shown welcome")
        #expect(host.views.count == 2)
        #expect(await feature.forms.diagnostics.tally.replacements == 1)
        await feature.close()
    }

    @Test(
        "A page that kills itself over one event costs that one alone, and is not made more than three times a minute",
        .limit("forms.deaths")
    )
    func poison() async throws {
        var manner = StandInView.Manner()
        manner.answer = { view, event in
            if (event["properties"] as? [String: Any])?["poison"] != nil { return view.crash() }
            view.handled(event["id"], "noMatch")
        }
        let time = ManualClock()
        let feature = try await FormsFixture(in: folder, StandInHost(manner), timekeeper: time)
        let before = try await feature.forms.record("e")
        let poison = try await feature.forms.record("e", properties: #"{"poison": true}"#)
        let behind = try await feature.forms.record("e")
        try await eventually("it rests") { feature.forms.state == .stalled }
        // The guilty one is known by then only if it was alone: a minute later it is tried again.
        try await eventually("the guilty one is known") {
            if feature.forms.state == .stalled { time.advance(by: .seconds(61)) }
            return try await feature.outcome(of: poison) != nil
        }
        #expect(try await feature.outcome(of: poison) == .dead)
        try await feature.ended(before, .applied, "noMatch")
        time.advance(by: .seconds(61))
        try await feature.ended(behind, .applied, "noMatch")
        await feature.close()
    }

    @Test(
        "A form whose web view goes, as with its window, is off the screen, and the next one comes")
    func goesWithForm() async throws {
        let host = StandInHost(.showing("welcome"))
        let feature = try await FormsFixture(in: folder, host)
        let first = try await feature.forms.received(tap("a"))
        try await feature.ended(first, .applied, "shown welcome")
        try await eventually("it is on the screen") {
            feature.forms.state == .showing("welcome")
        }
        host.views[0].crash()
        let second = try await feature.forms.received(tap("b"))
        try await feature.ended(second, .applied, "shown welcome")
        #expect(host.views.count == 2)
        #expect(
            try await feature.count("SELECT COUNT(*) FROM formsShowing WHERE how = 'lost'") == 1)
        await feature.close()
    }

    @Test("A journal that cannot be written costs no page, and the event comes again until it can")
    func unwritable() async throws {
        let (time, host) = (ManualClock(), StandInHost(.showing("welcome")))
        let feature = try await FormsFixture(
            in: folder, host, timekeeper: time, timeout: .seconds(3_600))
        try await feature.journal.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER noRoom BEFORE INSERT ON formsShowing
                    BEGIN SELECT RAISE(ABORT, 'full'); END
                    """)
        }
        let id = try await feature.forms.received(tap("a"))
        try await eventually("it is tried more often than a page may die with it") {
            time.advance(by: .seconds(1))
            let denied = host.views.first?.told("denied").count ?? 0
            return denied > FormsEngineLimits.deathsOfOneEvent
        }
        try await feature.journal.write { db in try db.execute(sql: "DROP TRIGGER noRoom") }
        try await eventually("it is shown") {
            time.advance(by: .seconds(1))
            return try await feature.reason(of: id) == "shown welcome"
        }
        #expect(host.views.count == 1)
        #expect(await feature.forms.diagnostics.tally.replacements == 0)
        await feature.close()
    }

    @Test(
        "A page that never answers is replaced when its time is up, and nothing is lost",
        .limit("forms.hello"),
        arguments: ["hello", "catalogue", "events", "appear"])
    func silence(what: String) async throws {
        var manner = StandInView.Manner.silent
        switch what {
        case "hello": manner.saysHello = false
        case "catalogue": manner.takesCatalogue = false
        case "appear": manner = Self.granting
        default: break
        }
        let time = ManualClock()
        let host = StandInHost(manner, .showing("welcome"))
        let feature = try await FormsFixture(in: folder, host, timekeeper: time)
        let id = try await feature.forms.received(tap("a"))
        try await eventually("it waits for an answer") {
            guard let view = host.views.first else { return false }
            switch what {
            case "hello": return feature.forms.state == .handshaking
            case "catalogue": return !view.told("catalogue").isEmpty
            case "appear": return view.told("granted").count == 1
            default: return view.told("events").count == 1
            }
        }
        try await eventually("the first is replaced") {
            if time.sleepers.contains(where: { $0 <= time.uptime() + .seconds(20) }) {
                time.advance(by: .seconds(20))
            }
            return host.views.count == 2
        }
        try await feature.ended(id, .applied, "shown welcome")
        await feature.close()
    }

    @Test("An event whose time is up expires whether it waits for a page or comes back from one")
    func expires() async throws {
        let time = ManualClock()
        let rules = [FormsEvent("opened_push", timeToLive: .seconds(60))]
        let first = try await FormsFixture(in: folder, nil, events: rules, timekeeper: time)
        let held = try await first.forms.received(tap("held"))
        await first.close()
        time.advance(by: .seconds(61))
        let host = StandInHost(.silent)
        let second = try await FormsFixture(in: folder, host, events: rules, timekeeper: time)
        try await eventually("it expires") { try await second.outcome(of: held) == .expired }
        let handed = try await second.forms.received(tap("handed"))
        try await eventually("the page has it") { host.views.first?.told("events").count == 1 }
        try await second.kill()
        time.advance(by: .seconds(61))
        let third = try await FormsFixture(
            in: folder, StandInHost(.showing("welcome")), events: rules, timekeeper: time)
        // Nothing was granted: it is no secret that nothing was shown.
        try await eventually("it expires too") { try await third.outcome(of: handed) == .expired }
        await third.close()
    }

    @Test("An event to be delivered at its end goes to the app when there is no page for it")
    func late() async throws {
        let time = ManualClock()
        var manner = StandInView.Manner()
        manner.saysHello = false
        let seen = Seen<String>()
        let feature = try await FormsFixture(
            in: folder, StandInHost(manner),
            events: [FormsEvent("opened_push", timeToLive: .seconds(5), then: .deliver)],
            timekeeper: time, late: { seen.add($0.name) })
        let id = try await feature.forms.received(tap("a"))
        try await eventually("the feature is opening") { feature.forms.state == .handshaking }
        time.advance(by: .seconds(6))
        try await feature.ended(id, .applied, "delivered late")
        #expect(seen.all == ["opened_push"])
        await feature.close()
    }

    @Test("After an update that knows nothing of an event's rules it waits for a page all the same")
    func update() async throws {
        let first = try await FormsFixture(
            in: folder, nil, events: [FormsEvent("opened_push", timeToLive: .seconds(3_600))])
        let id = try await first.forms.received(tap("a"))
        await first.close()
        let feature = try await FormsFixture(in: folder, StandInHost(.showing("welcome")))
        try await feature.ended(id, .applied, "shown welcome")
        await feature.close()
    }
}
