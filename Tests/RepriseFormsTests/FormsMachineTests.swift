import RepriseCore
import RepriseForms
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Forms machine")
struct FormsMachineTests {
    typealias Action = FormsMachine.Action

    private static let wall = WallTime(milliseconds: 1_800_000_000_000)
    private var machine = FormsMachine(events: [])
    private var number = 0
    private let catalogue: FormsCatalogue

    init() throws {
        catalogue = try FormsCatalogue(
            Array(
                #"{"format":"forms/1","version":"1","forms":[{"id":"welcome","triggers":[{"event":"e"}],"title":"W"}]}"#
                    .utf8))
    }

    private mutating func say(_ rest: String, at now: Duration = .zero) -> [Action] {
        number += 1
        return machine.said(
            Array(#"{"session":"s","n":\#(number),\#(rest)}"#.utf8), at: now, wall: Self.wall)
    }

    private func arrival(_ id: String, attempt: Int = 1) throws -> FormsArrival {
        FormsArrival(
            id: try EntryID(id), content: try EventContent(name: "e", properties: Array("{}".utf8)),
            recordedAt: Self.wall, attempt: attempt)
    }

    private mutating func deliver(_ ids: [String], at now: Duration = .zero) throws -> [Action] {
        machine.delivery(
            try ids.map { try arrival($0) }, doubtful: [], at: now, wall: Self.wall)
    }

    /// A machine whose page is ready.
    private mutating func makeReady(at now: Duration = .zero, protocols: String = "[1]") {
        number = 0
        _ = machine.started()
        _ = machine.viewOpened(session: "s", at: now)
        _ = machine.catalogueArrived(catalogue, at: now)
        _ = say(#""type":"hello","runtime":"1.0","protocols":\#(protocols)"#, at: now)
        _ = say(#""type":"formsData","version":"1""#, at: now)
    }

    @Test("Each gate opens with its own signal, in this order, and none before")
    mutating func gates() {
        #expect(machine.started() == [.setReadiness(.sdk, isOpen: true), .open(life: 1)])
        #expect(
            machine.viewOpened(session: "s", at: .zero) == [.setReadiness(.webView, isOpen: true)])
        #expect(machine.catalogueArrived(catalogue, at: .zero) == [])
        let hello = say(#""type":"hello","runtime":"1.0","protocols":[1,2]"#)
        #expect(hello.contains(.setReadiness(.handshake, isOpen: true)))
        #expect(!hello.contains(.setReadiness(.formsData, isOpen: true)))
        #expect(
            say(#""type":"formsData","version":"1""#) == [.setReadiness(.formsData, isOpen: true)])
        #expect(machine.state == .ready)
    }

    @Test("When the page is lost the gates close before anything goes back")
    mutating func lost() throws {
        makeReady()
        _ = try deliver(["a", "b"])
        let actions = machine.viewLost(reason: "r", at: .seconds(1))
        #expect(
            actions == [
                .setReadiness(.formsData, isOpen: false),
                .setReadiness(.handshake, isOpen: false),
                .setReadiness(.webView, isOpen: false),
                .giveBack(try EntryID("a"), reason: "r", isInDoubt: false),
                .giveBack(try EntryID("b"), reason: "r", isInDoubt: false),
                .close, .open(life: 2),
            ])
        #expect(machine.inFlight == 0)
    }

    @Test(
        "After a page died with several events, the next gets them one by one, and an innocent one is never blamed"
    )
    mutating func careful() throws {
        makeReady()
        _ = try deliver(["a", "b", "c"])
        _ = machine.viewLost(reason: "r", at: .zero)
        makeReadyAgain()
        #expect(sent(try deliver(["a", "b", "c"])) == 1)
        #expect(sent(say(#""type":"handled","events":[{"id":"a","result":"noMatch"}]"#)) == 1)
        #expect(sent(say(#""type":"waiting","events":["b"]"#)) == 1)
        #expect(sent(say(#""type":"handled","events":[{"id":"c","result":"noMatch"}]"#)) == 0)
    }

    @Test("A form that could not be drawn leaves no web view over the app's screen")
    mutating func notDrawn() throws {
        makeReady()
        _ = try deliver(["a"])
        _ = say(#""type":"showing","event":"a","form":"welcome""#)
        let id = try EntryID("a")
        let granted = machine.leaveDecided(
            .granted(showing: "g"), for: id, form: "welcome", at: .zero, wall: Self.wall)
        #expect(granted.first == .setVisible(true))
        let error = #""id":"a","result":"error","form":"welcome","reason":"rendering""#
        #expect(
            say(#""type":"handled","events":[{\#(error)}]"#) == [
                .setVisible(false),
                .end(id, as: .dead, reason: "error: rendering", appeared: nil),
            ])
    }

    private mutating func makeReadyAgain(
        protocols: String = "[1]", at now: Duration = .zero
    ) {
        number = 0
        _ = machine.viewOpened(session: "s", at: now)
        _ = say(#""type":"hello","runtime":"1.0","protocols":\#(protocols)"#, at: now)
        _ = say(#""type":"formsData","version":"1""#, at: now)
    }

    private func sent(_ actions: [Action]) -> Int {
        actions.count { if case .send = $0 { true } else { false } }
    }

    @Test(
        "The fourth loss in a minute makes it rest until the first is a minute old",
        .limit("forms.replacements"))
    mutating func rests() {
        makeReady()
        for second in 1...3 {
            let actions = machine.viewLost(reason: "r", at: .seconds(second))
            #expect(actions.last == .open(life: second + 1))
        }
        #expect(!machine.viewLost(reason: "r", at: .seconds(4)).contains(.open(life: 5)))
        #expect(machine.state == .stalled)
        #expect(machine.due == .seconds(61))
        #expect(machine.timerFired(at: .seconds(60), wall: Self.wall) == [])
        #expect(machine.timerFired(at: .seconds(61), wall: Self.wall) == [.open(life: 5)])
    }

    @Test(
        "While a form is on the screen, or its time has yet to come, an event is not late",
        .limit("forms.answer", "forms.appear"))
    mutating func timeout() throws {
        makeReady()
        _ = try deliver(["a", "b"])
        #expect(machine.due == .seconds(30))
        _ = say(#""type":"waiting","events":["b"]"#)
        _ = say(#""type":"showing","event":"a","form":"welcome""#)
        #expect(machine.due == nil)
        _ = machine.leaveDecided(
            .granted(showing: "g"), for: try EntryID("a"), form: "welcome", at: .seconds(5),
            wall: Self.wall)
        #expect(machine.due == .seconds(15))
        let shown = say(#""type":"formDidAppear","event":"a","form":"welcome","showing":"g""#)
        #expect(
            shown == [
                .end(try EntryID("a"), as: .applied, reason: "shown welcome", appeared: "g")
            ])
        #expect(machine.due == nil)
        #expect(machine.state == .showing("welcome"))
    }

    @Test(
        "A page that falls silent with an event that waits for nothing is replaced, and such an event ends at last"
    )
    mutating func silence() throws {
        makeReady(protocols: "[1,2]")
        for life in 1...5 {
            let minute = Duration.seconds(100 * life)
            _ = try deliver(["a"], at: minute)
            _ = say(#""type":"waiting","events":["a"]"#, at: minute + .seconds(1))
            #expect(machine.due == minute + .seconds(31))
            _ = say(#""type":"log","level":"info","text":"here""#, at: minute + .seconds(11))
            #expect(machine.due == minute + .seconds(41))
            #expect(machine.timerFired(at: minute + .seconds(40), wall: Self.wall) == [])
            let actions = machine.timerFired(at: minute + .seconds(41), wall: Self.wall)
            #expect(actions.contains(.open(life: life + 1)))
            let isLast = life == 5
            let ended = actions.count { if case .end = $0 { true } else { false } }
            #expect(ended == (isLast ? 1 : 0))
            makeReadyAgain(protocols: "[1,2]", at: minute + .seconds(42))
        }
    }

    @Test("A page that keeps a delayed event may be silent for its delay, and no longer")
    mutating func silenceOfKeeper() throws {
        let triggers = #"[{"event":"e","delay":600},{"event":"f"}]"#
        let form = #"{"id":"welcome","triggers":\#(triggers),"title":"W"}"#
        let slow = try FormsCatalogue(
            Array(#"{"format":"forms/1","version":"2","forms":[\#(form)]}"#.utf8))
        #expect(slow.longestDelay == 600)
        _ = machine.started()
        _ = machine.viewOpened(session: "s", at: .zero)
        _ = machine.catalogueArrived(slow, at: .zero)
        _ = say(#""type":"hello","runtime":"1.0","protocols":[1]"#)
        _ = say(#""type":"formsData","version":"2""#)
        _ = try deliver(["a"])
        _ = say(#""type":"waiting","events":["a"]"#, at: .seconds(1))
        #expect(machine.due == .seconds(631))
        #expect(machine.timerFired(at: .seconds(630), wall: Self.wall) == [])
        #expect(machine.timerFired(at: .seconds(631), wall: Self.wall).contains(.open(life: 2)))
    }

    @Test("Behind a form, and behind a question that is not answered, a page may be silent")
    mutating func silenceBehindForm() throws {
        makeReady(protocols: "[1,2]")
        _ = try deliver(["a", "b"])
        _ = say(#""type":"waiting","events":["a","b"]"#)
        _ = say(#""type":"showing","event":"a","form":"welcome""#, at: .seconds(1))
        #expect(machine.due == nil)
        _ = machine.leaveDecided(
            .granted(showing: "g"), for: try EntryID("a"), form: "welcome", at: .seconds(50),
            wall: Self.wall)
        #expect(machine.due == .seconds(60))
        _ = say(
            #""type":"formDidAppear","event":"a","form":"welcome","showing":"g""#, at: .seconds(51))
        #expect(machine.due == nil)
        _ = say(
            #""type":"formDidDismiss","form":"welcome","showing":"g","how":"button""#,
            at: .seconds(900))
        #expect(machine.due == .seconds(930))
    }

    @Test(
        "A timer that fires far too late means that the process was suspended, and the page gets time to answer"
    )
    mutating func suspended() throws {
        makeReady()
        _ = try deliver(["a"])
        #expect(machine.timerFired(at: .seconds(3_600), wall: Self.wall) == [])
        #expect(machine.due == .seconds(3_610))
        #expect(machine.timerFired(at: .seconds(3_609), wall: Self.wall) == [])
        #expect(machine.timerFired(at: .seconds(3_610), wall: Self.wall).contains(.open(life: 2)))
    }

    @Test("A machine that rests makes its next page at once when the process was suspended")
    mutating func suspendedAtRest() {
        makeReady()
        for second in 1...4 { _ = machine.viewLost(reason: "r", at: .seconds(second)) }
        #expect(machine.state == .stalled)
        #expect(machine.timerFired(at: .seconds(3_600), wall: Self.wall) == [.open(life: 5)])
    }

    @Test("no timeout of a page counts while the app is suspended")
    mutating func asleep() throws {
        makeReady()
        _ = try deliver(["a"])
        machine.slept()
        #expect(machine.due == nil)
        machine.woke(at: .seconds(600))
        #expect(machine.due == .seconds(610))
    }

    @Test("Leave that was decided for a page that is gone is not passed on")
    mutating func staleLeave() throws {
        makeReady()
        _ = try deliver(["a"])
        _ = say(#""type":"showing","event":"a","form":"welcome""#)
        _ = machine.viewLost(reason: "r", at: .zero)
        #expect(
            machine.leaveDecided(
                .granted(showing: "g"), for: try EntryID("a"), form: "welcome", at: .zero,
                wall: Self.wall) == [])
    }

    @Test(
        "A page's message before its hello, or a second hello, counts as malformed and changes nothing",
        arguments: [
            #""type":"formsData","version":"1""#,
            #""type":"showing","event":"a","form":"welcome""#,
            #""type":"handled","events":[]"#,
        ])
    mutating func tooEarly(text: String) {
        _ = machine.started()
        _ = machine.viewOpened(session: "s", at: .zero)
        #expect(say(text) == [])
        #expect(machine.tally.malformed == 1)
        _ = say(#""type":"hello","runtime":"1.0","protocols":[1]"#)
        #expect(say(#""type":"hello","runtime":"1.0","protocols":[1]"#) == [])
        #expect(machine.tally.malformed == 2)
    }

    @Test("A new catalogue that the page refuses leaves it with the former one")
    mutating func keepsFormer() throws {
        makeReady()
        let next = try FormsCatalogue(
            Array(#"{"format":"forms/1","version":"2","forms":[]}"#.utf8))
        #expect(sent(machine.catalogueArrived(next, at: .zero)) == 1)
        // It takes over when the screen is free, and nobody knows when that is.
        #expect(machine.due == nil)
        #expect(
            say(#""type":"catalogueRefused","version":"2","reason":"r","path":"""#)
                == [.fetchCatalogue])
        #expect(machine.catalogueVersion == "1")
        #expect(machine.state == .ready)
    }

    @Test("Of catalogues that come quickly the newest follows the first, and no fault is counted")
    mutating func quickCatalogues() throws {
        makeReady()
        let next = try ["2", "3", "4"].map {
            try FormsCatalogue(Array(#"{"format":"forms/1","version":"\#($0)","forms":[]}"#.utf8))
        }
        #expect(sent(machine.catalogueArrived(next[0], at: .zero)) == 1)
        #expect(sent(machine.catalogueArrived(next[1], at: .zero)) == 0)
        #expect(sent(machine.catalogueArrived(next[2], at: .zero)) == 0)
        #expect(sent(say(#""type":"formsData","version":"2""#)) == 1)
        #expect(machine.catalogueVersion == "2")
        #expect(say(#""type":"formsData","version":"4""#) == [])
        #expect(machine.catalogueVersion == "4")
        #expect(machine.tally.malformed == 0)
    }

    @Test(
        "An event whose form was granted and not heard to appear goes back in doubt, others do not")
    mutating func backInDoubt() throws {
        makeReady()
        _ = try deliver(["a", "b"])
        _ = say(#""type":"showing","event":"a","form":"welcome""#)
        _ = machine.leaveDecided(
            .granted(showing: "g"), for: try EntryID("a"), form: "welcome", at: .zero,
            wall: Self.wall)
        let actions = machine.viewLost(reason: "r", at: .seconds(1))
        #expect(actions.contains(.giveBack(try EntryID("a"), reason: "r", isInDoubt: true)))
        #expect(actions.contains(.giveBack(try EntryID("b"), reason: "r", isInDoubt: false)))
    }

    @Test(
        "A page that hangs behind the form on its screen is replaced; one that has events wait for it is not"
    )
    mutating func hungBehindForm() throws {
        makeReady()
        _ = try deliver(["a"])
        _ = say(#""type":"showing","event":"a","form":"welcome""#)
        _ = machine.leaveDecided(
            .granted(showing: "g"), for: try EntryID("a"), form: "welcome", at: .zero,
            wall: Self.wall)
        _ = say(#""type":"formDidAppear","event":"a","form":"welcome","showing":"g""#)
        _ = try deliver(["b"])
        _ = say(#""type":"waiting","events":["b"]"#)
        #expect(machine.due == nil)
        _ = try deliver(["c"], at: .seconds(1))
        let due = try #require(machine.due)
        #expect(machine.timerFired(at: due, wall: Self.wall).contains(.open(life: 2)))
    }

    @Test("An event before which others may wait goes back, and comes in its order")
    mutating func released() throws {
        machine = FormsMachine(
            events: [FormsEvent("e", timeToLive: .seconds(10), then: .deliver)])
        var late = try arrival("a")
        late.recordedAt = Self.wall.advanced(by: .seconds(-60))
        late.mayOvertake = true
        #expect(
            machine.delivery([late], doubtful: [], at: .zero, wall: Self.wall)
                == [.deliverLate(late.id)])
        makeReady()
        let actions = machine.delivery([late], doubtful: [], at: .zero, wall: Self.wall)
        #expect(
            actions == [
                .setReadiness(.formsData, isOpen: false),
                .giveBack(
                    late.id, reason: "Events recorded before it come first.",
                    isInDoubt: false),
                .setReadiness(.formsData, isOpen: true),
            ])
        #expect(machine.inFlight == 0)
        late.mayOvertake = false
        #expect(sent(machine.delivery([late], doubtful: [], at: .zero, wall: Self.wall)) == 1)
    }

    @Test("While the app decides the page is not late, and only the answer to the question counts")
    mutating func deciding() throws {
        makeReady()
        _ = try deliver(["a"])
        _ = say(#""type":"showing","event":"a","form":"welcome""#)
        let asked = machine.leaveDecided(
            .undecided, for: try EntryID("a"), form: "welcome", at: .seconds(1), wall: Self.wall)
        guard
            case .askApp(question: let question, let arrival, form: "welcome", catalogue: _)? =
                asked.first
        else {
            Issue.record("the app is not asked: \(asked)")
            return
        }
        #expect(arrival.id.text == "a")
        #expect(machine.due == .seconds(6))
        let moment = Duration.seconds(2)
        #expect(machine.appDecided(question + 1, .show, at: moment, wall: Self.wall) == [])
        #expect(
            machine.appDecided(question, .show, at: moment, wall: Self.wall) == [
                .askLeave(
                    event: try EntryID("a"), form: "welcome", catalogue: catalogue, isDecided: true)
            ])
        #expect(machine.appDecided(question, .no("late"), at: moment, wall: Self.wall) == [])
        #expect(machine.due == nil)
    }

    @Test("An app that does not decide in time has its form put off, and no page is replaced")
    mutating func undecided() throws {
        makeReady()
        _ = try deliver(["a"])
        _ = say(#""type":"showing","event":"a","form":"welcome""#)
        _ = machine.leaveDecided(
            .undecided, for: try EntryID("a"), form: "welcome", at: .seconds(1), wall: Self.wall)
        #expect(machine.timerFired(at: .seconds(5), wall: Self.wall) == [])
        let actions = machine.timerFired(at: .seconds(6), wall: Self.wall)
        let row = FormsDecisionRow(
            form: "welcome", reason: "the app: no answer",
            until: Self.wall.advanced(by: .seconds(60)))
        #expect(actions.last == .putOff(try EntryID("a"), by: .seconds(60), row))
        #expect(sent(actions) == 1)
        #expect(machine.inFlight == 0 && machine.state == .ready)
        #expect(machine.tally.undecided == 1)
    }

    @Test(
        "A form that the store cannot decide costs no page; its event waits longer each time and does not end",
        .limit("forms.undecidable"))
    mutating func undecidable() throws {
        makeReady()
        let id = try EntryID("a")
        for attempt in 1...10 {
            _ = machine.delivery(
                [try arrival("a", attempt: attempt)], doubtful: [], at: .zero, wall: Self.wall)
            _ = say(#""type":"showing","event":"a","form":"welcome""#)
            let actions = machine.leaveFailed(
                for: id, form: "welcome", reason: "full", at: .zero, wall: Self.wall)
            let wait = Duration.seconds(min(1 << (attempt - 1), 300))
            #expect(actions.count == 2 && sent(actions) == 1)
            #expect(actions.last == .postpone(id, by: wait, reason: "full"))
        }
        #expect(machine.state == .ready && machine.life == 1 && machine.inFlight == 0)
        #expect(machine.tally.lastFault == "full")
    }

    @Test("When the app takes the form away, the page forgets all it has, and that comes again")
    mutating func dismissedByTheApp() throws {
        makeReady()
        #expect(machine.dismiss() == [])
        _ = try deliver(["a", "b"])
        _ = say(#""type":"showing","event":"a","form":"welcome""#)
        _ = machine.leaveDecided(
            .granted(showing: "g"), for: try EntryID("a"), form: "welcome", at: .zero,
            wall: Self.wall)
        _ = say(#""type":"formDidAppear","event":"a","form":"welcome","showing":"g""#)
        let actions = machine.dismiss()
        // No other is taken before all are back.
        #expect(
            actions.dropFirst() == [
                .setReadiness(.formsData, isOpen: false),
                .giveBack(
                    try EntryID("b"), reason: "The app has taken the form away.", isInDoubt: false),
                .setReadiness(.formsData, isOpen: true),
            ])
        #expect(machine.inFlight == 0)
        #expect(
            say(#""type":"formDidDismiss","form":"welcome","showing":"g","how":"host""#)
                == [.setVisible(false), .dismissed(showing: "g", how: "host")])
    }

    @Test(
        "A postponed event holds no place, and an event whose form was requested cannot be postponed"
    )
    mutating func givenBack() throws {
        makeReady()
        let at = Self.wall.milliseconds + 60_000
        func later(_ id: String) -> String {
            #""type":"later","events":[{"id":"\#(id)","at":\#(at)}]"#
        }
        _ = try deliver(["a", "b"])
        let reason = "The time of its form has not come."
        #expect(
            say(later("a")) == [.postpone(try EntryID("a"), by: .seconds(60), reason: reason)])
        #expect(machine.inFlight == 1)
        _ = say(#""type":"showing","event":"b","form":"welcome""#)
        #expect(say(later("b")) == [])
        #expect(say(later("a")) == [])
        #expect(machine.tally.malformed == 1)
        #expect(machine.tally.late == 1)
        #expect(machine.inFlight == 1)
    }

    @Test(
        "The newest protocol that both speak is spoken",
        arguments: [("1", 1), ("1,2", 2), ("2,9", 2)])
    mutating func protocols(spoken: String, chosen: Int) {
        _ = machine.started()
        _ = machine.viewOpened(session: "s", at: .zero)
        let actions = say(#""type":"hello","runtime":"1.0","protocols":[\#(spoken)]"#)
        let welcome = #""protocol":\#(chosen),"#
        let isWelcome = actions.contains { action in
            guard case .send(let text) = action else { return false }
            return String(decoding: text, as: UTF8.self).contains(welcome)
        }
        #expect(isWelcome)
    }

    @Test("A page's faults and log messages are in the diagnostics")
    mutating func words() {
        makeReady()
        _ = say(#""type":"fault","reason":"notAsked","about":"granted""#)
        _ = say(#""type":"log","level":"warning","text":"slow""#)
        #expect(machine.tally.lastFault == "The page says: notAsked granted")
        #expect(machine.tally.lastLog == "warning: slow")
    }
}
