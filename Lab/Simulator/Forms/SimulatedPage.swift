import RepriseCore
import RepriseForms
import RepriseWire

/// The page of one web view, which does what forms.js does, and then some: it dies, hangs, is late,
/// and says what it should not.
final class SimulatedPage {
    /// An event in flight.
    struct Item {
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

    struct Screen {
        enum Phase { case asking, appearing, shown }
        let item: Item
        let form: SimulatedCatalogue.Form
        var phase = Phase.asking
        var showing = ""
    }

    let life: Int
    let session: String
    private let simulation: Simulation
    /// Whose checker remembers every page: neither may hold the other.
    unowned let device: FormsDevice
    /// Gets each message and, with nil, the end of the page; in order.
    private let toHost: (SimulatedPage, FormsSaid?) -> Void
    private var random: SeededRandom
    private var isOpen = true
    var isHung = false
    private(set) var hasSaidHello = false
    var hasCatalogue = false
    private var isGreeted = false
    /// Its runtime is of a time in which pages kept every event that had to wait.
    private let isOld: Bool
    private var number: Int64 = 0
    private var offset: Int64 = 0
    private var catalogue: SimulatedCatalogue?
    private var coming: SimulatedCatalogue?
    /// In the order of arrival.
    private var inFlight: [Item] = []
    private var waiting: [EntryID] = []
    private var screen: Screen?
    private var handled: [String] = []
    var postponed: [String] = []
    private var mayPostpone: Bool { !isOld }
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
        var random = random
        isOld = random.chance(0.2)
        self.random = random
        self.toHost = toHost
    }

    private var name: String { "\(device.name), page \(life)" }
    private var now: Int64 { offset + simulation.now.milliseconds }

