import Foundation
import GRDB
import RepriseChains
import RepriseCore
import RepriseJournal

/// One life of an app of the workload: its version, and the workers that it has.
final class SimulatedChainsApp {
    let device: ChainsDevice
    let process: SimulatedProcess
    let version: Int
    let workers: Set<String>
    /// Whether it has the definition of the chains.
    let hasDefinition: Bool
    private(set) var journal: SimulatedJournal?
    private(set) var chains: SimulatedChains?
    /// A later opening has taken the journal over, or the process has ended.
    var isFormer = false
    private let simulation: Simulation
    private var random: SeededRandom

    init(
        _ simulation: Simulation, device: ChainsDevice, process: SimulatedProcess, version: Int,
        hasRare: Bool, hasDefinition: Bool
    ) {
        self.simulation = simulation
        self.hasDefinition = hasDefinition
        (self.device, self.process, self.version) = (device, process, version)
        let all = [
            SimulatedCopy.identifier, SimulatedSend.identifier, SimulatedCompensation.identifier,
        ]
        workers = Set(all + (hasRare ? [SimulatedRare.identifier] : []))
        random = simulation.random("app \(process.name) \(process.life)")
    }

    func start() {
        guard process.survives("opening the journal") else { return }
        do {
            let journal = try SimulatedJournal(
                simulation, on: process, store: device.store, kinds: ChainsKinds.all)
            self.journal = journal
            device.opened(self)
            journal.committed = { [unowned self] isDurable in
                guard isDurable else {
                    device.schedules?.checker.commitFailed()
                    return
                }
                device.committed(self)
            }
            journal.lostOwnership = { [unowned self] in device.lostOwnership(self) }
            journal.handle(ChainsKinds.reply, inTransaction: { _, _ in })
            simulation.after(random.spread(.milliseconds(1), .seconds(5)), on: process) {
                [self] in
                let chains = SimulatedChains(simulation, self, journal: journal)
                self.chains = chains
                chains.run()
            }
            openLater()
            device.schedules?.launched(self)
        } catch {
            simulation.after(random.spread(.milliseconds(100), .seconds(2)), on: process) {
                [self] in start()
            }
        }
    }

    private func openLater() {
        let wait = random.spread(.milliseconds(20), .seconds(20))
        simulation.after(wait, on: process) { [self] in
            guard !device.isSessionClosed else { return openLater() }
            journal?.setReady(.session)
            chains?.put(.opened(.session))
        }
    }

    func closeSession() {
        guard process.state == .running, let journal,
            journal.machine.gate.readiness.contains(.session)
        else { return }
        simulation.met(.gateCloses)
        journal.setNotReady(.session)
        openLater()
    }

    func end() {
        chains?.end()
        (chains, journal) = (nil, nil)
    }

    /// Nil: this version has it no more.
    var definition: (any ChainDefinition)? {
        guard hasDefinition else { return nil }
        return ChainsScript.chain(version: version)
    }

    /// Whether this version can start a run of it.
    func canStart(_ saying: ScheduleSaying) -> Bool {
        guard let plan = try? definition?.plan(for: saying.input) else { return false }
        return plan.workers.isSubset(of: workers)
    }
}

/// A device: its disk, the app on it with its versions, and now and then a second process that
/// takes the journal over.
final class ChainsDevice {
    let process: SimulatedProcess
    let store: any DeviceStore
    let checker: ChainsChecker
    let centre = ChainsCentre()
    /// Its chains are shown as notifications.
    let notifies: Bool
    /// Where outputs are that are too long for a row, and how often one is.
    let files: OutputFiles
    let longOutputs: Double
    /// Takes the app to the background; nil: it is always in the foreground.
    private(set) var system: ChainsSystem?
    /// Nil: it has none.
    private(set) var schedules: SimulatedSchedules?
    private(set) var trouble: Fault.Kind?
    private(set) var conditions = DeviceConditions()
    private(set) var owner: SimulatedChainsApp?
    private let simulation: Simulation
    private let disk: SimulatedDisk
    private var random: SeededRandom
    private var apps: [SimulatedChainsApp] = []
    private var second: SimulatedProcess?
    private var version = 1
    private var isHealed = false
    private var sessionClosedUntil: Duration = .zero
    /// How many of its chains will go bad yet.
    private var damages: Int
    private var decay: SeededRandom

