import Foundation
import RepriseForms
import ReprisePhone
import RepriseTestSupport
import Testing

/// A form on the screen: looked at and used from outside, as a person and a screen reader do.
@Suite("Page: form", .serialized)
struct PageFormTests {
    private static let fields = """
        ,"text":"Two questions","fields":[
        {"name":"email","label":"E-mail","type":"email","required":true,"hint":"Only for you"},
        {"name":"stars","label":"Stars","type":"number","minimum":1,"maximum":5},
        {"name":"news","label":"News","type":"checkbox"}],
        "buttons":[{"label":"Send","style":"primary","actions":[{"type":"submit"}]},
        {"label":"Later","actions":[{"type":"dismiss"}]}]
        """

    private func stage() async throws -> PageFixture {
        let stage = try await PageFixture([PageFixture.form("a", Self.fields)])
        try await stage.show("a")
        return stage
    }

    private func focused(_ stage: PageFixture) async throws -> String {
        let elements = try await stage.view.page.elements()
        return elements.last(where: \.isFocused)?.name ?? "nothing"
    }

    @Test("a screen reader finds a modal dialog with its title, and a label at every field")
    func accessible() async throws {
        let stage = try await stage()
        let elements = try await stage.view.page.elements()
        let dialog = try #require(elements.first { $0.role == "dialog" })
        #expect(dialog.name == "Form a")
        #expect(dialog.detail == "Two questions")
        #expect(dialog.properties["modal"] == "true")
        let email = try #require(elements.first { $0.role == "textbox" })
        #expect(email.name == "E-mail")
        #expect(email.detail == "Only for you")
        #expect(email.properties["required"] == "true")
        #expect(elements.contains { $0.role == "spinbutton" && $0.name == "Stars optional" })
        #expect(elements.contains { $0.role == "checkbox" && $0.name == "News" })
        #expect(elements.contains { $0.role == "button" && $0.name == "Close" })
        await stage.close()
    }

    @Test("the focus begins at the dialog, goes round within it, both ways")
    func focusTrap() async throws {
        let stage = try await stage()
        #expect(try await focused(stage) == "Form a")
        let stops = ["Close", "E-mail", "Stars optional", "News", "Send", "Later"]
        for stop in stops + ["Close"] {
            try await stage.view.page.press("Tab")
            #expect(try await focused(stage) == stop)
        }
        for stop in stops.reversed() {
            try await stage.view.page.press("Tab", isShifted: true)
            #expect(try await focused(stage) == stop)
        }
        await stage.close()
    }

    @Test("Escape closes, and returns the focus")
    func escape() async throws {
        let stage = try await PageFixture([PageFixture.form("a")])
        try await stage.view.page.evaluate(
            "document.body.append(Object.assign(document.createElement('input'), {id: 'before'}));"
                + "document.getElementById('before').focus()")
        try await stage.show("a")
        #expect(try await stage.view.page.evaluate("document.activeElement.id") != "before")
        try await stage.view.page.press("Escape")
        #expect(try await stage.says("formDidDismiss")["how"]?.text == "escape")
        #expect(try await stage.view.page.evaluate("document.activeElement.id") == "before")
        await stage.close()
    }

    @Test("an invalid answer is marked, announced and focused, and not sent")
    func validation() async throws {
        let stage = try await stage()
        let page = stage.view.page
        try await page.click("Stars optional", role: "spinbutton")
        try await page.type("9")
        try await page.click("Send")
        let elements = try await page.elements()
        let email = try #require(elements.first { $0.role == "textbox" })
        #expect(email.properties["invalid"] == "true")
        #expect(email.detail.contains("Please answer this."))
        #expect(email.isFocused)
        let alert = try #require(elements.firstIndex { $0.role == "alert" })
        #expect(elements[alert + 1].name.contains("E-mail: Please answer this."))
        #expect(try await page.form()?.contains("Please enter at most 5.") == true)
        try await page.type("ada@example.org")
        let after = try await page.elements()
        #expect(after.first { $0.role == "textbox" }?.properties["invalid"] == "false")
        try await stage.saysNothing()
        await stage.close()
    }

