import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseWire

/// A device: its disk, and the app on it that runs the feature forms.
final class FormsDevice {
    let name: String
    let process: SimulatedProcess
    let checker: FormsChecker
    /// What is wrong with pages.
    private(set) var pageTrouble: Fault.Kind?
    private(set) var company = "acme"
    /// Whether the app decides about each form.
    let asksApp: Bool
    private let hasConditions: Bool

    private let simulation: Simulation
    private let disk: SimulatedDisk
    private let store: any DeviceStore
    private var random: SeededRandom
    private var number = 0
    // Of this life of the process.
    private(set) var journal: SimulatedJournal?
    private var forms: SimulatedForms?
    /// The company that the app asked for and has not yet.
    private var wanted: String?
    /// What the app has yet to say of the person, one after the other; empty: nothing is known.
    private var plans: [String] = []

    init(
        _ simulation: Simulation, index: Int, disk: SimulatedDisk, store: any DeviceStore,
        messages: [FormsMessage], asksApp: Bool, hasConditions: Bool
    ) {
        (self.asksApp, self.hasConditions) = (asksApp, hasConditions)
        self.simulation = simulation
        self.disk = disk
        self.store = store
        name = "device \(index)"
        process = SimulatedProcess(simulation, name: name)
        checker = FormsChecker(simulation, name: name, messages: messages)
        random = simulation.random(name)
        checker.journal = { [unowned self] in journal }
        process.started = { [unowned self] in start() }
        process.ended = { [unowned self] in
            forms?.end()
            (forms, journal) = (nil, nil)
        }
        simulation.whenEnded { [self] in
            forms?.end()
            (forms, journal) = (nil, nil)
        }
    }

    var machine: FaultInjector.Machine {
        .init(process: process, disk: disk) { [unowned self] losingPower in
            store.crash(losingPower: losingPower)
        }
    }

    var catalogue: SimulatedCatalogue {
        let version = SimulatedCatalogue.version(company, number, hasConditions: hasConditions)
        guard let found = SimulatedCatalogue.all[version] else {
            preconditionFailure("a mistake of the workload: there is no catalogue \(number)")
        }
        return found
    }

    private func start() {
        guard process.survives("opening the journal") else { return }
        do {
            let journal = try SimulatedJournal(
                simulation, on: process, store: store, kinds: FormsWorld.kinds)
            self.journal = journal
            look(isEnd: false)
            for kind in [FormsEvent.link, "answers"] {
                journal.handle(kind) { [unowned self] entry, done in
                    checker.actionTookEffect(entry.id)
                    done(nil)
                }
            }
            // The app initialises the feature early or late.
            simulation.after(random.spread(.milliseconds(1), .seconds(10)), on: process) {
                [self] in
                let forms = SimulatedForms(simulation, self, journal: journal)
                self.forms = forms
                forms.run()
            }
        } catch {
            simulation.after(random.spread(.milliseconds(100), .seconds(2)), on: process) {
                [self] in start()
            }
        }
    }

    // MARK: The app

    /// One path brings an event; it tries until it is told that it is recorded.
    func arrives(_ message: FormsMessage, tries: Int = 1) {
        guard !checker.isAcknowledged(message.id) || tries == 1 else { return }
        checker.asked(message.id)
        simulation.after(min(.seconds(3) * tries, .seconds(200))) { [self] in
            arrives(message, tries: tries + 1)
        }
        guard process.state == .running, let journal,
            let content = try? EventContent(name: message.name, properties: Array("{}".utf8))
        else { return }
        journal.record(content.entry(id: message.id, source: "app")) { [checker] result in
            if case .success = result { checker.acknowledged(message.id) }
        }
    }

    /// The app sets the attribute `plan`, and tries until it is told that it is durable.
    func tell(_ plan: String) {
        checker.planAsked(plan)
        plans.append(plan)
        if plans.count == 1 { tellNext() }
    }

    private func tellNext() {
        guard let plan = plans.first else { return }
        let again = { [self] in simulation.after(.seconds(2)) { [self] in tellNext() } }
        guard process.state == .running, let journal else { return again() }
        var isOver = false
        process.whenKilled {
            if !isOver { again() }
            isOver = true
        }
        journal.write(
            { try $0.setPlan(plan.isEmpty ? nil : plan) },
            then: { [self] (result: Result<Void, any Error>) in
                guard !isOver else { return }
                isOver = true
                guard case .success = result else { return again() }
                checker.planSet(plan)
                plans.removeFirst()
                tellNext()
            })
    }

    /// The user logs out, or the company changes; the app tries until it is told that it is done.
    private func change(_ change: FormsChange, _ clearing: FormsChecker.Clearing) {
        guard process.state == .running, let journal else { return again(change, clearing) }
        let life = process.life
        let done = { [self] (isDone: Bool) in
            isDone ? checker.cleared(clearing) : again(change, clearing)
        }
        // Who dies with it tries again.
        process.whenKilled { [self] in
            if !clearing.isDone { again(change, clearing) }
        }
        if let forms { return forms.put(.changed(change, done)) }
        journal.write(
            { try $0.change(change) },
            then: { [self] result in
                guard process.life == life else { return }
                if case .success = result { changed(change) }
                done((try? result.get()) != nil)
            })
    }

    private func again(_ change: FormsChange, _ clearing: FormsChecker.Clearing) {
        guard !clearing.isDone, !clearing.isWaiting else { return }
        clearing.isWaiting = true
        simulation.after(.seconds(2)) { [self] in
            clearing.isWaiting = false
            if !clearing.isDone { self.change(change, clearing) }
        }
    }

    /// It is written down.
    func changed(_ change: FormsChange) {
        if change.reason == "company", let wanted { company = wanted }
    }

    // MARK: Faults

    func inflict(_ fault: Fault) {
        switch fault.kind {
        case .pageDies, .pageHangs, .pageLate, .pageForges:
            pageTrouble = fault.kind
            simulation.after(fault.length) { [self] in
                if pageTrouble == fault.kind { pageTrouble = nil }
            }
        case .newCatalogue:
            simulation.met(.newCatalogue)
            number = (number + 1) % 6
            forms?.catalogueChanged()
        case .logOut:
            simulation.met(.logOut)
            change(.logOut, checker.clearing(as: .dead))
        case .newCompany:
            guard wanted == nil || wanted == company else { break }
            simulation.met(.newCompany)
            let next = company == "acme" ? "initech" : "acme"
            wanted = next
            change(.use(company: next, standard: "acme"), checker.clearing(as: .superseded))
        default: break
        }
    }

    func heal() {
        pageTrouble = nil
        closeWhatHangs(looks: 5)
    }

    /// A page that hangs with a form on the screen is ended by the person who sees it, which may be
    /// a little after it has hung.
    private func closeWhatHangs(looks: Int) {
        if forms?.isStuck == true {
            process.kill("is closed by its user")
            process.start()
        }
        guard looks > 1 else { return }
        simulation.after(.seconds(60)) { [self] in closeWhatHangs(looks: looks - 1) }
    }

    func look(isEnd: Bool) {
        guard let journal else {
            if isEnd { checker.violated(.alive, "the journal is not open") }
            return
        }
        do {
            try journal.read { try checker.look($0, isEnd: isEnd) }
        } catch {
            checker.violated(.recorded, "the journal cannot be read: \(error)")
        }
    }
}