    init(
        _ simulation: Simulation, index: Int, disk: SimulatedDisk, store: any DeviceStore,
        folder: URL, surroundings: ChainsSurroundings
    ) {
        self.simulation = simulation
        (self.disk, self.store) = (disk, store)
        damages = surroundings.damages
        decay = simulation.random("damage of device \(index)")
        (files, longOutputs) = (OutputFiles(folder), surroundings.longOutputs)
        process = SimulatedProcess(simulation, name: "device \(index)")
        notifies = !surroundings.hasSchedules && ChainsMix(simulation.schedule.seed).choices
        random = simulation.random("versions of \(process.name)")
        checker = ChainsChecker(simulation, name: process.name)
        if longOutputs > 0 { checker.files = files }
        if surroundings.grantsTime { system = ChainsSystem(simulation, self) }
        if surroundings.hasSchedules {
            schedules = SimulatedSchedules(simulation, self, index: index)
        }
        attach(process)
        simulation.whenEnded { [self] in
            for app in apps { app.end() }
            (apps, owner, system, schedules) = ([], nil, nil, nil)
        }
    }

    private func attach(_ process: SimulatedProcess) {
        process.started = { [unowned self, unowned process] in
            if random.chance(0.25) { version = min(version + 1 + random.index(2), 4) }
            let hasRare = random.chance(0.7) || isHealed
            let app = SimulatedChainsApp(
                simulation, device: self, process: process, version: version, hasRare: hasRare,
                hasDefinition: schedules?.drawDefinition(isHealed: isHealed) ?? true)
            simulation.trace(
                process.name,
                "has version \(version)\(hasRare ? "" : ", not rare")"
                    + (app.hasDefinition ? "" : ", no definition"))
            apps.append(app)
            if process === self.process { system?.launched() }
            app.start()
        }
        process.resumed = { [unowned self, unowned process] in
            guard process === self.process else { return }
            system?.resumed()
            schedules?.foreground()
        }
        process.ended = { [unowned self, unowned process] in
            for app in apps where app.process === process {
                app.isFormer = true
                app.end()
            }
            apps.removeAll { $0.process === process }
            if owner?.process === process { owner = nil }
        }
    }

    // MARK: What the app says

    func opened(_ app: SimulatedChainsApp) {
        // One that was overtaken before it had opened anything is the owner now.
        for other in apps { other.isFormer = other !== app }
        owner = app
        look(isEnd: false)
        if damages > 0, isHealed || decay.chance(0.5) { damage(app) }
    }

    /// Rows of a chain that goes on go bad; no process has them in memory.
    private func damage(_ app: SimulatedChainsApp) {
        guard let journal = (app.journal?.opened as? OpenJournal)?.stepped else { return }
        do {
            try journal.pool.write { db in
                let rows = try Row.fetchAll(db, sql: Self.goingOn)
                guard !rows.isEmpty else { return }
                let row = rows[decay.index(rows.count)]
                let (seq, id): (Int64, String) = (row[0], row[1])
                let how = Self.harms[decay.index(Self.harms.count)]
                try db.execute(sql: how, arguments: [seq])
                simulation.met(.damage)
                simulation.trace(process.name, "the rows of \(id) go bad: \(how)")
                try checker.damage(seq, id, db)
                damages -= 1
            }
        } catch {
            checker.violated(.recorded, "the journal cannot be written: \(error)")
        }
    }

    /// Those that are read again, for a task that should run.
    private static let goingOn = """
        SELECT DISTINCT c.seq, c.id FROM chain AS c JOIN chainTask AS t ON t.chain = c.seq
        JOIN entry AS e ON e.id = t.entry
        WHERE c.state IN (1, 4, 5) AND (t.state = 1 OR t.undo = 1) AND e.state < 10 ORDER BY c.seq
        """

