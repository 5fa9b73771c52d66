import Foundation
import RepriseCore
import RepriseWire

/// What the page decides: events in, at most one form on the screen.
struct ScriptedRuntime {
    /// An event in the page's hands.
    fileprivate struct Item {
        let id: String
        let name: String
        let properties: CatalogueValue
        let at: Double
        var next = 0
        var outcome: Outcome?
        var form: ScriptedCatalogue.Form?
        var isTold = false
    }

    fileprivate struct Outcome {
        var result: String
        var form: String?
        var reason: String?
    }

    struct Screen {
        enum Phase { case asking, shown }
        fileprivate let item: Item
        let form: ScriptedCatalogue.Form
        var phase = Phase.asking
        var showing = ""
        var view: ScriptedScreen?
        /// Of each action that is not recorded yet, by button and place: however often it is tried.
        var ids: [[Int]: String] = [:]
        /// The actions that are recorded, of buttons whose other actions are not.
        var recorded: Set<[Int]> = []
        /// The button whose actions are under way, and which of them.
        var pressed: (button: Int, action: Int)?
    }

    // As in forms.js.
    private static let eventsInHand = 1_024
    private static let waitingForScreen = 16
    private static let outcomesInMessage = 256
    private static let heldDelay = 5_000.0
    private static let submitBytes = 262_144

    var isOpen = true
    var isVisible = false
    var uptime: Duration = .zero
    var screen: Screen?
    var timers: [String: Task<Void, Never>] = [:]
    private let session: String
    private var number = 0
    private var said: [[UInt8]] = []
    private var delays: [(Duration, String)] = []
    private var isGreeted = false
    private var mayPostpone = false
    private var offset = 0.0
    private var catalogue: ScriptedCatalogue?
    private var coming: ScriptedCatalogue?
    /// In order of arrival.
    private var inHand: [Item] = []
    /// The ids of those that wait for the screen.
    private var waiting: [String] = []
    private var outcomes: [CatalogueValue] = []
    private var postponed: [CatalogueValue] = []
    private var unanswered: Set<String> = []

    init(session: String) { self.session = session }

    /// The form, once it has appeared.
    var shown: ScriptedForm? { screen?.phase == .shown ? screen?.view?.shown : nil }

    private var elapsed: Double { uptime / .milliseconds(1) }
    private var now: Double { offset + elapsed }

    // MARK: What it says

    private mutating func say(
        _ type: String, _ members: [String: CatalogueValue] = [:], atMost bytes: Int = 65_536
    ) -> Bool {
        var message = members
        message["type"] = .string(type)
        message["session"] = .string(session)
        message["n"] = .number(Double(number + 1))
        guard let text = try? JSONEncoder().encode(CatalogueValue.object(message)),
            text.count <= bytes
        else { return false }
        number += 1
        said.append(Array(text))
        return true
    }

    mutating func begin() {
        _ = say(
            "hello",
            ["runtime": .string("scripted"), "protocols": .array([.number(1), .number(2)])])
    }

    mutating func takeSaid() -> [[UInt8]] {
        defer { said = [] }
        return said
    }

    mutating func takeDelays() -> [(Duration, String)] {
        defer { delays = [] }
        return delays
    }

    mutating func takeTimers() -> [Task<Void, Never>] {
        defer { timers = [:] }
        return Array(timers.values)
    }

    private mutating func fault(_ reason: String, _ about: String) {
        _ = say("fault", ["reason": .string(reason), "about": .string(String(about.prefix(64)))])
    }

    // MARK: What the host says

