import DequeModule
import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseWire

/// In virtual time what `FormsDriver` is in real time: the shipping machine, one input after the
/// other, each with all that follows from it.
final class SimulatedForms {
    enum Input {
        case delivery([SimulatedDelivery])
        case opened(SimulatedPage)
        case failed(life: Int)
        case said(SimulatedPage, FormsSaid)
        case lost(life: Int)
        case catalogue(company: String, FormsCatalogue)
        case alarm
        case changed(FormsChange, (_ isDone: Bool) -> Void)
        case decided(question: Int, EntryID, form: String, FormsDecision)
    }

    private let simulation: Simulation
    private let device: FormsDevice
    private let process: SimulatedProcess
    private let journal: SimulatedJournal
    private let life: Int
    private var random: SeededRandom
    private var app: SeededRandom
    var machine: FormsMachine
    private var inputs: Deque<Input> = []
    private var isBusy = false
    private(set) var page: SimulatedPage?
    private var deliveries: [EntryID: SimulatedDelivery] = [:]
    private var alarm: Duration?
    /// How many messages of this web view's page were taken.
    private var taken: Int64 = 0

    init(_ simulation: Simulation, _ device: FormsDevice, journal: SimulatedJournal) {
        self.simulation = simulation
        self.device = device
        self.journal = journal
        process = device.process
        life = process.life
        random = simulation.random("forms of \(process.name) \(life)")
        app = simulation.random("app's word of \(process.name) \(life)")
        machine = FormsMachine(events: FormsWorld.events)
    }

    /// The page hangs, with what the host believes to be a form on the screen: who waits for it
    /// waits for ever.
    var isStuck: Bool { page?.isHung == true && machine.onScreen != nil }

    private var isAlive: Bool { process.life == life && process.state != .dead }
    private var now: Duration { process.clock.uptime() }
    private var wall: WallTime { process.clock.wall() }

    /// The app runs the feature.
    func run() {
        journal.handleBatches(of: FormsEvent.family) { [weak self] batch in
            guard let self else { return }
            device.checker.dispatched(batch.map(\.entry), page: page, at: wall)
            put(.delivery(batch))
        }
        askForCatalogue()
        perform(machine.started()[...]) { [self] in arm() }
    }

    /// The process has died, and its page with it.
    func end() {
        page?.close()
        (page, inputs, deliveries) = (nil, [], [:])
    }

    // MARK: Inputs

    func put(_ input: Input) {
        guard isAlive else { return }
        inputs.append(input)
        if !isBusy { next() }
    }

    private func next() {
        isBusy = !inputs.isEmpty
        guard isBusy else { return }
        simulation.after(random.spread(.microseconds(10), .milliseconds(2)), on: process) {
            [self] in
            guard let input = inputs.popFirst() else { return isBusy = false }
            take(input) { [self] in
                arm()
                next()
            }
        }
    }

    private func take(_ input: Input, then: @escaping () -> Void) {
        switch input {
        case .delivery(let batch): dispatched(batch, then)
        case .opened(let page):
            guard page.life == machine.life else {
                page.close()
                return then()
            }
            self.page = page
            taken = 0
            perform(machine.viewOpened(session: page.session, at: now)[...], then)
        case .failed(let life):
            guard life == machine.life else { return then() }
            perform(machine.viewLost(reason: "There is no web view.", at: now)[...], then)
        case .said(let page, let said): heard(said, of: page, then)
        case .lost(let life):
            guard life == machine.life else { return then() }
            perform(machine.viewLost(reason: "The page has died.", at: now)[...], then)
        case .catalogue(let company, let text):
            guard company == device.company else { return then() }
            perform(machine.catalogueArrived(text, at: now)[...], then)
        case .alarm: perform(machine.timerFired(at: now, wall: wall)[...], then)
        case .decided(let question, let event, let form, let decision):
            if machine.isOpen(question: question) {
                device.checker.decided(event, form, decision)
            }
            perform(machine.appDecided(question, decision, at: now, wall: wall)[...], then)
        case .changed(let change, let done): changed(change, done, then)
        }
    }

    private func heard(_ said: FormsSaid, of page: SimulatedPage, _ then: @escaping () -> Void) {
        var said = said
        if simulation.mutation == .keepPageMessagesOfFormerSession, let current = self.page {
            (said.session, said.number) = (current.session, taken + 1)
        } else if page.life != machine.life {
            return then()
        }
        taken += 1
        perform(machine.said(said.text, at: now, wall: wall)[...], then)
    }

    private func dispatched(_ batch: [SimulatedDelivery], _ then: @escaping () -> Void) {
        var arrivals: [FormsArrival] = []
        for delivery in batch {
            guard let content = try? EventContent(payload: delivery.entry.payload) else {
                device.checker.violated(.recorded, "\(delivery.entry.id) cannot be read")
                continue
            }
            deliveries[delivery.entry.id] = delivery
            arrivals.append(
                FormsArrival(
                    id: delivery.entry.id, content: content, recordedAt: delivery.entry.recordedAt,
                    attempt: delivery.entry.attempt, mayOvertake: delivery.mayOvertake()))
        }
        let tried = arrivals.filter { $0.attempt > 1 }.map(\.id)
        let doubtful = (try? journal.read { try $0.doubtful(tried) }) ?? []
        let isForgetful = simulation.mutation == .forgetGrant
        perform(
            machine.delivery(arrivals, doubtful: isForgetful ? [] : doubtful, at: now, wall: wall)[
                ...],
            then)
    }