    private static let harms = [
        "UPDATE chain SET input = x'7b22' WHERE seq = ?",
        "UPDATE chain SET state = 7 WHERE seq = ?",
        "UPDATE chainTask SET state = 99 WHERE chain = ? AND place = 0",
        "UPDATE chainTask SET failures = -1 WHERE chain = ? AND place = 0",
        "DELETE FROM chainTask WHERE chain = ? AND place = 0",
    ]

    func committed(_ app: SimulatedChainsApp) {
        if app.isFormer { checker.violated(.recorded, "a former owner's commit was taken") }
        do {
            try checker.committed { try app.journal?.read($0) }
            try schedules?.checker.committed(by: app) { try app.journal?.read($0) }
        } catch {
            checker.violated(.recorded, "the journal cannot be read: \(error)")
        }
    }

    func lostOwnership(_ app: SimulatedChainsApp) {
        let process = app.process
        process.kill("has lost the journal, and exits")
        simulation.after(.seconds(1)) { [self] in
            if owner == nil, process === self.process { process.start() }
        }
    }

    func look(isEnd: Bool) {
        guard let journal = owner?.journal else {
            if isEnd { checker.violated(.alive, "the journal is not open") }
            return
        }
        do {
            try journal.read { try checker.look($0, version: owner?.version ?? 0, isEnd: isEnd) }
            if isEnd, notifies { checker.checkNotifications(centre) }
        } catch {
            checker.violated(.recorded, "the journal cannot be read: \(error)")
        }
    }

    /// The app leaves the processor to others, with this request for a slot.
    func checkRequest(_ request: BackgroundRequest?) {
        let delayed = try? owner?.journal?.read { try ChainsChecker.delayed(shipping($0).db) }
        // Else the next process requests one.
        if let delayed { checker.checkRequest(request, delayed: delayed) }
    }

    // MARK: The user

    func arrives(_ message: ChainsMessage, tries: Int = 1) {
        guard !checker.isAcknowledged(message.id), tries < 40 else { return }
        simulation.after(min(.seconds(3) * tries, .seconds(200))) { [self] in
            arrives(message, tries: tries + 1)
        }
        guard let app = owner, app.process.state == .running, let journal = app.journal else {
            return
        }
        switch message.what {
        case .start(let script, let name, let conflict, let constraints, let delay, let deadline):
            guard let json = try? SimulatedChainsJSON.bytes(script),
                let plan = try? ChainsScript.chain(version: app.version).plan(for: json)
            else { return checker.violated(.recorded, "a script makes no plan") }
            let new = NewChain(
                id: message.id, definition: ChainsScript.definition, version: app.version,
                plan: plan, input: json, name: name, onConflict: conflict,
                constraints: constraints, delay: delay, deadline: deadline)
            start(new, script, journal)
        case .command(let verb, let pick):
            guard let target = checker.target(pick) else { return }
            checker.commanded(verb, target)
            record(
                NewEntry(
                    id: EntryID(unchecked: message.id), kind: Chains.commandKind, source: "app",
                    payload: ChainCommand(
                        verb, chain: target, seconds: verb == .clear ? 30 : nil
                    ).bytes), journal)
        case .reply:
            record(
                NewEntry(
                    id: EntryID(unchecked: message.id), kind: ChainsKinds.reply, payload: []),
                journal)
        }
    }

    func cancel(_ chain: String, as id: String) {
        guard let app = owner, app.process.state == .running, let journal = app.journal else {
            return
        }
        record(
            NewEntry(
                id: EntryID(unchecked: id), kind: Chains.commandKind, source: "app",
                payload: ChainCommand(.cancel, chain: chain).bytes), journal)
    }