    mutating func heard(_ bytes: [UInt8]) {
        guard let message = try? JSONDecoder().decode(CatalogueValue.self, from: Data(bytes)),
            case .object = message
        else { return fault("malformed", "") }
        let type = message["type"]?.text ?? ""
        guard isGreeted || type == "welcome" || type == "incompatible" else {
            return fault("unexpected", type)
        }
        switch type {
        case "welcome": welcome(message)
        case "incompatible": break
        case "catalogue": catalogueCame(message)
        case "events": eventsCame(message)
        case "granted": granted(message)
        case "denied": denied(message)
        case "recorded": answered(message["id"]?.text ?? "", isRecorded: true)
        case "refused": answered(message["id"]?.text ?? "", isRecorded: false)
        case "dismiss": dismissAll()
        default: fault("unknownType", type)
        }
    }

    private mutating func setClock(_ value: CatalogueValue?) {
        if let now = value?.number { offset = now - elapsed }
    }

    private mutating func welcome(_ message: CatalogueValue) {
        let version = message["protocol"]?.number
        guard version == 1 || version == 2 else { return fault("protocol", "") }
        mayPostpone = version == 2
        isGreeted = true
        setClock(message["now"])
    }

    private mutating func catalogueCame(_ message: CatalogueValue) {
        guard let value = message["catalogue"] else { return }
        if case .null = value { return }
        let version = message["version"] ?? .null
        do {
            coming = try ScriptedCatalogue(value, version: version.text)
        } catch {
            let refusal = error as? ScriptedCatalogue.Refusal
            _ = say(
                "catalogueRefused",
                [
                    "version": version, "reason": .string(refusal?.reason ?? "\(error)"),
                    "path": .string(refusal?.pointer ?? ""),
                ])
        }
        advance()
    }

    private mutating func eventsCame(_ message: CatalogueValue) {
        guard let events = message["events"]?.array else { return fault("malformed", "events") }
        for event in events.prefix(64) {
            guard let id = event["id"]?.text, let name = event["name"]?.text,
                let at = event["at"]?.number
            else {
                fault("malformed", "event")
                continue
            }
            setClock(event["now"])
            guard !inHand.contains(where: { $0.id == id }) else { continue }
            let properties = event["properties"] ?? .null
            inHand.append(Item(id: id, name: name, properties: properties, at: at))
            guard case .object = properties else {
                end(id, Outcome(result: "error", reason: "properties"))
                continue
            }
            if inHand.count > Self.eventsInHand {
                end(id, Outcome(result: "suppressed", reason: "queueFull"))
            } else if catalogue != nil {
                evaluate(id)
            }
        }
        advance()
    }

    private mutating func granted(_ message: CatalogueValue) {
        guard let asked = screen, asked.phase == .asking,
            message["event"]?.text == asked.item.id, message["form"]?.text == asked.form.id
        else { return fault("notAsked", "granted") }
        let showing = message["showing"]?.text ?? ""
        screen?.showing = showing
        screen?.view = ScriptedScreen(asked.form)
        let members: [String: CatalogueValue] = [
            "event": .string(asked.item.id), "form": .string(asked.form.id),
            "showing": .string(showing),
        ]
        _ = say("formWillAppear", members)
        screen?.phase = .shown
        inHand.removeAll { $0.id == asked.item.id }
        _ = say("formDidAppear", members)
    }

    private mutating func denied(_ message: CatalogueValue) {
        guard let asked = screen, asked.phase == .asking,
            message["event"]?.text == asked.item.id, message["form"]?.text == asked.form.id
        else { return fault("notAsked", "denied") }
        screen = nil
        let id = asked.item.id
        let reason = message["reason"]?.text ?? ""
        let outcome = Outcome(result: "suppressed", form: asked.form.id, reason: reason)
        if reason == "settled" {
            inHand.removeAll { $0.id == id }
        } else if reason == "overallFrequency" {
            end(id, outcome)
        } else if let index = index(of: id) {
            inHand[index].outcome = outcome
            evaluate(id)
        }
        advance()
    }

    private mutating func dismissAll() {
        for timer in takeTimers() { timer.cancel() }
        (inHand, waiting, outcomes, postponed) = ([], [], [], [])
        if screen?.phase == .asking { screen = nil }
        advance()
        if screen != nil { leave("host") }
    }