    func start() {
        later(.milliseconds(5), .milliseconds(400)) { [self] in
            hasSaidHello = true
            let protocols = isOld ? "[1]" : "[1,2]"
            say("hello", #""runtime":"1.1","protocols":\#(protocols)"#)
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
            do {
                try JSONMembers.read(text) { message in
                    let type = try message.string("type")
                    simulation.trace(name, "hears \(type)")
                    heard(type, message)
                }
            } catch {
                return device.checker.violated(.accounted, "the host says what is no JSON")
            }
            flush()
        }
    }

    private func heard(_ type: String, _ message: JSONMembers) {
        switch type {
        case "welcome":
            isGreeted = true
            setClock(try? message.integer("now"))
        case "catalogue":
            guard let version = try? message.string("version") else { return }
            coming = SimulatedCatalogue.all[version]
            advance()
        case "events": came((try? message.objects("events", limit: 64)) ?? [])
        case "granted": granted(message)
        case "denied": denied(message)
        case "recorded", "refused":
            guard let id = try? message.string("id"), id == unanswered else { return }
            unanswered = nil
            if type == "recorded" { device.checker.actionRecorded(id) }
            leave("button")
        default: break
        }
    }

    private func setClock(_ now: Int64?) {
        guard let now else { return }
        offset = now - simulation.now.milliseconds
    }

    private func came(_ events: [JSONMembers]) {
        var ids: [String] = []
        for event in events {
            guard let text = try? event.string("id"), let id = try? EntryID(text),
                let name = try? event.string("name"), let at = try? event.integer("at")
            else { return device.checker.violated(.accounted, "an event cannot be read") }
            ids.append(text)
            setClock(try? event.integer("now"))
            device.checker.given(id, to: self, isReady: isGreeted && catalogue != nil)
            guard index(of: id) == nil else { continue }
            inFlight.append(Item(id: id, name: name, at: at))
            if catalogue != nil { evaluate(id) }
        }
        sayWhatWaits(ids)
        advance()
    }

    private func sayWhatWaits(_ ids: [String]) {
        let waiting = inFlight.filter { $0.form != nil && ids.contains($0.id.text) }
        guard !waiting.isEmpty else { return }
        say("waiting", #""events":[\#(waiting.map { "\"\($0.id)\"" }.joined(separator: ","))]"#)
    }

    private func index(of id: EntryID) -> Int? { inFlight.firstIndex { $0.id == id } }
}

/// At most one form on the screen, and the person before it.
extension SimulatedPage {
    private func advance() {
        guard isOpen, !isHung, screen == nil else { return }
        if coming != nil { takeOver() }
        while screen == nil, !waiting.isEmpty {
            guard let index = index(of: waiting.removeFirst()), let form = inFlight[index].form
            else { continue }
            screen = Screen(item: inFlight[index], form: form)
            say("showing", #""event":"\#(inFlight[index].id)","form":"\#(form.id)""#)
        }
    }

    private func takeOver() {
        guard let coming else { return }
        catalogue = coming
        self.coming = nil
        waiting = []
        hasCatalogue = true
        say("formsData", #""version":"\#(coming.text.version)""#)
        for index in inFlight.indices {
            inFlight[index].next = 0
            inFlight[index].outcome = nil
            inFlight[index].form = nil
            inFlight[index].timer += 1
        }
        for id in inFlight.map(\.id) { evaluate(id) }
    }

    private func granted(_ message: JSONMembers) {
        guard let screen, screen.phase == .asking, let showing = try? message.string("showing"),
            (try? message.string("event")) == screen.item.id.text,
            (try? message.string("form")) == screen.form.id
        else { return }
        self.screen?.phase = .appearing
        self.screen?.showing = showing
        say("formWillAppear", members(of: screen, showing))
        later(.milliseconds(5), .milliseconds(60)) { [self] in appears(showing) }
    }

    private func appears(_ showing: String) {
        guard let screen, screen.showing == showing, screen.phase == .appearing else { return }
        self.screen?.phase = .shown
        inFlight.removeAll { $0.id == screen.item.id }
        device.checker.appeared(screen.item.id, screen.form.id, showing, on: self)
        say("formDidAppear", members(of: screen, showing))
        guard random.chance(0.4) else {
            return later(.milliseconds(100), .seconds(8)) { [self] in leave("button") }
        }
        later(.milliseconds(100), .seconds(4)) { [self] in act(screen, showing) }
    }

    func members(of screen: Screen, _ showing: String) -> String {
        #""event":"\#(screen.item.id)","form":"\#(screen.form.id)","showing":"\#(showing)""#
    }

    private func act(_ screen: Screen, _ showing: String) {
        let id = random.hexadecimal()
        unanswered = id
        let names = #""form":"\#(screen.form.id)","showing":"\#(showing)","id":"\#(id)""#
        device.checker.actionAsked(id)
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

    private func denied(_ message: JSONMembers) {
        guard let screen, screen.phase == .asking,
            (try? message.string("event")) == screen.item.id.text,
            (try? message.string("form")) == screen.form.id,
            let reason = try? message.string("reason")
        else { return }
        self.screen = nil
        let id = screen.item.id
        let outcome = #""result":"suppressed","form":"\#(screen.form.id)","reason":"\#(reason)""#
        if reason == "settled" {
            inFlight.removeAll { $0.id == id }
        } else if reason == "overallFrequency" {
            end(id, outcome)
        } else if let index = index(of: id) {
            inFlight[index].outcome = outcome
            inFlight[index].form = nil
            evaluate(id)
            sayWhatWaits([id.text])
        }
        advance()
    }

    func leave(_ how: String) {
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

/// Events in the hand of a page: evaluated, delayed, given back, ended.
extension SimulatedPage {
    /// In milliseconds: as in forms.js.
    private static let heldDelay: Int64 = 5_000

    func evaluate(_ id: EntryID) {
        guard let index = index(of: id), let catalogue else { return }
        while inFlight[index].next < catalogue.forms.count {
            let form = catalogue.forms[inFlight[index].next]
            inFlight[index].next += 1
            let trigger = form.triggers.first { $0.event == inFlight[index].name }
            guard let trigger else { continue }
            inFlight[index].form = form
            let due = inFlight[index].at + trigger.delay * 1_000
            if mayPostpone, due - now > Self.heldDelay { return postpone(id, until: due) }
            return due > now ? delay(index, until: due) : enqueue(id)
        }
        end(id, inFlight[index].outcome ?? #""result":"noMatch""#)
    }

    /// Who has long to wait takes no place here: the host keeps it, and hands it over again.
    private func postpone(_ id: EntryID, until due: Int64) {
        inFlight.removeAll { $0.id == id }
        postponed.append(#"{"id":"\#(id)","at":\#(due)}"#)
        device.checker.postponed(id, by: .milliseconds(due - now), on: self)
    }

    private func delay(_ index: Int, until due: Int64) {
        inFlight[index].timer += 1
        let (id, timer) = (inFlight[index].id, inFlight[index].timer)
        let wait = Duration.milliseconds(due - now)
        later(wait, wait) { [self] in
            guard let index = self.index(of: id), inFlight[index].timer == timer else { return }
            if due > now { return delay(index, until: due) }
            enqueue(id)
            advance()
            flush()
        }
    }

    private func enqueue(_ id: EntryID) {
        func priority(_ id: EntryID) -> Int {
            index(of: id).flatMap { inFlight[$0].form?.priority } ?? 0
        }
        let place = waiting.firstIndex { priority($0) < priority(id) } ?? waiting.count
        waiting.insert(id, at: place)
        guard waiting.count > 16, let last = waiting.popLast() else { return }
        end(last, #""result":"suppressed","reason":"queueFull""#)
    }

    func end(_ id: EntryID, _ outcome: String) {
        inFlight.removeAll { $0.id == id }
        handled.append(#"{"id":"\#(id)",\#(outcome)}"#)
    }

    private func flush() {
        if !handled.isEmpty {
            let events = handled.joined(separator: ",")
            handled = []
            say("handled", #""events":[\#(events)]"#)
        }
        guard !postponed.isEmpty else { return }
        let events = postponed.joined(separator: ",")
        postponed = []
        say("later", #""events":[\#(events)]"#)
    }
}