    private func arm() {
        guard isAlive, machine.due != alarm else { return }
        alarm = machine.due
        guard let due = alarm else { return }
        simulation.after(max(due - now, .zero), on: process) { [self] in
            guard alarm == due else { return }
            alarm = nil
            put(.alarm)
        }
    }

    // MARK: Performing

    private func perform(_ actions: ArraySlice<FormsMachine.Action>, _ then: @escaping () -> Void) {
        guard isAlive else { return }
        guard let action = actions.first else { return then() }
        perform(action) { [self] in perform(actions.dropFirst(), then) }
    }

    private func perform(_ action: FormsMachine.Action, _ then: @escaping () -> Void) {
        switch action {
        case .open(let life): open(life)
        case .close:
            page?.close()
            page = nil
        case .setReadiness(let readiness, let isOpen): set(readiness, isOpen)
        case .send(let message): send(message)
        case .askLeave(let event, let form, let catalogue, let isDecided):
            return askLeave(event, form, catalogue, isDecided: isDecided, then)
        case .askApp(let question, let arrival, let form, _):
            askApp(question, arrival.id, form)
        case .putOff(let id, let wait, let row): putOff(id, by: wait, row.form)
        case .end(let id, let outcome, let reason, let showing):
            deliveries.removeValue(forKey: id)?.end(
                .ended(outcome, reason: reason),
                showing.map { showing in { try $0.formAppeared(showing) } })
        case .giveBack(let id, let reason, let isInDoubt):
            guard simulation.mutation != .deadPageKeepsInFlight else { break }
            deliveries.removeValue(forKey: id)?.end(
                .back(reason: reason, isInDoubt: isInDoubt), nil)
        case .postpone(let id, let wait, let reason): postpone(id, by: wait, reason)
        case .deliverLate(let id): deliverLate(id)
        case .dismissed(let showing, let how):
            // Not worth failing for: the showing was counted when it was granted.
            return journal.write({ try $0.formDismissed(showing, how: how) }, then: { _ in then() })
        case .perform(let action, let id, _, _):
            return record(id, then) { try $0.record(try Self.entry(action, id)) }
        case .submit(let id, _, let screen):
            return record(id, then) { transaction in
                let answers = NewEntry(id: Self.entryID(id), kind: "answers", payload: [])
                try transaction.formDismissed(screen.showing.id, how: "submitted")
                return try transaction.record(answers)
            }
        case .fetchCatalogue: askForCatalogue()
        case .setVisible: break
        }
        then()
    }

    /// It shows most, puts some off, refuses some; now and then it is late, or never answers.
    private func askApp(_ question: Int, _ event: EntryID, _ form: String) {
        let decision: FormsDecision =
            switch app.fraction() {
            case ..<0.6: .show
            case ..<0.85: .later(app.spread(.milliseconds(10), .seconds(90)))
            default: .no("busy")
            }
        let isLate = app.chance(0.1)
        let wait = app.spread(.milliseconds(1), isLate ? .seconds(20) : .seconds(2))
        guard !app.chance(0.05) else { return }
        simulation.after(wait, on: process) { [self] in
            put(.decided(question: question, event, form: form, decision))
        }
    }

    // MARK: Web views and catalogues

    private func open(_ life: Int) {
        guard process.survives("making a web view") else { return }
        let page = SimulatedPage(
            simulation, device, life: life, session: random.hexadecimal(),
            random: SeededRandom(seed: random.next())
        ) { [weak self] page, said in self?.carry(said, of: page) }
        let fails = device.pageTrouble == .pageDies && random.chance(0.2)
        simulation.after(random.spread(.milliseconds(20), .milliseconds(900)), on: process) {
            [self] in
            guard !fails else {
                page.close()
                return put(.failed(life: life))
            }
            page.start()
            put(.opened(page))
        }
    }

    private func carry(_ said: FormsSaid?, of page: SimulatedPage) {
        simulation.after(page.arrival, on: process) { [self] in
            put(said.map { .said(page, $0) } ?? .lost(life: page.life))
        }
    }

    private func askForCatalogue() {
        simulation.after(random.spread(.milliseconds(20), .seconds(15)), on: process) { [self] in
            put(.catalogue(company: device.company, device.catalogue.text))
        }
    }

    /// The server has another one, or is another's.
    func catalogueChanged() { askForCatalogue() }

