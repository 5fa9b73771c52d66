import RepriseCore
import RepriseJournal
import RepriseReminders

/// A phone: its disk, its notification centre, the app's own store, and the app.
final class RemindersDevice {
    let name: String
    let process: SimulatedProcess
    let checker: RemindersChecker
    let centre: SimulatedCentre
    let goals: SimulatedGoals
    private(set) var storeTrouble: Fault.Kind?
    private(set) var centreTrouble: Fault.Kind?

    /// Kills that wait for the word of a screen.
    private var waylays: [Fault] = []

    let simulation: Simulation
    private let disk: SimulatedDisk
    private let store: any DeviceStore
    private let foreign: Int
    private let places: [SimulatedPlace]
    private let began: WallTime
    private var random: SeededRandom
    private var refreshes = 0
    private var heldClosed: Duration = .zero
    // Of this life of the process.
    private(set) var journal: SimulatedJournal?
    private(set) var reminders: SimulatedReminders?
    private var routing: SimulatedRouting?
    private var hasLoop = false
    private var isAsleep = false
    /// When the last one rang.
    private var rang: Duration?

    init(
        _ simulation: Simulation, index: Int, _ mix: RemindersMix, disk: SimulatedDisk,
        store: any DeviceStore
    ) {
        self.simulation = simulation
        self.disk = disk
        self.store = store
        name = "phone \(index)"
        (places, began) = (mix.places, mix.began)
        process = SimulatedProcess(
            simulation, name: name, clock: SimulatedClock(simulation, began: began))
        random = simulation.random(name)
        checker = RemindersChecker(simulation, name: name)
        goals = SimulatedGoals(simulation, name: name, clock: process.clock, mix)
        let drawn = SimulatedCalendar.places[random.index(SimulatedCalendar.places.count)]
        centre = SimulatedCentre(
            simulation, clock: process.clock, place: mix.home ?? drawn,
            keepsSoonest: random.chance(0.5))
        foreign = random.index(7)
        fill(mix)
        attach()
    }

    private func fill(_ mix: RemindersMix) {
        for index in 0..<foreign {
            let date = RepriseCalendarParts.farAway(minute: index)
            _ = centre.add(
                NotificationRequest(
                    id: "app.\(index)", content: NotificationContent(title: "the app's own"),
                    trigger: .calendar(date, repeats: false)))
        }
        let isCrowded = random.chance(mix.crowds)
        goals.fill(1 + random.index(isCrowded ? 40 : mix.goals), &random)
    }

    private func attach() {
        centre.rang = { [unowned self] in
            rang = simulation.now
            checker.rang($0, store: goals)
        }
        centre.dropped = { [unowned self] in checker.dropped($0) }
        goals.changed = { [unowned self] ids in
            guard process.state == .running else { return }
            routing?.changed(ids)
            reminders?.changed(ids)
        }
        process.started = { [unowned self] in start() }
        process.ended = { [unowned self] in letGo() }
        simulation.whenEnded { [self] in
            letGo()
            goals.changed = { _ in }
            centre.rang = { _ in }
            centre.dropped = { _ in }
        }
    }

    private func letGo() {
        reminders?.end()
        routing?.end()
        (reminders, routing, journal, hasLoop, isAsleep) = (nil, nil, nil, false, false)
    }

    var machine: FaultInjector.Machine {
        .init(process: process, disk: disk) { [unowned self] losingPower in
            store.crash(losingPower: losingPower)
        }
    }

    // MARK: The app

    private func start() {
        guard process.survives("opening the journal") else { return }
        do {
            let journal = try SimulatedJournal(
                simulation, on: process, store: store, kinds: RemindersWorld.kinds)
            self.journal = journal
            look(isEnd: false)
            simulation.after(random.spread(.milliseconds(1), .seconds(5)), on: process) {
                [self] in
                let routing = SimulatedRouting(simulation, self, journal: journal)
                let reminders = SimulatedReminders(simulation, self, journal: journal)
                (self.routing, self.reminders) = (routing, reminders)
                routing.run()
                reminders.run()
                openLater()
                sleepNowAndThen()
            }
        } catch {
            simulation.after(random.spread(.milliseconds(100), .seconds(2)), on: process) {
                [self] in start()
            }
        }
    }

    /// The screen can present something.
    private func openLater() {
        let isLaunchedBehind = random.chance(0.1)
        let wait = random.spread(.milliseconds(20), isLaunchedBehind ? .seconds(300) : .seconds(20))
        simulation.after(max(wait, heldClosed - simulation.now), on: process) { [self] in
            guard simulation.now >= heldClosed else { return openLater() }
            journal?.setReady(.ui)
            guard !hasLoop else { return }
            hasLoop = true
            routing?.loop()
        }
    }

