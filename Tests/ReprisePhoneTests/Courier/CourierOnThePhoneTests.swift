import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import Testing

/// The core of Examples/Courier, the same source, in a process that the phone launches: each
/// scenario ends with the right screen, an effect that is there once by the word of those outside,
/// and a ledger that adds up.
@Suite("The courier's app on the phone", .serialized, .timeLimit(.minutes(3)))
struct CourierOnThePhoneTests {
    @Test(
        "A tap on the reminder launches the app with its order, once, wherever the system tells of it",
        arguments: PhoneRules.LaunchingTap.allCases)
    func tap(rule: PhoneRules.LaunchingTap) async throws {
        var rules = PhoneRules()
        rules.launchingTap = rule
        try await CourierStage.play(rules: rules) { stage in
            try await stage.rings()
            try await stage.phone.tap()
            try await stage.phone.expects(.report("process", "response"))
            try await stage.phone.expects(.report("screen", "7"))
            try await stage.dies()
            try await stage.phone.launch()
            try await stage.phone.expects(.report("orders", "7 active"))
            // What is recorded after the tap would come after it.
            try await stage.does("note 7 Here")
            #expect(try await stage.screens() == ["7"])
        }
    }

    @Test("A tap that connects a restored scene is in its options alone, and leads to its order")
    func restored() async throws {
        var rules = PhoneRules()
        rules.launchingTap = .sceneAlone
        try await CourierStage.play(rules: rules) { stage in
            try await stage.rings()
            try await stage.phone.tap()
            try await stage.phone.expects(.report("sceneRestored", "no tap"))
            try await stage.phone.expects(.report("screen", "7"))
        }
    }

    @Test("A background push launches the app: the note is shown, what was read elsewhere goes")
    func push() async throws {
        try await CourierStage.play { stage in
            try await stage.phone.home()
            try await stage.writes("n1")
            try await stage.shows(2, ["n1", "o7"])
            try await stage.dies()
            try await stage.writes("n2")
            try await stage.readsElsewhere(through: 1)
            try await stage.wake(seq: 1, head: 2)
            try await stage.phone.expects(.phone(.launched, "push"))
            try await stage.phone.expects(.phone(.pushCompleted))
            try await stage.shows(2, ["n2", "o7"])
            try await stage.dies()
            try await stage.phone.tap("n2")
            try await stage.phone.expects(.report("screen", "7"))
            #expect(try await stage.screens() == ["7"])
        }
    }

    @Test("A conversation that the office begins rings, is in the list, and leads to itself")
    func conversation() async throws {
        try await CourierStage.play { stage in
            try await stage.phone.home()
            try await stage.talks("t1")
            try await stage.phone.expects(.phone(.banner, "t1"))
            try await stage.phone.expects(.report("talks", "The shift, 1 unread"))
            let talk = try #require(try await stage.content(of: "t1")?.conversation)
            #expect(talk.name == "Office" && talk.group == "The shift")
            try await stage.dies()
            try await stage.phone.tap("t1")
            try await stage.phone.expects(.report("talk", "shift"))
            try await stage.does("say shift I do")
            try await becomes("the office has it", 1) {
                try await stage.count(of: "I do", in: "shift", by: "office")
            }
            #expect(try await stage.screens() == [])
        }
    }

    @Test("A background task plans reminders anew and asks for the next; what is planned rings")
    func task() async throws {
        try await CourierStage.play(daily: true) { stage in
            try await eventually("it is planned") { try await !stage.phone.app().pending.isEmpty }
            try await stage.refreshIsDue()
            try await stage.phone.runBackground(CourierStage.refresh)
            try await stage.phone.expects(.phone(.connected, "task \(CourierStage.refresh)"))
            try await stage.phone.expects(.phone(.taskCompleted, "\(CourierStage.refresh) success"))
            let app = try await stage.phone.app()
            #expect(!app.pending.isEmpty && app.tasks.contains { $0.id == CourierStage.refresh })
            try await stage.rings(within: .seconds(86_400))
            try await stage.phone.tap()
            try await stage.phone.expects(.report("screen", "7"))
            #expect(try await stage.screens() == ["7"])
        }
    }

    @Test(
        "A review is asked for once after a delivery, by a web view that waits for a key window",
        .enabled(if: Chromium.find() != nil), arguments: PhoneRules.KeyWindow.allCases)
    func form(rule: PhoneRules.KeyWindow) async throws {
        var rules = PhoneRules()
        rules.keyWindow = rule
        try await CourierStage.play(rules: rules, hasForms: true) { stage in
            try await stage.does("deliver 7")
            try await stage.dies()
            // Nobody sees the app that a push launches.
            try await stage.writes("n1")
            try await stage.readsElsewhere(through: 1)
            try await stage.wake(seq: 1, head: 1)
            try await stage.phone.expects(.phone(.pushCompleted))
            try await stage.phone.advance(by: .seconds(10))
            try await stage.phone.launch()
            try await stage.does("see")
            try await stage.phone.expects(.report("form", "How was it?"))
            let log = try await stage.phone.log()
            let isSeen = try #require(log.last { $0.what == "foreground" }?.number)
            let isOpened = try #require(log.last { $0.what == "app.webView" }?.number)
            #expect(isOpened > isSeen)
            try await stage.does("rate 5")
            try await becomes("the answer is there", 1) { try await stage.answers() }
            try await stage.dies()
            try await stage.phone.launch()
            try await stage.does("note 7 Here")
            #expect(try await stage.answers() == 1)
        }
    }

