import Foundation
import GRDB
import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

/// Forms for some people, after some past, and not at night.
@Suite("Forms: targeting and quiet times")
struct FormsTargetingTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func catalogue(_ conditions: String) -> CatalogueSource {
        CatalogueSource(
            catalogue: """
                {"format": "forms/1", "version": "1", "forms": [
                    {"id": "tip", "triggers": [{"event": "opened_push"}], "title": "Tip"},
                    {"id": "survey", "triggers": [{"event": "ask"}], "title": "Survey"\(conditions)}]}
                """)
    }

    /// A page that shows its form for each event, answers it if it is a survey, and closes it.
    private static let page: StandInView.Manner = {
        var manner = StandInView.Manner()
        manner.answer = { view, event in
            let form = event["name"] as? String == "ask" ? "survey" : "tip"
            view.say("showing", ["event": event["id"] ?? "", "form": form])
        }
        manner.granted = { view, message in
            view.say("formDidAppear", message)
            if message["form"] as? String == "survey" {
                let id = String((message["showing"] as? String ?? "").suffix(32))
                view.say(
                    "submit", message.merging(["id": id, "answers": ["stars": 5]]) { $1 })
            }
            view.say("formDidDismiss", message.merging(["how": "button"]) { $1 })
        }
        manner.denied = { view, message in
            guard message["reason"] as? String != "settled" else { return }
            let event: [String: Any] = [
                "id": message["event"] ?? "", "result": "suppressed",
                "form": message["form"] ?? "", "reason": message["reason"] ?? "",
            ]
            view.say("handled", ["events": [event]])
        }
        return manner
    }()

    private func open(
        _ conditions: String, timekeeper: ManualClock? = nil, zone: String = "GMT"
    ) async throws -> FormsFixture {
        try await FormsFixture(
            in: folder, StandInHost(Self.page), catalogue: Self.catalogue(conditions),
            timekeeper: timekeeper, answers: { _, _, _ in }, timeout: .seconds(3_600), zone: zone)
    }

    private func ask(_ feature: FormsFixture) async throws -> String? {
        let id = try await feature.forms.record("ask")
        try await eventually("it ends") { try await feature.outcome(of: id) == .applied }
        return try await feature.reason(of: id)
    }

    private func past(_ feature: FormsFixture, _ what: String, _ name: String) async throws -> Int {
        try await feature.count(
            """
            SELECT COALESCE(SUM(count), 0) FROM formsPast
            WHERE what = '\(what)' AND name = '\(name)'
            """)
    }

    @Test("Seen twice, never submitted: a survey for those, counted over a kill")
    func seenTwice() async throws {
        let conditions = """
            , "past": [{"form": "tip", "was": "shown", "atLeast": 2},
                {"form": "survey", "was": "submitted", "atMost": 0}]
            """
        let first = try await open(conditions)
        #expect(try await ask(first) == "suppressed survey past")
        try await first.ended(
            try await first.forms.received(tap("a")), .applied, "shown tip")
        #expect(try await ask(first) == "suppressed survey past")
        try await eventually("it is closed") { try await past(first, "dismissed", "tip") == 1 }
        try await first.kill()
        let feature = try await open(conditions)
        try await feature.ended(
            try await feature.forms.received(tap("b")), .applied, "shown tip")
        #expect(try await ask(feature) == "shown survey")
        try await eventually("it is answered") {
            try await past(feature, "submitted", "survey") == 1
        }
        #expect(try await past(feature, "dismissed", "survey") == 0)
        #expect(try await ask(feature) == "suppressed survey past")
        #expect(try await past(feature, "shown", "tip") == 2)
        await feature.close()
    }

    @Test("An event is counted once, whichever way it comes, and also while it waits")
    func counted() async throws {
        let first = try await FormsFixture(in: folder, nil)
        let id = try await first.forms.record("checkout")
        try await first.forms.record("checkout", id: id)
        #expect(try await past(first, "event", "checkout") == 1)
        try await first.forms.received(tap("a"))
        try await first.forms.received(tap("a"))
        #expect(try await past(first, "event", "opened_push") == 1)
        await first.close()
        try FormsSpool(at: folder.appending("journal")).record("checkout")
        let feature = try await FormsFixture(in: folder, nil)
        _ = try await feature.journal.mergeSpool()
        #expect(try await past(feature, "event", "checkout") == 2)
        await feature.close()
    }

    @Test("The events of an event's own name count it, too: a form for the third")
    func third() async throws {
        let feature = try await open(#", "past": [{"event": "ask", "atLeast": 3}]"#)
        #expect(try await ask(feature) == "suppressed survey past")
        #expect(try await ask(feature) == "suppressed survey past")
        #expect(try await ask(feature) == "shown survey")
        await feature.close()
    }

    @Test("A form is for those whose attributes match, as they are when it is decided")
    func audience() async throws {
        let conditions = #", "audience": {"property": "plan", "is": "equals", "value": "vip"}"#
        let first = try await open(conditions)
        #expect(try await ask(first) == "suppressed survey audience")
        let event = try await first.forms.record("ask")
        try await first.ended(event, .applied, "suppressed survey audience")
        let decision = """
            SELECT COUNT(*) FROM formsDecision
            WHERE entry = '\(event.text)' AND form = 'survey' AND reason = 'audience'
            """
        #expect(try await first.count(decision) == 1)
        try await first.forms.setAttributes(["plan": "vip", "age": 34, "beta": true, "x": 1.5])
        try await first.kill()
        let feature = try await open(conditions)
        #expect(try await ask(feature) == "shown survey")
        try await feature.forms.setAttributes(["plan": "free", "x": nil])
        #expect(try await ask(feature) == "suppressed survey audience")
        #expect(
            try await feature.forms.attributes == [
                "plan": .text("free"), "age": .number(34), "beta": .flag(true),
            ])
        await feature.close()
    }

    @Test("Counted events belong to the user, shown forms to the user and the company")
    func belongs() async throws {
        let feature = try await open("")
        try await feature.forms.setAttributes(["plan": "vip"])
        try await feature.ended(
            try await feature.forms.received(tap("a")), .applied, "shown tip")
        try await feature.forms.use(company: "initech")
        #expect(try await past(feature, "shown", "tip") == 0)
        #expect(try await past(feature, "event", "opened_push") == 1)
        #expect(try await feature.forms.attributes == ["plan": .text("vip")])
        try await feature.forms.logOut()
        #expect(try await past(feature, "event", "opened_push") == 0)
        #expect(try await feature.forms.attributes.isEmpty)
        await feature.close()
    }

    @Test("Attributes have bounds; of a call beyond them none is set", .limit("forms.attributes"))
    func bounds() async throws {
        let feature = try await FormsFixture(in: folder, nil)
        let forms = feature.forms
        let most = FormsEngineLimits.attributes
        let all = (0..<most).map { ("a\($0)", FormsAttribute?.some(.flag(true))) }
        try await forms.setAttributes(Dictionary(uniqueKeysWithValues: all))
        await expectError(.full) { try await forms.setAttributes(["b": 1, "a0": "changed"]) }
        #expect(try await forms.attributes["a0"] == .flag(true))
        try await forms.setAttributes(["b": 1, "a0": nil])
        #expect(try await forms.attributes.count == most)
        let text = String(repeating: "ä", count: FormsEngineLimits.attributeText / 2)
        try await forms.setAttributes(["b": .text(text)])
        await expectError(.tooLarge) { try await forms.setAttributes(["b": .text(text + "x")]) }
        for name in ["", "two words", "cart.total", String(repeating: "n", count: 57)] {
            await expectError(.malformed) { try await forms.setAttributes([name: 1]) }
        }
        await expectError(.malformed) { try await forms.setAttributes(["b": .number(.nan)]) }
        #expect(try await forms.attributes["b"] == .text(text))
        await feature.close()
    }

    @Test(
        "In its quiet time a form waits for the end, by the clock of the device, also when killed")
    func quiet() async throws {
        let time = ManualClock()  // 09:00 in Berlin
        let conditions = #", "quiet": {"from": "08:30", "until": "09:10"}"#
        let first = try await open(conditions, timekeeper: time, zone: "Europe/Berlin")
        let id = try await first.forms.record("ask")
        try await eventually("it is put off") {
            try await first.reason(of: id) == "put off survey: quiet"
        }
        #expect(
            try await first.count("SELECT due - 1800000000000 FROM entry WHERE state = 2")
                == 600_000)
        #expect(
            try await first.count("SELECT until - 1800000000000 FROM formsDecision") == 600_000)
        #expect(await first.forms.diagnostics.tally.putOff == 1)
        try await first.kill()
        let feature = try await open(conditions, timekeeper: time, zone: "Europe/Berlin")
        try await eventually("it is shown") {
            time.advance(by: .seconds(1))
            return try await feature.outcome(of: id) == .applied
        }
        #expect(try await feature.reason(of: id) == "shown survey")
        #expect(time.now >= WallTime(milliseconds: 1_800_000_600_000))
        await feature.close()
    }

    @Test("Quiet hours follow the clock of the time zone")
    func awake() async throws {
        let feature = try await open(
            #", "quiet": {"from": "08:30", "until": "09:10"}"#, timekeeper: ManualClock(),
            zone: "America/New_York")
        #expect(try await ask(feature) == "shown survey")
        await feature.close()
    }

    @Test("Of an event 16 decisions are kept, the newest", .limit("forms.decisionsKept"))
    func decisions() async throws {
        let feature = try await FormsFixture(in: folder, nil)
        let event = try await feature.forms.record("ask")
        try await feature.journal.write { db in
            for number in 0..<20 {
                let row = FormsDecisionRow(form: "f\(number)", reason: "audience")
                try row.write(event, at: WallTime(milliseconds: Int64(number)), db)
            }
            try FormsDecisionRow(form: "f19", reason: "past").write(
                event, at: WallTime(milliseconds: 20), db)
        }
        let kept = FormsEngineLimits.decisionsOfEvent
        #expect(try await feature.count("SELECT COUNT(*) FROM formsDecision") == kept)
        #expect(try await feature.count("SELECT MIN(at) FROM formsDecision") == 20 - kept)
        #expect(
            try await feature.count("SELECT COUNT(*) FROM formsDecision WHERE reason = 'past'") == 1
        )
        await feature.close()
    }

    @Test(
        "The names that are counted have a bound; those of longest ago leave", .limit("forms.past"))
    func names() async throws {
        let time = ManualClock()
        let feature = try await open("", timekeeper: time)
        // A journal without entries has nothing to look at.
        #expect(try await ask(feature) == "shown survey")
        let most = FormsEngineLimits.pastNames
        let gone = FormsDecisionRow(form: "gone", reason: "audience")
        try await feature.journal.write { db in
            for number in 0..<most + 10 {
                try db.execute(
                    sql: "INSERT INTO formsPast VALUES ('event', ?, 1, ?)",
                    arguments: ["e\(number)", number])
            }
            // Of an entry that its retention has removed.
            try gone.write(.random(), at: WallTime(milliseconds: 1), db)
        }
        try await eventually("an hourly look removes them") {
            time.advance(by: .seconds(60))
            return try await feature.count("SELECT COUNT(*) FROM formsPast") == most
        }
        #expect(try await feature.count("SELECT MIN(last) FROM formsPast") >= 10)
        #expect(try await feature.count("SELECT COUNT(*) FROM formsDecision") == 0)
        await feature.close()
    }
}
