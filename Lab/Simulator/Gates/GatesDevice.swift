import RepriseCore
import RepriseJournal

/// A device: its disk, the app that should run on it, and now and then a second process that takes
/// the journal over.
final class GatesDevice {
    let index: Int
    let process: SimulatedProcess
    let disk: SimulatedDisk
    let store: any DeviceStore
    let observer: GatesObserver
    /// What the app's own store holds by id.
    var applied = Set<EntryID>()
    /// What is wrong with the handlers.
    private(set) var trouble: Fault.Kind?

    private let simulation: Simulation
    private var second: SimulatedProcess?
    private(set) var owner: GatesApp?
    private var apps: [GatesApp] = []
    private var heldClosed: [Readiness: Duration] = [:]

    init(
        _ simulation: Simulation, index: Int, disk: SimulatedDisk, store: any DeviceStore,
        messages: [GatesMessage], settings: StoreSettings
    ) {
        self.simulation = simulation
        self.index = index
        self.disk = disk
        self.store = store
        process = SimulatedProcess(simulation, name: "device \(index)")
        observer = GatesObserver(
            simulation, name: process.name, clock: process.clock, messages: messages,
            settings: settings)
        attach(process)
    }

    private func attach(_ process: SimulatedProcess) {
        process.started = { [unowned self, unowned process] in
            let app = GatesApp(simulation, device: self, process: process)
            if let other = apps.last, other.process.state != .dead {
                app.overlapped = true
                other.overlapped = true
            }
            apps.append(app)
            app.start()
        }
        process.ended = { [unowned self, unowned process] in
            for app in apps where app.process === process { app.isFormer = true }
            apps.removeAll { $0.process === process }
            if owner?.process === process { owner = nil }
        }
    }

    // MARK: What the app says

    func opened(_ app: GatesApp) {
        for other in apps where other !== app { other.isFormer = true }
        owner = app
        look(isEnd: false)
    }

    func committed(_ app: GatesApp) {
        if app !== owner, app.isFormer {
            observer.violated(.recorded, "a former owner's commit was taken")
        }
        guard let ledger = try? app.journal?.read({ try $0.ledger() }) else { return }
        observer.committed(ledger)
    }

    /// It exits, as an app should; where nobody else has the journal it is started again.
    func lostOwnership(_ app: GatesApp) {
        let process = app.process
        process.kill("has lost the journal, and exits")
        simulation.after(.seconds(1)) { [self] in
            if owner == nil, process === self.process { process.start() }
        }
    }

    func look(isEnd: Bool) {
        guard let journal = owner?.journal else {
            if isEnd { observer.violated(.alive, "the journal is not open") }
            return
        }
        do {
            try journal.read { try observer.look($0, isEnd: isEnd) }
        } catch {
            observer.violated(.recorded, "the journal cannot be read: \(error)")
        }
    }

    // MARK: Recording

    /// One path brings a message; it tries until it is told that it is recorded.
    func arrives(_ message: GatesMessage, tries: Int = 1) {
        let isKnown = observer.isAcknowledged(message.id)
        guard !isKnown || tries == 1 else { return }
        observer.asked(message.id)
        let wait = min(Duration.seconds(3) * tries, .seconds(200))
        simulation.after(wait) { [self] in arrives(message, tries: tries + 1) }
        guard let app = owner, app.process.state == .running, let journal = app.journal else {
            return
        }
        journal.record(
            message.entry,
            refused: { [observer] transaction, error in
                guard (error as? RepriseError)?.code == .full else { return }
                observer.refusedAsFull(transaction)
            },
            then: { [observer] result in
                if case .success = result { observer.acknowledged(message.id) }
            })
    }

    // MARK: Faults

    var machine: FaultInjector.Machine {
        FaultInjector.Machine(process: process, disk: disk) { [self] losingPower in
            if losingPower {
                second?.kill("loses power")
                observer.lostPower()
            }
            crash(losingPower: losingPower)
        }
    }

    /// A commit whose sync failed is found, or not, by who opens the journal with nobody else in
    /// it: before that SQLite replays no log.
    private func crash(losingPower: Bool) {
        let isInUse = [process, second].contains { $0.map { $0.state != .dead } ?? false }
        if losingPower || !isInUse { store.crash(losingPower: losingPower) }
    }

    func inflict(_ fault: Fault) {
        switch fault.kind {
        case .gateCloses:
            let condition = GatesKinds.conditions[Int(fault.bits % 4)]
            heldClosed[condition] = simulation.now + fault.length
            for app in apps { app.setNotReady(condition) }
        case .handlerThrows, .handlerHangs, .handlerLate:
            trouble = fault.kind
            simulation.after(fault.length) { [self] in
                if trouble == fault.kind { trouble = nil }
            }
        case .secondOwner:
            takeOver(fault)
        default: break
        }
    }

    func isHeldClosed(_ condition: Readiness) -> Bool {
        heldClosed[condition].map { simulation.now < $0 } ?? false
    }

    private func takeOver(_ fault: Fault) {
        guard process.state == .running, second == nil else { return }
        simulation.met(.secondOwner)
        let first = process
        first.suspend()
        let other = SimulatedProcess(
            simulation, name: "device \(index), second process", clock: first.clock)
        second = other
        attach(other)
        other.start()
        simulation.after(fault.length) { [self] in
            first.resume()
            simulation.after(.seconds(Int64(fault.bits % 20))) { [self] in
                other.kill("ends")
                second = nil
                crash(losingPower: false)
                restartIfFormer()
            }
        }
    }

    /// Who has lost the journal and does not know it is started anew.
    private func restartIfFormer() {
        guard owner == nil, process.state == .running else { return }
        process.kill("is started anew")
        process.start()
    }

    /// Nothing fails any more, and every gate will open.
    func heal() {
        trouble = nil
        heldClosed = [:]
        second?.kill("ends")
        second = nil
        process.clock.heal()
        if owner == nil || owner?.hasHung == true {
            process.kill("is started anew")
            process.start()
        }
        sayTheTime(tries: 10)
    }

    /// The run is over.
    func end() {
        second?.kill("ends")
        process.kill("ends")
    }

    private func sayTheTime(tries: Int) {
        owner?.sayTheTime()
        guard tries > 0 else { return }
        simulation.after(.seconds(10)) { [self] in sayTheTime(tries: tries - 1) }
    }

    /// What a handler in the transaction throws: the same for the same attempt, as long as the
    /// trouble lasts.
    func insideFailure(_ entry: Entry) throws {
        guard trouble == .handlerThrows else { return }
        simulation.met(.handlerThrows)
        var random = SeededRandom(
            seed: simulation.schedule.seed ^ UInt64(entry.attempt), purpose: entry.id.text)
        if random.chance(0.7), let error = Self.failure(entry, random.index(8)) { throw error }
    }

    static func failure(_ entry: Entry, _ choice: Int) -> (any Error)? {
        switch choice {
        case 0: DispatchFailure.permanent("refused")
        case 1: DispatchFailure.retry(after: .seconds(30), "later")
        case 2: DispatchFailure.notReady("not now")
        case 3...4 where entry.predecessor != nil: RequeueInOrder("the one before it")
        default: GatesFailure()
        }
    }
}

struct GatesFailure: Error, CustomStringConvertible {
    var description: String { "no" }
}