    private func changed(
        _ change: FormsChange, _ done: @escaping (Bool) -> Void, _ then: @escaping () -> Void
    ) {
        let company = device.company
        journal.write(
            { try $0.change(change) },
            then: { [self] result in
                guard case .success(let isCleared) = result else {
                    done(false)
                    return then()
                }
                device.changed(change)
                let keeps = device.company == company
                if !keeps { askForCatalogue() }
                guard isCleared else {
                    done(true)
                    return then()
                }
                perform(machine.cleared(reason: change.reason, keepsCatalogue: keeps)[...]) {
                    done(true)
                    then()
                }
            })
    }
}

/// What the machine orders, one by one.
extension SimulatedForms {
    private func set(_ readiness: Readiness, _ isOpen: Bool) {
        guard isOpen else { return journal.setNotReady(readiness) }
        journal.setReady(readiness)
        if simulation.mutation == .openGateAtHandshake, readiness == .handshake {
            journal.setReady(.formsData)
        }
    }

    private func send(_ message: [UInt8]) {
        guard let page, process.survives("a message to the page") else { return }
        page.send(message)
        guard simulation.mutation == .acknowledgeOnSend else { return }
        for (id, delivery) in deliveries.sorted(by: { $0.key.text < $1.key.text })
        where message.contains(id.text) {
            delivery.end(.ended(.applied, reason: "noMatch"), nil)
        }
    }

    private func putOff(_ id: EntryID, by wait: Duration, _ form: String) {
        if let page { device.checker.postponed(id, by: wait, on: page) }
        guard let delivery = deliveries.removeValue(forKey: id) else { return }
        let until = simulation.now + wait
        delivery.whenWritten { [device] in device.checker.putOff(id, until: until) }
        delivery.end(.postponed(by: wait, reason: "put off \(form)"), nil)
    }

    private func postpone(_ id: EntryID, by wait: Duration, _ reason: String) {
        if let page { device.checker.postponed(id, by: wait, on: page) }
        let mistake = simulation.mutation == .postponedAtOnce
        deliveries.removeValue(forKey: id)?.end(
            .postponed(by: mistake ? .zero : wait, reason: reason), nil)
    }

    private func deliverLate(_ id: EntryID) {
        guard let delivery = deliveries.removeValue(forKey: id) else { return }
        simulation.after(random.spread(.milliseconds(1), .seconds(1)), on: process) { [self] in
            guard process.survives("the late delivery of \(id)") else { return }
            device.checker.deliveredLate(id)
            delivery.end(.ended(.applied, reason: "delivered late"), nil)
        }
    }

    private func askLeave(
        _ event: EntryID, _ form: String, _ catalogue: FormsCatalogue, isDecided: Bool,
        _ then: @escaping () -> Void
    ) {
        let asksApp = device.asksApp && !isDecided && simulation.mutation != .appNotAsked
        let id = random.hexadecimal()
        if simulation.mutation == .grantAfterRender {
            journal.write(
                { try $0.leave(for: event, form: form, in: catalogue, as: id, asksApp: false) },
                then: { _ in })
            device.checker.isGranting(event)
            return perform(
                machine.leaveDecided(
                    .granted(showing: id), for: event, form: form, at: now, wall: wall)[...], then)
        }
        journal.write(
            { [device] transaction in
                let leave = try transaction.leave(
                    for: event, form: form, in: catalogue, as: id, asksApp: asksApp)
                if case .granted = leave {
                    device.checker.isGranting(event)
                    device.checker.checkConditions(
                        event, form, catalogue.version, at: device.process.clock.wall())
                }
                return (leave, device.checker.truth)
            },
            then: { [self] result in
                switch result {
                case .success(let (leave, moment)):
                    if case .granted(let showing) = leave {
                        device.checker.granted(showing, event, form, catalogue, at: moment)
                        if device.asksApp { device.checker.checkWord(event, form) }
                    }
                    perform(
                        machine.leaveDecided(leave, for: event, form: form, at: now, wall: wall)[
                            ...], then)
                case .failure:
                    perform(
                        machine.leaveFailed(
                            for: event, form: form, reason: "The journal cannot be written.",
                            at: now, wall: wall)[...], then)
                }
            })
    }

    /// Answers the page once it is durable, or says that it will not be.
    func record(
        _ id: String, _ then: @escaping () -> Void,
        _ body: @escaping (any DeviceTransaction) throws -> Recorded
    ) {
        journal.write(
            body,
            then: { [self] result in
                switch result {
                case .success: send(HostMessage.recorded(id))
                case .failure: send(HostMessage.refused(id, reason: "internal"))
                }
                then()
            })
    }

    private static func entryID(_ id: String) -> EntryID { EntryID(unchecked: "forms-" + id) }

    private static func entry(_ action: PageMessage.Action, _ id: String) throws -> NewEntry {
        switch action {
        case .deepLink(let url):
            NewEntry(id: entryID(id), kind: FormsEvent.link, payload: Array(url.utf8))
        case .emit(let name, let properties):
            try EventContent(name: name, properties: properties)
                .entry(id: entryID(id), source: "form")
        }
    }
}

extension [UInt8] {
    fileprivate func contains(_ text: String) -> Bool {
        String(decoding: self, as: UTF8.self).contains("\"\(text)\"")
    }
}
