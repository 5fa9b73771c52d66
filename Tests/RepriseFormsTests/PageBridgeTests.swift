import Foundation
import RepriseForms
import ReprisePhone
import RepriseTestSupport
import Testing

/// The page's side of the bridge, in a real browser.
@Suite("Page: bridge", .serialized)
struct PageBridgeTests {
    @Test("a page says hello first, with its session, its number and what it speaks")
    func hello() async throws {
        let stage = try await PageFixture(nil)
        let hello = try await stage.says("hello")
        #expect(hello["session"]?.text == PageFixture.session)
        #expect(hello["n"]?.text == "1")
        #expect(hello["protocols"] == [1, 2])
        await stage.close()
    }

    @Test("every message names the session and the next number; the session stands nowhere else")
    func numbers() async throws {
        let stage = try await PageFixture([PageFixture.form("a"), PageFixture.form("b")])
        try await stage.happened("a", "nothing", "b")
        _ = try await stage.says("showing")
        _ = try await stage.handled()
        for (index, message) in stage.messages.enumerated() {
            #expect(message["n"]?.text == String(index + 1))
            #expect(message["session"]?.text == PageFixture.session)
        }
        let html = try await stage.view.page.evaluate("document.documentElement.outerHTML")
        #expect(html.text?.contains(PageFixture.session) == false)
        await stage.close()
    }