    @Test("A note that waits when memory runs out is sent by the next process, once")
    func memory() async throws {
        try await CourierStage.play { stage in
            try await stage.phone.offline()
            try await stage.does("note 7 On my way")
            try await stage.sleeps()
            try await stage.phone.memoryPressure()
            try await stage.phone.expects(.phone(.terminated, "memory"))
            try await stage.phone.online()
            try await stage.phone.launch()
            try await becomes("it is sent", 1) { try await stage.count(of: "On my way") }
            try await stage.dies()
            try await stage.phone.launch()
            try await stage.does("note 7 I ring")
            try await becomes("the next is sent", 1) { try await stage.count(of: "I ring") }
            #expect(try await stage.count(of: "On my way") == 1)
        }
    }

    @Test("Without permission nothing is shown, and nothing is lost; once allowed, it rings")
    func denied() async throws {
        try await CourierStage.play(permits: false) { stage in
            try await stage.phone.ask(.answerPermission(app: nil, allowed: false))
            try await stage.does("permit")
            try await stage.phone.home()
            try await stage.writes("n1")
            try await stage.push("n1", seq: 1, badge: 1)
            try await stage.phone.expects(.phone(.pushDropped))
            #expect(try await stage.phone.app().pending.isEmpty)
            try await stage.phone.permit()
            try await stage.phone.launch()
            try await stage.rings()
            try await stage.phone.tap()
            try await stage.phone.expects(.report("screen", "7"))
        }
    }

    @Test(
        "While the app is dead its extension decides: a muted chat is silent, and its sender named")
    func serviceExtension() async throws {
        try await CourierStage.play { stage in
            try await stage.does("mute 7")
            // The extension reads what the app has written by then.
            try await stage.sleeps()
            try await stage.dies()
            try await stage.writes("n1")
            try await stage.push("n1", seq: 1, badge: 2)
            try await stage.phone.expects(.phone(.extension, "answered"))
            try await stage.shows(2, ["n1", "o7"])
            try await stage.phone.hasNot(.phone(.banner, "n1"))
            let note = try #require(try await stage.content(of: "n1"))
            #expect(note.interruption == .passive && !note.sound)
            #expect(note.conversation?.name == "Bob")
            try await stage.phone.tap("n1")
            try await stage.phone.expects(.report("screen", "7"))
            #expect(try await stage.screens() == ["7"])
        }
    }

    @Test(
        "In a Focus a note is in the list, with a banner if it breaks through; its tap leads to the order",
        arguments: PhoneRules.CommunicationInFocus.allCases)
    func focus(rule: PhoneRules.CommunicationInFocus) async throws {
        var rules = PhoneRules()
        rules.communicationInFocus = rule
        try await CourierStage.play(rules: rules) { stage in
            try await stage.dies()
            try await stage.phone.focus(true)
            try await stage.writes("n1")
            try await stage.push("n1", seq: 1, badge: 2)
            try await stage.shows(2, ["n1", "o7"])
            switch rule {
            case .listed: try await stage.phone.hasNot(.phone(.banner, "n1"))
            case .breaksThrough: try await stage.phone.expects(.phone(.banner, "n1"))
            }
            try await stage.phone.tap("n1")
            try await stage.phone.expects(.report("screen", "7"))
            #expect(try await stage.screens() == ["7"])
        }
    }

    @Test("In Low Power Mode no refresh runs; what is planned rings, and a proof goes on")
    func lowPower() async throws {
        try await CourierStage.play(daily: true) { stage in
            try await stage.phone.lowPower(true)
            try await stage.does("prove 7")
            try await stage.isProved()
            try await stage.rings()
            try await stage.phone.tap()
            try await stage.phone.expects(.report("screen", "7"))
            try await stage.refreshIsDue()
            let refusal = await expectError(.unavailable) {
                try await stage.phone.runBackground(CourierStage.refresh)
            }
            #expect(refusal?.message.contains("Low Power Mode") == true)
            #expect(try await stage.screens() == ["7"])
        }
    }

    @Test(
        "Before the first unlock a push is shown and an answer is kept; after it, it counts once",
        arguments: PhoneRules.LaunchBeforeUnlock.allCases)
    func locked(rule: PhoneRules.LaunchBeforeUnlock) async throws {
        var rules = PhoneRules()
        rules.launchBeforeUnlock = rule
        rules.uncompletedResponse = .repeated
        try await CourierStage.play(rules: rules) { stage in
            try await eventually("it is planned") { try await !stage.phone.app().pending.isEmpty }
            try await stage.phone.restart()
            await expectError(.unavailable) { try await stage.phone.launch() }
            try await stage.phone.advance(by: .seconds(660))
            try await stage.phone.expects(.phone(.delivered))
            if rule == .launched {
                try await stage.phone.tap(nil, .text("answer", answer: "Traffic"))
                try await stage.phone.expects(.report("state", "waiting"))
            }
            try await stage.push("n1", seq: 1, badge: 1)
            try await stage.phone.expects(.phone(.delivered, "n1"))
            try await stage.phone.unlock()
            try await stage.writes("n1")
            try await stage.phone.tap("n1")
            try await stage.phone.expects(.report("screen", "7"))
            if rule == .launched {
                try await stage.phone.expects(.report("orders", "7 active Traffic"))
            }
            // The process that was launched before the unlock takes orders, too.
            try await stage.announces("8")
            let answer = rule == .launched ? " Traffic" : ""
            try await stage.phone.expects(.report("orders", "7 active\(answer), 8 active"))
            #expect(try await stage.screens() == ["7"])
        }
    }
}

extension CourierStage {
    /// How many reviews have come.
    fileprivate func answers() async throws -> Int {
        try await count(of: #""stars":5"#, in: "forms-answers", by: "office")
    }
}
