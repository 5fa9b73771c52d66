import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Forms")
struct FormsEngineTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("An event recorded before anything runs reaches the page, and its end says why")
    func early() async throws {
        let host = StandInHost()
        let first = try await FormsFixture(in: folder, nil)
        let id = try await first.forms.record("opened_push", properties: #"{"plan": "vip"}"#)
        await first.close()
        let feature = try await FormsFixture(in: folder, host)
        try await feature.ended(id, .applied, "noMatch")
        let event = try #require(host.views[0].told("events").first?["events"] as? [[String: Any]])
        #expect(event[0]["name"] as? String == "opened_push")
        #expect((event[0]["properties"] as? [String: String]) == ["plan": "vip"])
        #expect(event[0]["attempt"] as? Int == 1)
        #expect(try await feature.journal.ledger().isBalanced)
        await feature.close()
    }

    @Test("A form is granted durably, then visible, then shown: the entry ends with its showing")
    func shows() async throws {
        var manner = StandInView.Manner.showing("welcome")
        let visible = Seen<Bool>()
        manner.granted = { view, message in
            visible.add(view.isVisible)
            view.say("formWillAppear", message)
            view.say("formDidAppear", message)
        }
        let host = StandInHost(manner)
        let feature = try await FormsFixture(in: folder, host)
        let id = try await feature.forms.received(tap("a"))
        try await feature.ended(id, .applied, "shown welcome")
        #expect(visible.all == [true])
        try await eventually("it is on the screen") {
            feature.forms.state == .showing("welcome")
        }
        #expect(
            try await feature.count("SELECT COUNT(*) FROM formsShowing WHERE appeared IS NOT NULL")
                == 1)
        let granted = try #require(host.views[0].told("granted").first)
        host.views[0].say(
            "formDidDismiss",
            ["form": "welcome", "showing": granted["showing"] ?? "", "how": "escape"])
        try await eventually("the form is away") { feature.forms.state == .ready }
        #expect(!host.views[0].isVisible)
        #expect(
            try await feature.count("SELECT COUNT(*) FROM formsShowing WHERE how = 'escape'") == 1)
        await feature.close()
    }

    @Test("A form that was shown as often as it may is denied, over a restart too")
    func frequency() async throws {
        var manner = StandInView.Manner.showing("welcome")
        manner.granted = { view, message in
            view.say("formDidAppear", message)
            view.say(
                "formDidDismiss",
                ["form": "welcome", "showing": message["showing"] ?? "", "how": "close"])
        }
        let first = try await FormsFixture(in: folder, StandInHost(manner))
        for name in ["a", "b"] {
            try await first.ended(
                try await first.forms.received(tap(name)), .applied, "shown welcome")
        }
        await first.close()
        let host = StandInHost(manner)
        let feature = try await FormsFixture(in: folder, host)
        _ = try await feature.forms.received(tap("c"))
        try await eventually("it is denied") {
            host.views.first?.told("denied").first?["reason"] as? String == "formFrequency"
        }
        await feature.close()
    }

    @Test("Ten taps at once are ten events in order, and a tap that comes twice is one")
    func taps() async throws {
        let seen = Seen<String>()
        var manner = StandInView.Manner()
        manner.answer = { view, event in
            seen.add("\((event["properties"] as? [String: Any])?["n"] ?? "")")
            view.handled(event["id"], "noMatch")
        }
        let feature = try await FormsFixture(in: folder, nil)
        for n in 0..<10 {
            let tap = tap("n\(n)", info: #"{"n": \#(n)}"#)
            async let one = feature.forms.received(tap)
            async let two = feature.forms.received(tap)
            #expect(try await one == two)
        }
        await feature.close()
        let second = try await FormsFixture(in: folder, StandInHost(manner))
        try await eventually("all are handled") { seen.all.count >= 10 }
        #expect(seen.all == (0..<10).map { "\($0)" })
        let ledger = try await second.journal.ledger()
        #expect(ledger.accepted == 10)
        #expect(ledger.duplicates == 10)
        await second.close()
    }

    @Test("An event that an extension left in the spool comes under the app's rules for it")
    func spool() async throws {
        try FormsSpool(at: folder.appending("journal")).record("opened_push")
        try FormsSpool(at: folder.appending("journal")).record("unheard_of")
        let feature = try await FormsFixture(
            in: folder, StandInHost(),
            events: [FormsEvent("opened_push", timeToLive: .seconds(60))])
        #expect(feature.journal.opening.spool.accepted == 2)
        #expect(
            try await feature.count("SELECT COUNT(*) FROM entry WHERE kind = 'forms.opened_push'")
                == 1)
        try await eventually("both are evaluated") {
            try await feature.journal.ledger().outcomes[.applied] == 2
        }
        await feature.close()
    }

    @Test(
        "An event that cannot be recorded is refused with a type", .limit("forms.event"),
        arguments: [
            ("opened_push", "[1]", RepriseError.Code.malformed),
            ("opened_push", "{", .malformed),
            ("two words", "{}", .malformed),
            (String(repeating: "n", count: 57), "{}", .malformed),
            ("big", #"{"text": "\#(String(repeating: "a", count: 1_048_576))"}"#, .tooLarge),
            ("deep", String(repeating: "[", count: 10_000), .malformed),
        ])
    func refused(name: String, properties: String, code: RepriseError.Code) async throws {
        let feature = try await FormsFixture(in: folder, nil)
        await expectError(code) {
            try await feature.forms.record(name, properties: properties)
        }
        #expect(try await feature.journal.ledger().accepted == 0)
        await feature.close()
    }

    @Test("A tap whose payload is no object is an event all the same, and an action names itself")
    func tapPayloads() async throws {
        let seen = Seen<String>()
        var manner = StandInView.Manner()
        manner.answer = { view, event in
            let properties = event["properties"] as? [String: Any] ?? [:]
            seen.add("\(event["name"] ?? "") \(properties["action"] ?? "-")")
            view.handled(event["id"], "noMatch")
        }
        let feature = try await FormsFixture(in: folder, StandInHost(manner))
        try await feature.forms.received(tap("a", info: "not JSON"))
        var button = tap("b", info: #"{"x": 1}"#)
        button.action = .button("snooze")
        try await feature.forms.received(button)
        button.action = .dismiss
        try await feature.forms.received(button)
        try await eventually("all came") { seen.all.count == 3 }
        #expect(seen.all == ["opened_push -", "acted_push snooze", "dismissed_push -"])
        await feature.close()
    }

    @Test(
        "Ten thousand held events are released in order, and none waits for a timer",
        .limit("forms.toPage"))
    func backlog() async throws {
        let first = try await FormsFixture(
            in: folder, nil, events: [FormsEvent("odd", timeToLive: .seconds(86_400))])
        for page in 0..<10 {
            try await first.journal.record(
                (0..<1_000).map { n in
                    let number = page * 1_000 + n
                    return NewEntry(
                        kind: number % 3 == 1 ? "forms.odd" : "forms.even",
                        payload: Array(#"{"name":"e","properties":{"n":\#(number)}}"#.utf8))
                })
        }
        await first.close()
        let seen = Seen<Int>()
        var manner = StandInView.Manner()
        manner.answer = { view, event in
            seen.add((event["properties"] as? [String: Int])?["n"] ?? -1)
            view.handled(event["id"], "noMatch")
        }
        let feature = try await FormsFixture(
            in: folder, StandInHost(manner),
            events: [FormsEvent("odd", timeToLive: .seconds(86_400))])
        let clock = ContinuousClock()
        try await eventually("the first came") { !seen.all.isEmpty }
        let took = try await clock.measure {
            try await eventually("all are applied", within: .seconds(60)) {
                try await feature.journal.ledger().outcomes[.applied] == 10_000
            }
        }
        print("10,000 held events released in \(took)")
        #expect(seen.all == Array(0..<10_000))
        await feature.close()
    }
}