    @Test("answers are sent once, and the form closes when they are recorded and not before")
    func submit() async throws {
        let stage = try await stage()
        let page = stage.view.page
        try await page.click("E-mail", role: "textbox")
        try await page.type("ada@example.org")
        try await page.click("News", role: "checkbox")
        try await page.click("Send")
        let submit = try await stage.says("submit")
        #expect(submit["answers"] == ["email": "ada@example.org", "news": true])
        #expect(submit["showing"]?.text == "s-a")
        let id = try #require(submit["id"]?.text)
        #expect(id.count == 32)
        try await page.click("Send")  // while it is under way
        try await stage.saysNothing()
        let send = try await page.elements().first { $0.name == "Send" }
        #expect(send?.properties["disabled"] == "true")
        try await stage.tell(#"{"type":"recorded","id":"\#(id)"}"#)
        #expect(try await stage.says("formDidDismiss")["how"]?.text == "submitted")
        await stage.close()
    }

    @Test(
        "answers of more than 262,144 bytes are not sent, and the person is told so",
        .limit("formsPage.fromPage"))
    func tooLong() async throws {
        let names = "ABCDEFGHIJKLMNOPQ".map { "Story \($0)" }
        let fields = names.enumerated().map { number, name in
            #"{"name":"f\#(number)","label":"\#(name)","type":"multiline","required":true}"#
        }.joined(separator: ",")
        let buttons = #""buttons":[{"label":"Send","actions":[{"type":"submit"}]}]"#
        let stage = try await PageFixture([
            PageFixture.form("a", #","fields":[\#(fields)],\#(buttons)"#)
        ])
        try await stage.show("a")
        let page = stage.view.page
        // Each is as long as a text may be, and together they are too long by 5 %.
        for name in names {
            try await page.click(name, role: "textbox")
            try await page.type(String(repeating: "\u{1F600}", count: 4_000))
        }
        try await page.click("Send")
        try await stage.saysNothing()
        #expect(
            try await page.form()?.contains("Your answers are too long to be sent.") == true)
        for name in names.prefix(2) {
            try await page.click(name, role: "textbox")
            try await page.evaluate("document.execCommand('selectAll'); 0")
            try await page.type("short")
        }
        try await page.click("Send")
        let submit = try await stage.says("submit")
        #expect(submit["answers"]?["f0"]?.text == "short")
        await stage.close()
    }

    @Test("a refused submit says so, and trying again is the same submit")
    func refused() async throws {
        let stage = try await stage()
        let page = stage.view.page
        try await page.click("E-mail", role: "textbox")
        try await page.type("ada@example.org")
        try await page.press("Enter")
        let first = try #require(try await stage.says("submit")["id"]?.text)
        try await stage.tell(#"{"type":"refused","id":"\#(first)","reason":"full"}"#)
        try await stage.saysNothing()
        #expect(
            try await page.form()?.contains("That did not work. Please try again.") == true)
        try await page.click("Send")
        let second = try #require(try await stage.says("submit")["id"]?.text)
        #expect(second == first)
        try await stage.tell(#"{"type":"recorded","id":"\#(second)"}"#)
        _ = try await stage.says("formDidDismiss")
        await stage.close()
    }

    @Test("a button's actions go one after the other, each when the one before it is recorded")
    func actions() async throws {
        let stage = try await PageFixture([
            PageFixture.form(
                "a",
                """
                ,"buttons":[{"label":"Go","actions":[{"type":"emit","name":"went","properties":{"a":1}},
                {"type":"deepLink","url":"app://cart"},{"type":"dismiss"}]}]
                """)
        ])
        try await stage.show("a")
        try await stage.view.page.click("Go")
        let emit = try await stage.says("action")
        #expect(
            emit["action"] == ["type": "emit", "name": "went", "properties": ["a": 1]])
        try await stage.saysNothing()
        try await stage.tell(#"{"type":"recorded","id":"\#(emit["id"]?.text ?? "")"}"#)
        let link = try await stage.says("action")
        #expect(link["action"] == ["type": "deepLink", "url": "app://cart"])
        #expect(link["id"] != emit["id"])
        try await stage.tell(#"{"type":"recorded","id":"\#(link["id"]?.text ?? "")"}"#)
        #expect(try await stage.says("formDidDismiss")["how"]?.text == "button")
        await stage.close()
    }

    @Test("a button that is pressed again repeats no action that is recorded")
    func pressedAgain() async throws {
        let stage = try await PageFixture([
            PageFixture.form(
                "a",
                """
                ,"buttons":[{"label":"Go","actions":[{"type":"emit","name":"went"},{"type":"submit"}]},
                {"label":"Note","actions":[{"type":"emit","name":"noted"}]}]
                """)
        ])
        try await stage.show("a")
        let page = stage.view.page
        try await page.click("Go")
        let emit = try await stage.says("action")
        try await stage.tell(#"{"type":"recorded","id":"\#(emit["id"]?.text ?? "")"}"#)
        let submit = try #require(try await stage.says("submit")["id"]?.text)
        try await stage.tell(#"{"type":"refused","id":"\#(submit)","reason":"full"}"#)
        try await stage.saysNothing()
        var ids: Set<String> = []
        for _ in 1...2 {
            try await page.click("Note")
            let note = try #require(try await stage.says("action")["id"]?.text)
            #expect(ids.insert(note).inserted)
            try await stage.tell(#"{"type":"recorded","id":"\#(note)"}"#)
            try await stage.saysNothing()
        }
        try await page.click("Go")
        #expect(try await stage.says("submit")["id"]?.text == submit)
        try await stage.tell(#"{"type":"recorded","id":"\#(submit)"}"#)
        #expect(try await stage.says("formDidDismiss")["how"]?.text == "submitted")
        await stage.close()
    }

    @Test("a key that an input method takes neither sends nor closes the form")
    func inputMethod() async throws {
        let stage = try await stage()
        let page = stage.view.page
        try await page.click("E-mail", role: "textbox")
        try await page.type("ada@example.org")
        for key in ["Enter", "Escape"] {
            try await page.call(
                "Input.dispatchKeyEvent",
                [
                    "type": "rawKeyDown", "key": .string(key), "code": .string(key),
                    "windowsVirtualKeyCode": 229,
                ])
        }
        try await stage.saysNothing()
        try await page.press("Enter")
        _ = try await stage.says("submit")
        await stage.close()
    }

    @Test("a bound is named with all its digits")
    func smallBound() async throws {
        let stage = try await PageFixture([
            PageFixture.form(
                "a",
                """
                ,"fields":[{"name":"n","label":"N","type":"number","minimum":0.0005,"required":true}],
                "buttons":[{"label":"Send","actions":[{"type":"submit"}]}]
                """)
        ])
        try await stage.show("a")
        let page = stage.view.page
        try await page.click("N", role: "spinbutton")
        try await page.type("0")
        try await page.click("Send")
        #expect(try await page.form()?.contains("Please enter at least 0.0005.") == true)
        await stage.close()
    }

    @Test("an event is emitted with as many properties as a catalogue may give it")
    func largeEmit() async throws {
        let text = String(repeating: "x", count: 3_900)
        let properties = (1...16).map { #""p\#($0)":"\#(text)""# }.joined(separator: ",")
        let more = String(repeating: "y", count: 65_536 - properties.utf8.count - 10)
        let all = #"{\#(properties),"p0":"\#(more)"}"#
        #expect(all.utf8.count > 65_500 && all.utf8.count <= 65_536)
        let stage = try await PageFixture([
            PageFixture.form(
                "a",
                """
                ,"buttons":[{"label":"Go","actions":[{"type":"emit","name":"went","properties":\(all)}]}]
                """)
        ])
        try await stage.show("a")
        try await stage.view.page.click("Go")
        let emitted = try await stage.says("action")
        #expect(emitted["action"]?["properties"]?["p0"]?.text == more)
        await stage.close()
    }

    @Test("answers have the types that the reference says, whatever the field is called")
    func answers() async throws {
        let stage = try await PageFixture([
            PageFixture.form(
                "a",
                """
                ,"fields":[{"name":"__proto__","label":"T","type":"text"},{"name":"n","label":"N","type":"number"},
                {"name":"c","label":"C","type":"choice","options":[{"value":"x","label":"X"},{"value":"y","label":"Y"}]},
                {"name":"s","label":"S","type":"choices","options":[{"value":"p","label":"P"},{"value":"q","label":"Q"}]},
                {"name":"b","label":"B","type":"checkbox"},{"name":"m","label":"M","type":"multiline"},
                {"name":"none","label":"None","type":"text"}],
                "buttons":[{"label":"Send","actions":[{"type":"submit"}]}]
                """)
        ])
        try await stage.show("a")
        let page = stage.view.page
        try await page.click("T optional", role: "textbox")
        try await page.type("text")
        try await page.click("N optional", role: "spinbutton")
        try await page.type("1.5")
        try await page.click("Y", role: "radio")
        try await page.click("P", role: "checkbox")
        try await page.click("Q", role: "checkbox")
        try await page.click("M optional", role: "textbox")
        try await page.type("two\nlines")
        try await page.click("Send")
        let expected: DevToolsValue = [
            "__proto__": "text", "n": 1.5, "c": "y", "s": ["p", "q"], "b": false, "m": "two\nlines",
        ]
        #expect(try await stage.says("submit")["answers"] == expected)
        await stage.close()
    }

    private static let payloads = [
        "<script>window.hacked = 1</script>", "<img src=x onerror=window.hacked=1>",
        "<svg onload=window.hacked=1>", "</div></dialog><h1>free</h1>", "{{session}}",
        "javascript:window.hacked=1", "<style>*{display:none}</style>", "&lt;b&gt; &amp; &#x41;",
        "${window.hacked=1}", "<iframe srcdoc='<script>parent.hacked=1</script>'>", "\u{202E}evil",
    ]

    @Test("script in any text is text", arguments: payloads)
    func text(payload: String) async throws {
        let data = try JSONEncoder().encode(payload)
        let text = String(decoding: data, as: UTF8.self)
        let stage = try await PageFixture([
            """
            {"id":"a","triggers":[{"event":"a"}],"title":\(text),"text":\(text),
            "image":{"url":"data:image/png;base64,AAAA","alt":\(text)},
            "fields":[{"name":"f","label":\(text),"type":"text","hint":\(text)},
            {"name":"g","label":\(text),"type":"choice","options":[{"value":\(text),"label":\(text)}]}],
            "buttons":[{"label":\(text),"actions":[{"type":"dismiss"}]}]}
            """
        ])
        try await stage.show("a")
        let page = stage.view.page
        let form = try #require(try await page.form())
        #expect(form.first == payload)
        #expect(form.count { $0 == payload } >= 6, "\(form)")
        #expect(try await page.evaluate("String(window.hacked)") == "undefined")
        #expect(
            try await page.evaluate("document.querySelectorAll('script, iframe').length") == 1)
        await stage.close()
    }

    /// What the page looks like when two looks are the same; a moment longer if it is not what it
    /// was.
    private func settled(_ page: ChromiumPage, unlike before: Data) async throws -> Data {
        var last = try await page.screenshot()
        for _ in 0..<20 {
            let next = try await page.screenshot()
            if next == last, before.isEmpty || next == before { break }
            last = next
        }
        return last
    }

    @Test("the page's own styles and scripts do not reach the form")
    func isolation() async throws {
        let stage = try await PageFixture([PageFixture.form("a", #","text":"Some words""#)])
        try await stage.show("a")
        let page = stage.view.page
        let before = try await settled(page, unlike: Data())
        try await page.evaluate(
            """
            (() => {
              const sheet = new CSSStyleSheet();
              sheet.replaceSync(`* { color: red !important; font: 40px serif !important; opacity: 0.2 !important;
                transform: rotate(9deg) !important; letter-spacing: 1em !important; visibility: hidden !important }
                html { font-size: 3px !important } dialog, button { background: red !important }
                div { display: none !important }`);
              document.adoptedStyleSheets = [sheet];
            })()
            """)
        #expect(try await settled(page, unlike: before) == before)
        let reach = "[...document.body.children].map((each) => String(each.shadowRoot)).join()"
        #expect(try await page.evaluate(reach) == "null")
        #expect(try await page.evaluate("document.querySelector('dialog')") == .null)
        await stage.close()
    }

    @Test("the policy lets no script run that was not in the page's own file")
    func policy() async throws {
        let stage = try await PageFixture([])
        let tries = [
            "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 1'}))",
            "document.body.innerHTML = '<img src=x onerror=\"window.hacked = 1\">'",
            "setTimeout('window.hacked = 1', 0)", "eval('window.hacked = 1')",
        ]
        for attempt in tries {
            // A call from outside is not bound by the policy, so what it does comes from within.
            _ = try? await stage.view.page.evaluate("\(attempt); 0")
        }
        #expect(try await stage.view.page.evaluate("String(window.hacked)") == "undefined")
        #expect(
            try await stage.view.page.evaluate(
                "fetch('https://example.org/').then(() => 'went', () => 'stayed')") == "stayed")
        await stage.close()
    }

    @Test("a thousand forms are asked about an event within 5 ms")
    func speed() async throws {
        let forms = (0..<1_000).map { number in
            """
            {"id":"f\(number)","title":"F","triggers":[{"event":"e","where":{"and":[
            {"property":"plan","is":"equals","value":"vip"},{"or":[{"property":"cart.total","is":"atLeast","value":\(number + 100)},
            {"property":"name","is":"startsWith","value":"x"}]}]}}]}
            """
        }
        let stage = try await PageFixture(forms)
        // The page's own clock, from the arrival of 64 events to the last word about them, without
        // the way there and back.
        let events = (0..<64).map {
            #"{"id":"e-\#($0)","name":"e","properties":{"plan":"vip","cart":{"total":5},"name":"ada"},"at":1,"now":1,"attempt":1}"#
        }
        try await stage.view.page.evaluate(
            """
            window.tell = (text) => new Promise((resolve) => {
              const before = performance.now();
              window.repriseReceive(text);
              // Another turn: what was posted first is done first.
              const channel = new MessageChannel();
              channel.port1.onmessage = () => resolve(performance.now() - before);
              channel.port2.postMessage(0);
            })
            """)
        let text = #"{"type":"events","events":[\#(events.joined(separator: ","))]}"#
        let literal = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
        var best = Double.infinity
        for _ in 0..<5 {
            guard case .number(let time) = try await stage.view.page.evaluate("tell(\(literal))")
            else { continue }
            best = min(best, time / 64)
            #expect(try await stage.handled().count == 64)
        }
        print("1,000 forms: \(best) ms an event")
        #expect(best < 5)
        await stage.close()
    }
}
