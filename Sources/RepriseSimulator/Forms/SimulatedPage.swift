import Foundation
import RepriseCore
import RepriseForms
import RepriseWire

/// The page of one web view, which does what forms.js does, and then some: it dies, hangs, is late, and says what it should not.
final class SimulatedPage {
    /// An event in hand.
    private struct Item {
        let id: EntryID
        let name: String
        let at: Int64
        /// The place among the forms to be tried next.
        var next = 0
        var outcome: String?
        /// Which it is that waits for its time or the screen, or is shown.
        var form: SimulatedCatalogue.Form?
        /// Counts its timers: only the newest goes off.
        var timer = 0
    }

    private struct Screen {
        enum Phase { case asking, appearing, shown }
        let item: Item
        let form: SimulatedCatalogue.Form
        var phase = Phase.asking
        var showing = ""
    }

    let life: Int
    let session: String
    private let simulation: Simulation
    private let device: FormsDevice
    /// Gets each message and, with nil, the end of the page; in order.
    private let toHost: (SimulatedPage, FormsSaid?) -> Void
    private var random: SeededRandom
    private(set) var isOpen = true
    private(set) var isHung = false
    private(set) var hasSaidHello = false
    private(set) var hasCatalogue = false
    private var isGreeted = false
    private var number: Int64 = 0
    private var offset: Int64 = 0
    private var catalogue: SimulatedCatalogue?
    private var coming: SimulatedCatalogue?
    /// In the order of arrival.
    private var inHand: [Item] = []
    private var waiting: [EntryID] = []
    private var screen: Screen?
    private var handled: [String] = []
    private var unanswered: String?
    private var heardAt: Duration = .zero
    private var saidAt: Duration = .zero

    init(
        _ simulation: Simulation, _ device: FormsDevice, life: Int, session: String,
        random: SeededRandom, toHost: @escaping (SimulatedPage, FormsSaid?) -> Void
    ) {
        self.simulation = simulation
        self.device = device
        self.life = life
        self.session = session
        self.random = random
        self.toHost = toHost
    }

    private var name: String { "\(device.name), page \(life)" }
    private var now: Int64 { offset + simulation.now.milliseconds }