    private func record(_ entry: NewEntry, _ journal: SimulatedJournal) {
        journal.record(entry) { [checker] in
            if case .success = $0 { checker.acknowledged(entry.id.text) }
        }
    }

    private func start(_ new: NewChain, _ script: ChainsScript, _ journal: SimulatedJournal) {
        checker.asked(new.id, script)
        journal.write(
            { [checker] transaction -> String in
                let shipping = try shipping(transaction)
                // An app that does not know whether its first try was recorded asks by the id.
                if let seq = try ChainReading.seq(of: new.id, shipping.db) {
                    checker.touched.insert(seq)
                    return new.id
                }
                let id = try new.insert(shipping.db, shipping.journal)
                if let seq = try ChainReading.seq(of: id, shipping.db) {
                    checker.touched.insert(seq)
                }
                return id
            },
            then: { [checker] result in
                guard case .success(let id) = result else { return }
                checker.acknowledged(new.id)
                if id == new.id { checker.started(id) }
            })
    }

    // MARK: Faults

    var hasSecond: Bool { second != nil }

    var isSessionClosed: Bool { simulation.now < sessionClosedUntil }

    var machine: FaultInjector.Machine {
        FaultInjector.Machine(process: process, disk: disk) { [self] losingPower in
            if losingPower {
                second?.kill("loses power")
                schedules?.checker.lostPower()
            }
            store.crash(losingPower: losingPower)
        }
    }

    func inflict(_ fault: Fault) {
        switch fault.kind {
        case .gateCloses where fault.bits & 1 == 0:
            sessionClosedUntil = simulation.now + fault.length
            for app in apps { app.closeSession() }
        case .gateCloses:
            simulation.met(.gateCloses)
            offer(DeviceConditions(network: false, unmetered: false))
            let length = fault.bits & 2 == 0 ? fault.length : .milliseconds(500)
            simulation.after(length) { [self] in offer(DeviceConditions()) }
        case .handlerThrows, .handlerHangs, .handlerLate:
            trouble = fault.kind
            simulation.after(fault.length) { [self] in
                if trouble == fault.kind { trouble = nil }
            }
        case .secondOwner: takeOver(fault)
        default: break
        }
    }

    private func offer(_ conditions: DeviceConditions) {
        self.conditions = conditions
        for app in apps where app.process.state == .running {
            app.chains?.put(.conditions(conditions))
        }
    }

    private func takeOver(_ fault: Fault) {
        guard process.state == .running, second == nil else { return }
        simulation.met(.secondOwner)
        let first = process
        first.suspend()
        let other = SimulatedProcess(
            simulation, name: "\(process.name), second process", clock: first.clock)
        second = other
        attach(other)
        other.start()
        simulation.after(fault.length) { [self] in
            first.resume()
            simulation.after(.seconds(Int64(fault.bits % 20))) { [self] in
                other.kill("ends")
                second = nil
                store.crash(losingPower: false)
                guard owner == nil, process.state == .running else { return }
                process.kill("is started anew")
                process.start()
            }
        }
    }

    /// Nothing fails any more; the app is started anew, and knows all workers.
    func heal() {
        (trouble, isHealed, sessionClosedUntil) = (nil, true, .zero)
        second?.kill("ends")
        second = nil
        let error = process.clock.error
        process.clock.heal()
        if error != .zero { schedules?.clockWasSet(by: .zero - error) }
        system?.heal()
        offer(DeviceConditions())
        process.kill("is started anew")
        process.start()
    }

    /// What chains wait for comes.
    func replies(_ number: Int) {
        system?.open()
        guard let journal = owner?.journal else { return }
        record(
            NewEntry(
                id: EntryID(unchecked: "\(process.name.last ?? "0")-reply-\(number)"),
                kind: ChainsKinds.reply, payload: []), journal)
    }

    /// What could use the time that was granted has used it; from now on the app is open.
    func endsWithSlots() {
        guard let system else { return }
        checker.checkTimeUsed()
        system.stay()
    }

    func end() {
        second?.kill("ends")
        process.kill("ends")
    }
}