    private func sleepNowAndThen() {
        guard random.chance(0.3) else { return }
        simulation.after(random.spread(.seconds(10), .seconds(900)), on: process) { [self] in
            simulation.trace(process.name, "goes to the background")
            isAsleep = true
            reminders?.put(.slept)
            simulation.after(random.spread(.seconds(1), .seconds(1_800)), on: process) {
                [self] in comesToFront()
            }
        }
    }

    private func comesToFront() {
        guard isAsleep else { return }
        simulation.trace(process.name, "comes to the foreground")
        isAsleep = false
        reminders?.put(.woke)
    }

    /// A place that one has left by ringing while the app was in the background is given in the
    /// foreground.
    func comesToFrontIfOneRang() {
        if isAsleep, let rang, rang > checker.lastReconciliation ?? .zero { comesToFront() }
    }

    /// The system gives time in the background, if the app lives.
    func refresh(at moment: WallTime) {
        refreshes += 1
        let number = refreshes
        let wait = max(process.clock.wall().duration(to: moment), .zero)
        simulation.after(wait) { [self] in
            guard number == refreshes, process.state == .running else { return }
            reminders?.put(.asked(.refresh))
        }
    }

    /// Asks the app's store: the call takes effect at one moment and returns at another.
    func askStore<T>(
        _ random: inout SeededRandom, on process: SimulatedProcess,
        _ body: @escaping (_ isAnswered: Bool) -> T?, then: @escaping (T?) -> Void
    ) {
        let isSlow = storeTrouble == .storeSlow
        let longest: Duration = isSlow ? .seconds(6) : .milliseconds(60)
        let (first, second) = (
            random.spread(.microseconds(200), longest), random.spread(.microseconds(200), longest)
        )
        let fails = storeTrouble == .storeFails && random.chance(0.7)
        let isLate = first + second > .seconds(5)
        simulation.after(first, on: process) { [self] in
            guard process.survives("asking the app's store") else { return }
            if fails { simulation.met(.storeFails) }
            if isSlow { simulation.met(.storeSlow) }
            let answer = body(!fails && !isLate)
            simulation.after(second, on: process) {
                guard process.survives("hearing of the app's store") else { return }
                then(answer)
            }
        }
    }

    // MARK: People

    func happens(_ message: RemindersMessage) {
        var draw = SeededRandom(seed: message.seed)
        guard message.what == .store else {
            let tap = SimulatedTap(message, on: self, &draw)
            arrives(tap)
            guard let again = message.again else { return }
            return simulation.after(again) { [self] in arrives(tap) }
        }
        // The store is the app's: it changes in the app, or beside it while it does not live.
        guard process.state != .suspended else {
            return simulation.after(.seconds(1)) { [self] in happens(message) }
        }
        goals.happens(&draw)
    }

    /// One entrance brings a tap; it tries until it is told that it is recorded.
    private func arrives(_ tap: SimulatedTap, tries: Int = 1) {
        guard !checker.isAcknowledged(tap.id) || tries == 1 else { return }
        checker.asked(tap)
        simulation.after(min(.seconds(3) * tries, .seconds(200))) { [self] in
            arrives(tap, tries: tries + 1)
        }
        guard process.state == .running, let journal else { return }
        let entry = NewEntry(
            id: tap.id, kind: RemindersWorld.kind(of: tap.arrival),
            source: tap.arrival.source.rawValue, payload: tap.arrival.payload)
        let info = tap.meaning.map {
            ReminderInfo(route: Route(sort: "goal", id: $0.id, part: $0.part))
        }
        journal.write(
            { transaction in
                _ = try transaction.record(entry)
                try transaction.routeRecorded(tap.id, tap.arrival, info)
            },
            then: { [self] result in
                guard case .success = result else { return }
                checker.acknowledged(tap.id)
                reminders?.put(.asked(.tap, entity: tap.meaning?.id))
            })
    }

    // MARK: Faults

    func inflict(_ fault: Fault) {
        switch fault.kind {
        case .storeFails, .storeSlow:
            storeTrouble = fault.kind
            simulation.after(fault.length) { [self] in
                if storeTrouble == fault.kind { storeTrouble = nil }
            }
        case .centreGone, .centreRefuses:
            centreTrouble = fault.kind
            simulation.after(fault.length) { [self] in
                guard centreTrouble == fault.kind else { return }
                centreTrouble = nil
                if fault.kind == .centreGone, fault.bits & 1 == 1 {
                    simulation.trace("centre", "has lost what was pending")
                    centre.forget()
                    returned()
                }
            }
        case .gateCloses:
            simulation.met(.gateCloses)
            heldClosed = simulation.now + fault.length
            journal?.setNotReady(.ui)
            if process.state == .running, hasLoop { openLater() }
        case .travels:
            simulation.met(.travels)
            centre.travel(to: places[Int(fault.bits % UInt64(places.count))])
        case .permissionRevoked:
            simulation.met(.permissionRevoked)
            centre.ring()
            centre.authorization = .denied
            returned()
            simulation.after(fault.length) { [self] in
                centre.ring()
                centre.authorization = fault.bits & 1 == 0 ? .authorized : .provisional
                returned()
            }
        default: break
        }
    }

