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
    let simulation: Simulation
    /// Whose checker remembers every page: neither may hold the other.
    unowned let device: FormsDevice
    /// Gets each message and, with nil, the end of the page; in order.
    private let toHost: (SimulatedPage, FormsSaid?) -> Void
    var random: SeededRandom
    var isOpen = true
    var isHung = false
    private(set) var hasSaidHello = false
    var hasCatalogue = false
    private var isGreeted = false
    /// Its runtime is of a time in which pages kept every event that had to wait.
    private let isOld: Bool
    private var number: Int64 = 0
    private var offset: Int64 = 0
    var catalogue: SimulatedCatalogue?
    var coming: SimulatedCatalogue?
    /// In the order of arrival.
    var inFlight: [Item] = []
    var waiting: [EntryID] = []
    var screen: Screen?
    var handled: [String] = []
    var postponed: [String] = []
    var mayPostpone: Bool { !isOld }
    var unanswered: String?
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
    var now: Int64 { offset + simulation.now.milliseconds }

    func start() {
        later(.milliseconds(5), .milliseconds(400)) { [self] in
            hasSaidHello = true
            let protocols = isOld ? "[1]" : "[1,2]"
            say("hello", #""runtime":"1.1","protocols":\#(protocols)"#)
        }
    }

    /// The app takes the web view away, or has died.
    func close() { isOpen = false }

    func later(_ from: Duration, _ to: Duration, _ work: @escaping () -> Void) {
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

    func say(_ type: String, _ members: String) {
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

    func sayWhatWaits(_ ids: [String]) {
        let waiting = inFlight.filter { $0.form != nil && ids.contains($0.id.text) }
        guard !waiting.isEmpty else { return }
        say("waiting", #""events":[\#(waiting.map { "\"\($0.id)\"" }.joined(separator: ","))]"#)
    }

    func index(of id: EntryID) -> Int? { inFlight.firstIndex { $0.id == id } }
}