    // MARK: Events

    private func index(of id: String) -> Int? { inHand.firstIndex { $0.id == id } }

    private mutating func evaluate(_ id: String) {
        guard let catalogue, let index = index(of: id) else { return }
        let candidates = catalogue.candidates(for: inHand[index].name)
        while inHand[index].next < candidates.count {
            let item = inHand[index]
            let (form, trigger) = (candidates[item.next].form, candidates[item.next].trigger)
            inHand[index].next += 1
            if let tried = item.outcome?.form, tried == form.id { continue }
            guard catalogue.matches(trigger, item.properties) else { continue }
            let due = max(now, item.at + 1_000 * (trigger.delay ?? 0))
            guard due >= form.window?.from ?? -.infinity, due < form.window?.until ?? .infinity
            else {
                if item.outcome == nil {
                    inHand[index].outcome = Outcome(
                        result: "noMatch", form: form.id, reason: "window")
                }
                continue
            }
            inHand[index].form = form
            return due > now ? delay(index, until: due) : enqueue(id)
        }
        end(id, inHand[index].outcome ?? Outcome(result: "noMatch"))
    }

    private mutating func delay(_ index: Int, until due: Double) {
        let id = inHand[index].id
        if mayPostpone, due - now > Self.heldDelay {
            inHand.remove(at: index)
            postponed.append(.object(["id": .string(id), "at": .number(due.rounded(.up))]))
            return
        }
        timers.removeValue(forKey: id)?.cancel()
        delays.append((uptime + .milliseconds(Int64((due - now).rounded(.up))), id))
    }

    mutating func delayEnded(_ id: String) {
        timers[id] = nil
        guard index(of: id) != nil else { return }
        enqueue(id)
        advance()
    }

    private mutating func enqueue(_ id: String) {
        func priority(_ id: String) -> Int {
            index(of: id).flatMap { inHand[$0].form?.priority } ?? 0
        }
        let place = waiting.firstIndex { priority($0) < priority(id) } ?? waiting.count
        waiting.insert(id, at: place)
        guard waiting.count > Self.waitingForScreen, let last = waiting.popLast() else { return }
        let form = index(of: last).flatMap { inHand[$0].form?.id }
        end(last, Outcome(result: "suppressed", form: form, reason: "queueFull"))
    }

    private mutating func end(_ id: String, _ outcome: Outcome) {
        inHand.removeAll { $0.id == id }
        var members: [String: CatalogueValue] = [
            "id": .string(id), "result": .string(outcome.result),
        ]
        members["form"] = outcome.form.map { .string($0) }
        members["reason"] = outcome.reason.map { .string($0) }
        outcomes.append(.object(members))
    }

    /// Tells the host what became of events, and which take their time.
    mutating func flush() {
        var told: [CatalogueValue] = []
        for index in inHand.indices
        where !inHand[index].isTold && inHand[index].id != screen?.item.id {
            inHand[index].isTold = true
            told.append(.string(inHand[index].id))
        }
        let parts = [("handled", outcomes), ("later", postponed), ("waiting", told)]
        (outcomes, postponed) = ([], [])
        for (type, all) in parts {
            for start in stride(from: 0, to: all.count, by: Self.outcomesInMessage) {
                let some = all[start..<min(all.count, start + Self.outcomesInMessage)]
                _ = say(type, ["events": .array(Array(some))])
            }
        }
    }

    // MARK: The screen

    private mutating func advance() {
        guard screen == nil else { return }
        if coming != nil { takeOver() }
        while screen == nil, !waiting.isEmpty {
            let id = waiting.removeFirst()
            guard let index = index(of: id), let form = inHand[index].form else { continue }
            if now >= form.window?.until ?? .infinity {
                inHand[index].outcome = Outcome(result: "expired", form: form.id, reason: "window")
                evaluate(id)
            } else {
                inHand[index].isTold = false
                screen = Screen(item: inHand[index], form: form)
                _ = say("showing", ["event": .string(id), "form": .string(form.id)])
            }
        }
    }