    /// The person comes back from the system's settings.
    private func returned() {
        guard process.state == .running else { return }
        isAsleep = false
        reminders?.put(.woke)
    }

    func heal() {
        (storeTrouble, centreTrouble) = (nil, nil)
        heldClosed = .zero
        waylays = []
        process.clock.heal()
        centre.ring()
        centre.authorization = .authorized
        returned()
    }

    // MARK: What is seen

    /// How what is pending differs from what should be; nil: it does not.
    var difference: String? {
        guard let journal, let marks = try? journal.read({ try $0.reminderMarks() }) else {
            return "the journal is not open"
        }
        let found = centre.due
        let desired = DesiredSet(
            now: process.clock.wall(), place: centre.place,
            limit: min(60, SimulatedCentre.limit - foreign), marks: marks
        ).rings(goals.reminded)
        note(desired)
        let wanted = Dictionary(desired.map { ($0.id, $0) }) { first, _ in first }
        for ring in desired where found[ring.id] != ring.at {
            return "\(ring.title) at \(ring.local) is "
                + (found[ring.id] == nil ? "not pending" : "pending for another time")
                + ", of \(desired.count)"
        }
        for request in centre.pending where request.isOurs && wanted[request.id] == nil {
            return "\(request.content.title) is pending and should not be"
        }
        return nil
    }

    /// What this run has been about.
    private func note(_ desired: [DesiredSet.Ring]) {
        if desired.contains(where: \.isPostponed) { simulation.had(.postponed) }
        let offsets = [began, process.clock.wall()].map {
            centre.place.offset(at: $0.milliseconds / 1_000)
        }
        if offsets[0] != offsets[1] { simulation.had(.clockSet) }
    }

    /// What stands in the notification centre of what is not in use.
    var leftover: String? {
        centre.delivered.first { notification in
            guard let info = ReminderRequest.info(notification.request, sort: "goal") else {
                return false
            }
            guard case .found(let entity) = goals.find(info.route.id) else { return true }
            return entity.state != .active
        }?.request.content.title
    }

    var isAllOver: Bool {
        guard let journal else { return false }
        return (try? journal.read { try checker.isAllOver($0) }) ?? false
    }

    func look(isEnd: Bool) {
        guard let journal else {
            if isEnd { checker.violated(.alive, "the journal is not open") }
            return
        }
        do {
            try journal.read { try checker.look($0, store: goals, isEnd: isEnd) }
        } catch {
            checker.violated(.recorded, "the journal cannot be read: \(error)")
        }
    }

    /// A burst of changes, and the app is killed and started among them.
    func launchAnew(_ random: inout SeededRandom) {
        process.kill("is closed by its user")
        for _ in 0..<1 + random.index(4) { goals.happens(&random) }
        process.start()
    }

    /// Changes in quick succession, so that some fall into a reconciliation.
    func change(_ random: inout SeededRandom) {
        for _ in 0..<2 + random.index(5) {
            var draw = SeededRandom(seed: random.next())
            simulation.after(random.spread(.milliseconds(1), .seconds(1))) { [self] in
                goals.happens(&draw)
            }
        }
    }
}

/// A kill between the word of a screen and the end of its entry: by chance alone hardly any falls
/// there.
extension RemindersDevice {
    /// One of three faults that kill has a second kill behind it, which waits for that moment.
    func waylay(_ fault: Fault) {
        guard [.killDevice, .powerLossDevice].contains(fault.kind), fault.bits >> 20 % 3 == 0
        else { return }
        waylays.append(fault)
    }

    /// It is durable that a screen has shown it; its entry has not ended.
    func wordIsDurable() {
        guard !waylays.isEmpty else { return }
        let fault = waylays.removeFirst()
        let isPower = fault.kind == .powerLossDevice
        let (simulation, machine) = (simulation, machine)
        machine.process.arm(after: Int(fault.bits >> 24 % 4)) {
            simulation.met(fault.kind)
            machine.process.kill(isPower ? "loses power" : "is killed")
            machine.crash(isPower)
            if isPower { machine.process.clock.restart() }
            simulation.after(fault.length) { machine.process.start() }
        }
    }
}