    func start() {
        later(.milliseconds(5), .milliseconds(400)) { [self] in
            hasSaidHello = true
            say("hello", #""runtime":"1.0","protocols":[1]"#)
        }
    }

    /// The app takes the web view away, or has died.
    func close() { isOpen = false }

    private func later(_ from: Duration, _ to: Duration, _ work: @escaping () -> Void) {
        let isLate = device.pageTrouble == .pageLate && random.chance(0.3)
        let wait = isLate ? random.spread(.seconds(1), .seconds(45)) : random.spread(from, to)
        if isLate { simulation.met(.pageLate) }
        simulation.after(wait) { [self] in
            guard isOpen, !isHung else { return }
            work()
        }
    }

    // MARK: Faults

    /// - Returns: whether it goes on.
    private func survives() -> Bool {
        guard isOpen, !isHung else { return false }
        if device.pageTrouble == .pageDies, random.chance(0.08) {
            simulation.met(.pageDies)
            die()
        } else if device.pageTrouble == .pageHangs, random.chance(0.08) {
            simulation.met(.pageHangs)
            simulation.trace(name, "hangs")
            isHung = true
        }
        return isOpen && !isHung
    }

    private func die() {
        simulation.trace(name, "dies")
        isOpen = false
        carry(nil)
    }

    // MARK: What it says

    private func say(_ type: String, _ members: String) {
        guard survives() else { return }
        number += 1
        simulation.trace(name, "says \(type) {\(members)}")
        var said = FormsSaid(session: session, number: number, type: type, members: members)
        if device.pageTrouble == .pageForges, random.chance(0.1) {
            simulation.met(.pageForges)
            switch random.index(6) {
            case 0: carry(said)  // twice
            case 1: number += 1  // the next will be missing one
            case 2: carry(FormsSaid(session: "0", number: number, type: type, members: members))
            case 3: carry(FormsSaid(session: session, number: number, type: "{", members: "\""))
            case 4:
                carry(
                    FormsSaid(
                        session: session, number: number, type: "nonsense", members: "\"a\":1"))
                number += 1
                said.number = number
            default:
                carry(FormsSaid(session: "0", number: 1, type: "hello", members: members))
            }
        }
        carry(said)
        // And after it, so that the host may hear of a page that is gone.
        _ = survives()
    }

    /// Messages arrive in the order in which they were said.
    private func carry(_ said: FormsSaid?) {
        let isLate = device.pageTrouble == .pageLate && random.chance(0.2)
        let wait =
            isLate
            ? random.spread(.seconds(1), .seconds(20))
            : random.spread(.microseconds(100), .milliseconds(20))
        saidAt = max(saidAt, simulation.now + wait)
        toHost(self, said)
    }

    /// When what was said last reaches the host.
    var arrival: Duration { max(saidAt - simulation.now, .zero) }

    // MARK: What it hears

    /// Messages arrive in the order in which they were sent.
    func send(_ text: [UInt8]) {
        heardAt = max(
            heardAt, simulation.now + random.spread(.microseconds(100), .milliseconds(20)))
        simulation.after(heardAt - simulation.now) { [self] in
            guard survives() else { return }
            guard let message = try? JSONSerialization.jsonObject(with: Data(text)),
                let message = message as? [String: Any], let type = message["type"] as? String
            else { return device.witness.violated(.accounted, "the host says what is no JSON") }
            simulation.trace(name, "hears \(type)")
            heard(type, message)
            flush()
        }
    }

    private func heard(_ type: String, _ message: [String: Any]) {
        switch type {
        case "welcome":
            isGreeted = true
            setClock(message["now"])
        case "catalogue":
            guard let version = message["version"] as? String else { return }
            coming = device.catalogues[version]
            advance()
        case "events": came(message["events"] as? [[String: Any]] ?? [])
        case "granted": granted(message)
        case "denied": denied(message)
        case "recorded", "refused":
            guard let id = message["id"] as? String, id == unanswered else { return }
            unanswered = nil
            if type == "recorded" { device.witness.actionRecorded(id) }
            leave("button")
        default: break
        }
    }

    private func setClock(_ now: Any?) {
        guard let now = now as? Int64 else { return }
        offset = now - simulation.now.milliseconds
    }

    private func came(_ events: [[String: Any]]) {
        for event in events {
            guard let text = event["id"] as? String, let id = try? EntryID(text),
                let name = event["name"] as? String, let at = event["at"] as? Int64
            else { return device.witness.violated(.accounted, "an event cannot be read") }
            setClock(event["now"])
            device.witness.given(id, to: self, isReady: isGreeted && catalogue != nil)
            guard index(of: id) == nil else { continue }
            inHand.append(Item(id: id, name: name, at: at))
            if catalogue != nil { evaluate(id) }
        }
        sayWhatWaits(events.compactMap { $0["id"] as? String })
        advance()
    }

    private func sayWhatWaits(_ ids: [String]) {
        let waiting = inHand.filter { $0.form != nil && ids.contains($0.id.text) }
        guard !waiting.isEmpty else { return }
        say("waiting", #""events":[\#(waiting.map { "\"\($0.id)\"" }.joined(separator: ","))]"#)
    }

    private func index(of id: EntryID) -> Int? { inHand.firstIndex { $0.id == id } }

    // MARK: Events

    private func evaluate(_ id: EntryID) {
        guard let index = index(of: id), let catalogue else { return }
        while inHand[index].next < catalogue.forms.count {
            let form = catalogue.forms[inHand[index].next]
            inHand[index].next += 1
            let trigger = form.triggers.first { $0.event == inHand[index].name }
            guard let trigger else { continue }
            inHand[index].form = form
            let due = inHand[index].at + trigger.delay * 1_000
            return due > now ? delay(index, until: due) : enqueue(id)
        }
        end(id, inHand[index].outcome ?? #""result":"noMatch""#)
    }

    private func delay(_ index: Int, until due: Int64) {
        inHand[index].timer += 1
        let (id, timer) = (inHand[index].id, inHand[index].timer)
        let wait = Duration.milliseconds(due - now)
        later(wait, wait) { [self] in
            guard let index = self.index(of: id), inHand[index].timer == timer else { return }
            if due > now { return delay(index, until: due) }
            enqueue(id)
            advance()
            flush()
        }
    }

    private func enqueue(_ id: EntryID) {
        func priority(_ id: EntryID) -> Int {
            index(of: id).flatMap { inHand[$0].form?.priority } ?? 0
        }
        let place = waiting.firstIndex { priority($0) < priority(id) } ?? waiting.count
        waiting.insert(id, at: place)
        guard waiting.count > 16, let last = waiting.popLast() else { return }
        end(last, #""result":"suppressed","reason":"queueFull""#)
    }

    private func end(_ id: EntryID, _ outcome: String) {
        inHand.removeAll { $0.id == id }
        handled.append(#"{"id":"\#(id)",\#(outcome)}"#)
    }

    private func flush() {
        guard !handled.isEmpty else { return }
        let events = handled.joined(separator: ",")
        handled = []
        say("handled", #""events":[\#(events)]"#)
    }

    // MARK: The screen

    private func advance() {
        guard isOpen, !isHung, screen == nil else { return }
        if coming != nil { takeOver() }
        while screen == nil, !waiting.isEmpty {
            guard let index = index(of: waiting.removeFirst()), let form = inHand[index].form
            else { continue }
            screen = Screen(item: inHand[index], form: form)
            say("showing", #""event":"\#(inHand[index].id)","form":"\#(form.id)""#)
        }
    }

    private func takeOver() {
        guard let coming else { return }
        catalogue = coming
        self.coming = nil
        waiting = []
        hasCatalogue = true
        say("formsData", #""version":"\#(coming.text.version)""#)
        for index in inHand.indices {
            inHand[index].next = 0
            inHand[index].outcome = nil
            inHand[index].form = nil
            inHand[index].timer += 1
        }
        for id in inHand.map(\.id) { evaluate(id) }
    }

    private func granted(_ message: [String: Any]) {
        guard let screen, screen.phase == .asking, let showing = message["showing"] as? String,
            message["event"] as? String == screen.item.id.text,
            message["form"] as? String == screen.form.id
        else { return }
        self.screen?.phase = .appearing
        self.screen?.showing = showing
        say("formWillAppear", members(of: screen, showing))
        later(.milliseconds(5), .milliseconds(60)) { [self] in appears(showing) }
    }

    private func appears(_ showing: String) {
        guard let screen, screen.showing == showing, screen.phase == .appearing else { return }
        self.screen?.phase = .shown
        inHand.removeAll { $0.id == screen.item.id }
        device.witness.appeared(screen.item.id, screen.form.id, showing, on: self)
        say("formDidAppear", members(of: screen, showing))
        guard random.chance(0.4) else {
            return later(.milliseconds(100), .seconds(8)) { [self] in leave("button") }
        }
        later(.milliseconds(100), .seconds(4)) { [self] in act(screen, showing) }
    }

    private func members(of screen: Screen, _ showing: String) -> String {
        #""event":"\#(screen.item.id)","form":"\#(screen.form.id)","showing":"\#(showing)""#
    }

    private func act(_ screen: Screen, _ showing: String) {
        let id = random.hexadecimal()
        unanswered = id
        let names = #""form":"\#(screen.form.id)","showing":"\#(showing)","id":"\#(id)""#
        device.witness.actionAsked(id)
        switch random.index(3) {
        case 0: say("submit", names + #","answers":{"email":"a@b.example"}"#)
        case 1: say("action", names + #","action":{"type":"deepLink","url":"app://goal/1"}"#)
        default: say("action", names + #","action":{"type":"emit","name":"checkout"}"#)
        }
        // A person does not wait for ever.
        later(.seconds(20), .seconds(21)) { [self] in
            if unanswered == id { leave("close") }
        }
    }

    private func denied(_ message: [String: Any]) {
        guard let screen, screen.phase == .asking,
            message["event"] as? String == screen.item.id.text,
            message["form"] as? String == screen.form.id, let reason = message["reason"] as? String
        else { return }
        self.screen = nil
        let id = screen.item.id
        let outcome = #""result":"suppressed","form":"\#(screen.form.id)","reason":"\#(reason)""#
        if reason == "settled" {
            inHand.removeAll { $0.id == id }
        } else if reason == "overallFrequency" {
            end(id, outcome)
        } else if let index = index(of: id) {
            inHand[index].outcome = outcome
            inHand[index].form = nil
            evaluate(id)
            sayWhatWaits([id.text])
        }
        advance()
    }

    private func leave(_ how: String) {
        guard isOpen, !isHung, let screen, screen.phase == .shown else { return }
        self.screen = nil
        unanswered = nil
        say(
            "formDidDismiss",
            #""form":"\#(screen.form.id)","showing":"\#(screen.showing)","how":"\#(how)""#)
        advance()
        flush()
    }
}

/// What a page says, not yet made a text of.
struct FormsSaid {
    var session: String
    var number: Int64
    var type: String
    var members: String

    var text: [UInt8] {
        Array(#"{"type":"\#(type)","session":"\#(session)","n":\#(number),\#(members)}"#.utf8)
    }
}

extension SeededRandom {
    /// 32 hexadecimal digits.
    mutating func hexadecimal() -> String {
        [next(), next()].map { value in
            let text = String(value, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined()
    }
}