    private mutating func takeOver() {
        guard let coming else { return }
        catalogue = coming
        self.coming = nil
        waiting = []
        _ = say("formsData", ["version": .string(coming.version)])
        for timer in takeTimers() { timer.cancel() }
        for index in inHand.indices { (inHand[index].next, inHand[index].outcome) = (0, nil) }
        for id in inHand.map(\.id) { evaluate(id) }
    }

    private mutating func leave(_ how: String) {
        guard let left = screen, left.phase == .shown else { return }
        screen = nil
        _ = say(
            "formDidDismiss",
            [
                "form": .string(left.form.id), "showing": .string(left.showing),
                "how": .string(how),
            ])
        advance()
    }

    // MARK: A person

    mutating func perform(_ effect: ScriptedScreen.Effect) {
        switch effect {
        case .nothing: break
        case .end(let how): leave(how)
        case .press(let button): pressed(button)
        }
    }

    private mutating func pressed(_ button: Int) {
        guard let current = screen, current.pressed == nil,
            let actions = current.view?.actions(of: button)
        else { return }
        let submits = actions.contains { $0.type == "submit" }
        if submits, screen?.view?.check() != true { return }
        screen?.view?.report(submits ? "Sending…" : "", isBusy: true)
        screen?.pressed = (button, 0)
        goOn()
    }

    /// The next action of the pressed button: none begins before the one before it is durable.
    private mutating func goOn() {
        guard let current = screen, let (button, place) = current.pressed, let view = current.view
        else { return }
        let actions = view.actions(of: button)
        guard place < actions.count else {
            screen?.pressed = nil
            screen?.recorded = current.recorded.filter { $0.first != button }
            screen?.view?.report("", isBusy: false)
            if actions.contains(where: { $0.type == "submit" }) { return leave("submitted") }
            return actions.contains { $0.type == "dismiss" } ? leave("button") : ()
        }
        guard actions[place].type != "dismiss", !current.recorded.contains([button, place]) else {
            screen?.pressed = (button, place + 1)
            return goOn()
        }
        let id = current.ids[[button, place]] ?? EntryID.random().text
        screen?.ids[[button, place]] = id
        var members: [String: CatalogueValue] = [
            "form": .string(current.form.id), "showing": .string(current.showing),
            "id": .string(id),
        ]
        let type = actions[place].type == "submit" ? "submit" : "action"
        if type == "submit" {
            members["answers"] = view.answers
        } else {
            members["action"] = actions[place].value
        }
        if say(type, members, atMost: Self.submitBytes) {
            unanswered.insert(id)
        } else {
            screen?.pressed = nil
            screen?.view?.report("Your answers are too long to be sent.", isBusy: false)
        }
    }

    private mutating func answered(_ id: String, isRecorded: Bool) {
        guard unanswered.remove(id) != nil else {
            return fault("notAsked", isRecorded ? "recorded" : "refused")
        }
        // A form that was closed meanwhile asks for nothing more.
        guard let (button, place) = screen?.pressed, screen?.ids[[button, place]] == id else {
            return
        }
        if isRecorded {
            screen?.ids[[button, place]] = nil
            screen?.recorded.insert([button, place])
            screen?.pressed = (button, place + 1)
            goOn()
        } else {
            screen?.pressed = nil
            screen?.view?.report("That did not work. Please try again.", isBusy: false)
        }
    }
}

extension ScriptedCatalogue.Action {
    fileprivate var value: CatalogueValue {
        var members: [String: CatalogueValue] = ["type": .string(type)]
        members["url"] = url.map { .string($0) }
        members["name"] = name.map { .string($0) }
        if type == "emit" { members["properties"] = properties ?? .object([:]) }
        return .object(members)
    }
}