    @Test(
        "an unknown or malformed message is a fault, and the page goes on",
        arguments: [
            ("no JSON", "malformed"), ("", "malformed"), ("[]", "malformed"), ("null", "malformed"),
            (#"{"type":"dance"}"#, "unknownType"), (#"{"type":"constructor"}"#, "unknownType"),
            ("{}", "unknownType"), (#"{"type":7}"#, "unknownType"),
            (#"{"type":"events"}"#, "malformed"), (#"{"type":"events","events":7}"#, "malformed"),
            (#"{"type":"events","events":[7]}"#, "malformed"),
            (#"{"type":"granted","event":"e","form":"a","showing":"s"}"#, "notAsked"),
            (#"{"type":"denied"}"#, "notAsked"), (#"{"type":"recorded","id":"x"}"#, "notAsked"),
            (#"{"type":"welcome","protocol":3}"#, "protocol"),
        ])
    func misuse(text: String, reason: String) async throws {
        let stage = try await PageFixture([PageFixture.form("a")])
        try await stage.tell(text)
        #expect(try await stage.says("fault")["reason"]?.text == reason)
        try await stage.show("a")
        await stage.close()
    }

    @Test(
        "nested 10,000 deep, or larger than 4 MiB, a message is a fault and not the end",
        .limit("formsPage.toPage"))
    func large() async throws {
        let stage = try await PageFixture([PageFixture.form("a")])
        try await stage.tell(String(repeating: #"{"a":"#, count: 10_000))
        #expect(try await stage.says("fault")["reason"]?.text == "malformed")
        try await stage.tell(
            #"{"type":"dance","x":"\#(String(repeating: "x", count: 4_194_304))"}"#)
        #expect(try await stage.says("fault")["reason"]?.text == "tooLarge")
        try await stage.saysNothing()
        await stage.close()
    }

    @Test(
        "of 1,025 events one too many is given up, and the page's log says ten things a second",
        .limit("formsPage.waiting", "formsPage.events", "formsPage.outcomes", "formsPage.log"))
    func many() async throws {
        let stage = try await PageFixture(nil)
        _ = try await stage.says("hello")
        try await stage.tell(
            #"{"type":"welcome","protocol":1,"now":\#(PageFixture.now),"locale":"en"}"#)
        for block in 0...16 {
            let events = (0..<(block == 16 ? 1 : 64)).map { number in
                #"{"id":"e\#(block * 64 + number)","name":"a","properties":{},"at":1,"now":1}"#
            }
            try await stage.tell(#"{"type":"events","events":[\#(events.joined(separator: ","))]}"#)
        }
        let first = try await stage.says("handled")
        guard case .array(let given)? = first["events"] else { return #expect(Bool(false)) }
        #expect(given.map { $0["id"]?.text } == ["e1024"])
        #expect(given.map { $0["reason"]?.text } == ["queueFull"])
        try await stage.tell(PageFixture.catalogue([]))
        _ = try await stage.says("formsData")
        for _ in 0..<4 {
            guard case .array(let events)? = try await stage.says("handled")["events"] else {
                return #expect(Bool(false))
            }
            #expect(events.count == 256)
        }
        let began = ContinuousClock.now
        try await stage.view.page.evaluate(
            "for (let count = 0; count < 1025; count += 1) repriseReceive('no JSON')")
        #expect(try await stage.says("fault")["reason"]?.text == "tooMany")
        for _ in 0..<1_024 {
            #expect(try await stage.says("fault")["reason"]?.text == "malformed")
        }
        let logs = stage.messages.count { $0["type"] == "log" }
        let seconds = Int((ContinuousClock.now - began) / .seconds(1))
        #expect((1...10 * (seconds + 3)).contains(logs), "1,024, of which ten a second")
        await stage.close()
    }

    @Test("before the welcome nothing is taken")
    func unexpected() async throws {
        let stage = try await PageFixture(nil)
        _ = try await stage.says("hello")
        try await stage.tell(PageFixture.catalogue([]))
        #expect(try await stage.says("fault")["reason"]?.text == "unexpected")
        try await stage.tell(#"{"type":"incompatible","protocols":[2]}"#)
        try await stage.tell(#"{"type":"events","events":[]}"#)
        #expect(try await stage.says("fault")["reason"]?.text == "unexpected")
        await stage.close()
    }

    @Test("an event's form is requested, granted and shown, and each step is reported in order")
    func shown() async throws {
        let stage = try await PageFixture([PageFixture.form("a", #","text":"Some words""#)])
        try await stage.show("a")
        #expect(try await stage.view.page.form() == ["Form a", "Form a", "Some words"])
        try await stage.view.page.click("Close")
        let dismissed = try await stage.says("formDidDismiss")
        #expect(dismissed["how"]?.text == "close")
        #expect(dismissed["showing"]?.text == "s-a")
        #expect(try await stage.view.page.form() == nil)
        await stage.close()
    }

    @Test("nothing is drawn before it is granted")
    func notGranted() async throws {
        let stage = try await PageFixture([PageFixture.form("a")])
        try await stage.happened("a")
        _ = try await stage.says("showing")
        #expect(try await stage.view.page.form() == nil)
        await stage.close()
    }

    @Test("a grant that was not requested is a fault, and shows nothing")
    func foreignLeave() async throws {
        let stage = try await PageFixture([PageFixture.form("a"), PageFixture.form("b")])
        try await stage.happened("a")
        let asked = try await stage.says("showing")
        let event = try #require(asked["event"]?.text)
        for (other, form) in [("e-b", "a"), (event, "b"), ("e-b", "b")] {
            try await stage.tell(
                #"{"type":"granted","event":"\#(other)","form":"\#(form)","showing":"s"}"#)
            let fault = try await stage.says("fault")
            #expect(fault["reason"]?.text == "notAsked")
        }
        try await stage.saysNothing()
        #expect(try await stage.view.page.form() == nil)
        await stage.close()
    }

    @Test("events that match nothing are handled, many in one message")
    func noMatch() async throws {
        let stage = try await PageFixture([PageFixture.form("a")])
        try await stage.happened("x", "y", "z")
        #expect(try await stage.handled() == ["x": "noMatch", "y": "noMatch", "z": "noMatch"])
        await stage.close()
    }

    @Test("after a denied form the next one asks, and without one the event ends with the reason")
    func denied() async throws {
        let forms = [
            PageFixture.form("low", on: "e"), PageFixture.form("high", on: "e", #","priority":5"#),
        ]
        let stage = try await PageFixture(forms)
        try await stage.happened("e")
        try await stage.deny("high", "formFrequency")
        try await stage.deny("low", "formFrequency")
        #expect(try await stage.handled() == ["e": "suppressed low formFrequency"])
        try await stage.happened("e")
        try await stage.deny("high", "overallFrequency")
        #expect(try await stage.handled() == ["e": "suppressed high overallFrequency"])
        try await stage.happened("e")
        try await stage.deny("high", "settled")
        try await stage.saysNothing()
        await stage.close()
    }

    @Test(
        "sixteen forms wait for the screen by priority; one more and the last gives way",
        .limit("formsPage.forms"))
    func queue() async throws {
        let forms =
            [PageFixture.form("first")]
            + (0..<17).map { PageFixture.form("f\($0)", #","priority":\#($0)"#) }
        let stage = try await PageFixture(forms)
        try await stage.show("first")
        for number in (0..<17).reversed() { try await stage.happened("f\(number)") }
        #expect(try await stage.handled() == ["f0": "suppressed f0 queueFull"])
        try await stage.view.page.press("Escape")
        _ = try await stage.says("formDidDismiss")
        try await stage.grant("f16")
        await stage.close()
    }

    @Test("an event that waits for a catalogue, a delay or the screen is reported as waiting, once")
    func waiting() async throws {
        let late = #"{"id":"late","triggers":[{"event":"late","delay":60}],"title":"L"}"#
        let stage = try await PageFixture(nil)
        _ = try await stage.says("hello")
        try await stage.tell(
            #"{"type":"welcome","protocol":1,"now":\#(PageFixture.now),"locale":"en"}"#)
        try await stage.happened("early")
        #expect(try await stage.says("waiting")["events"] == ["e-early"])
        try await stage.tell(
            PageFixture.catalogue([PageFixture.form("a"), PageFixture.form("b"), late]))
        _ = try await stage.says("formsData")
        #expect(try await stage.handled() == ["early": "noMatch"])
        try await stage.happened("a", "b", "late")
        _ = try await stage.says("showing")
        #expect(try await stage.says("waiting")["events"] == ["e-b", "e-late"])
        try await stage.tell(#"{"type":"knock"}"#)
        #expect(try await stage.says("fault")["about"] == "knock")
        #expect(stage.messages.count { $0["type"] == "waiting" } == 2)
        await stage.close()
    }

    @Test("a delay counts from when the event was recorded")
    func delay() async throws {
        let form =
            #"{"id":"a","triggers":[{"event":"a","delay":3600}],"title":"A"}"#
        let stage = try await PageFixture([form])
        try await stage.happened("a")
        try await stage.saysNothing()
        try await stage.tell(#"{"type":"dismiss","reason":"logout"}"#)
        try await stage.happened("a", ago: 3_600_000)
        try await stage.grant("a")
        await stage.close()
    }

    @Test(
        "a delay that is long is the host's, if the host knows of that: the event comes again",
        .limit("forms.postponed"))
    func postponed() async throws {
        let forms = [("far", 3_600), ("near", 5)].map { id, delay in
            #"{"id":"\#(id)","triggers":[{"event":"\#(id)","delay":\#(delay)}],"title":"A"}"#
        }
        let stage = try await PageFixture(forms, speaking: 2)
        try await stage.happened("far", "near")
        let later = try await stage.says("later")
        guard case .array(let events)? = later["events"] else { return #expect(Bool(false)) }
        #expect(events.count == 1)
        #expect(events.first?["id"] == "e-far")
        #expect(events.first?["at"]?.text == "\(PageFixture.now + 3_600_000)")
        #expect(try await stage.says("waiting")["events"] == ["e-near"])
        try await stage.happened("far", ago: 3_600_000)
        try await stage.grant("far")
        await stage.close()
    }

    @Test("a window is open by the host's calendar, and before and after it is no match")
    func window() async throws {
        let now = PageFixture.now
        let forms = [
            PageFixture.form("before", #","window":{"from":\#(now + 60_000)}"#),
            PageFixture.form("after", #","window":{"from":1,"until":\#(now)}"#),
            PageFixture.form(
                "open", #","window":{"from":\#(now - 1),"until":\#(now + 60_000)}"#),
        ]
        let stage = try await PageFixture(forms)
        try await stage.happened("before", "after", "open")
        #expect(try await stage.says("showing")["form"]?.text == "open")
        #expect(
            try await stage.handled() == [
                "before": "noMatch before window", "after": "noMatch after window",
            ])
        await stage.close()
    }

    @Test("a form whose window closes while it waits for the screen is expired")
    func expired() async throws {
        let stage = try await PageFixture([
            PageFixture.form("a"),
            PageFixture.form("b", #","window":{"until":\#(PageFixture.now + 400)}"#),
        ])
        try await stage.show("a")
        try await stage.happened("b")
        // The page's clock is the host's last word: half a second later by that.
        try await stage.tell(
            #"{"type":"welcome","protocol":1,"now":\#(PageFixture.now + 500),"locale":"en"}"#)
        try await stage.saysNothing()
        try await stage.view.page.press("Escape")
        _ = try await stage.says("formDidDismiss")
        #expect(try await stage.handled() == ["b": "expired b window"])
        await stage.close()
    }

    @Test("a new catalogue takes over when the form of the former one has gone")
    func takeOver() async throws {
        let stage = try await PageFixture([PageFixture.form("a"), PageFixture.form("b")])
        try await stage.show("a")
        try await stage.happened("b")
        try await stage.tell(PageFixture.catalogue([PageFixture.form("c", on: "b")], version: "2"))
        try await stage.saysNothing()
        try await stage.view.page.press("Escape")
        _ = try await stage.says("formDidDismiss")
        #expect(try await stage.says("formsData")["version"]?.text == "2")
        try await stage.grant("c")
        await stage.close()
    }

    @Test("events that come before any catalogue wait for it, and a refused one changes nothing")
    func refused() async throws {
        let stage = try await PageFixture(nil)
        _ = try await stage.says("hello")
        try await stage.tell(
            #"{"type":"welcome","protocol":1,"now":\#(PageFixture.now),"locale":"en"}"#)
        try await stage.tell(#"{"type":"catalogue","version":null,"catalogue":null}"#)
        try await stage.happened("a")
        try await stage.saysNothing()
        try await stage.tell(PageFixture.catalogue([PageFixture.form("a")]))
        #expect(try await stage.says("formsData")["version"]?.text == "1")
        try await stage.deny("a", "settled")
        try await stage.tell(PageFixture.catalogue(["7"], version: "2"))
        let refusal = try await stage.says("catalogueRefused")
        #expect(refusal["path"]?.text == "/forms/0")
        #expect(refusal["version"]?.text == "2")
        try await stage.show("a")
        await stage.close()
    }

    @Test("a dismissal removes the form and drops the waiting events")
    func dismissal() async throws {
        let stage = try await PageFixture([PageFixture.form("a"), PageFixture.form("b")])
        try await stage.show("a")
        try await stage.happened("b")
        try await stage.tell(#"{"type":"dismiss","reason":"logout"}"#)
        #expect(try await stage.says("formDidDismiss")["how"]?.text == "host")
        #expect(try await stage.view.page.form() == nil)
        try await stage.saysNothing()
        await stage.close()
    }

    @Test("the same event twice is one event")
    func twice() async throws {
        let stage = try await PageFixture([PageFixture.form("a")])
        try await stage.happened("a", "a")
        try await stage.happened("a")
        try await stage.grant("a")
        try await stage.view.page.press("Escape")
        _ = try await stage.says("formDidDismiss")
        try await stage.saysNothing()
        await stage.close()
    }
}
