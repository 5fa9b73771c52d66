import DequeModule
import RepriseCore
import RepriseJournal
import RepriseReminders

/// In virtual time what `RemindersDriver` is in real time: the shipping machine, and what
/// it asks.
final class SimulatedReminders {
    private let simulation: Simulation
    private let device: RemindersDevice
    private let process: SimulatedProcess
    private let journal: SimulatedJournal
    private let life: Int
    private var random: SeededRandom
    private var machine: ReconciliationMachine
    private var inputs: Deque<ReconciliationMachine.Event> = []
    private var isBusy = false
    private var alarm: Duration?
    /// When each reconciliation began to ask, until it is over.
    private var begun: [Int: Duration] = [:]
    /// For `additionsFirst`: what is removed when all is added.
    private var held: [String] = []
    /// For `pendingRemembered`.
    private var remembered: [NotificationRequest]?

    init(_ simulation: Simulation, _ device: RemindersDevice, journal: SimulatedJournal) {
        self.simulation = simulation
        self.device = device
        self.journal = journal
        process = device.process
        life = process.life
        random = simulation.random("reminders of \(process.name) \(life)")
        machine = ReconciliationMachine(settings: .init(asksForRefresh: true))
    }

    private var isAlive: Bool { process.life == life && process.state != .dead }
    var isSettled: Bool { machine.isSettled && inputs.isEmpty && !isBusy }

    func run() { put(.started) }

    func end() { inputs = [] }

    // MARK: Inputs

    func changed(_ ids: Set<String>?) {
        if simulation.mutation == .changesMeanwhileForgotten, !begun.isEmpty { return }
        put(.changed(ids.map { .entities($0) } ?? .everything))
    }

    func put(_ event: ReconciliationMachine.Event) {
        guard isAlive else { return }
        inputs.append(event)
        if !isBusy { next() }
    }

    private func next() {
        isBusy = !inputs.isEmpty
        guard isBusy else { return }
        simulation.after(random.spread(.microseconds(10), .milliseconds(2)), on: process) {
            [self] in
            guard let event = inputs.popFirst() else { return isBusy = false }
            for action in machine.take(event, at: now) { perform(action) }
            arm()
            next()
        }
    }

    private var now: ReconciliationMachine.Moment {
        .init(
            uptime: process.clock.uptime(), wall: process.clock.wall(),
            zone: device.centre.place.zone, jitter: random.fraction())
    }

    private func arm() {
        guard isAlive, machine.due != alarm else { return }
        alarm = machine.due
        guard let due = alarm else { return }
        simulation.after(max(due - process.clock.uptime(), .zero), on: process) { [self] in
            guard alarm == due else { return }
            alarm = nil
            put(.timerFired)
        }
    }

    // MARK: Performing

    private func perform(_ action: ReconciliationMachine.Action) {
        guard isAlive else { return }
        switch action {
        case .load: load()
        case .setReady(let isReady):
            isReady ? journal.setReady(.store) : journal.setNotReady(.store)
        case .ask(let reconciliation, let question):
            if begun[reconciliation] == nil { begun[reconciliation] = simulation.now }
            ask(question) { [self] in put(.answered(reconciliation, $0)) }
        case .requestRefresh(let at):
            put(.refreshAsked(fault: nil))
            device.refresh(at: at)
        case .reconciled(let reconciliation, let isComplete):
            simulation.trace(
                process.name,
                "reconciliation \(reconciliation) is \(isComplete ? "complete" : "given up")")
            if let began = begun.removeValue(forKey: reconciliation), isComplete {
                device.checker.reconciled(since: began)
            }
        }
    }

    private func load() {
        let fails = device.storeTrouble == .storeFails && random.chance(0.7)
        let isSlow = device.storeTrouble == .storeSlow
        let wait = random.spread(.milliseconds(1), isSlow ? .seconds(30) : .seconds(2))
        simulation.after(wait, on: process) { [self] in
            if fails { simulation.met(.storeFails) }
            put(fails ? .loadFailed("no") : .storeLoaded)
        }
    }

    // MARK: Questions

    private func ask(
        _ question: ReconciliationMachine.Question,
        _ then: @escaping (ReconciliationMachine.Answer) -> Void
    ) {
        let goals = device.goals
        switch question {
        case .entities(let ids):
            askStore(then) { [self] in
                let all =
                    simulation.mutation == .pausedStays
                    ? goals.remindedWithPaused : misread(goals.reminded)
                return .entities(ids.map { ids in all.filter { ids.contains($0.id) } } ?? all)
            }
        case .look(let routes):
            askStore(then) {
                .looked(
                    inUse: Set(
                        routes.filter {
                            guard case .found(let entity) = goals.find($0.value.id) else {
                                return false
                            }
                            return entity.state == .active
                        }.keys))
            }
        case .marks:
            // The journal looks at the clocks first: what is due by the calendar moves with it.
            journal.write(
                { try $0.reminderMarks() },
                then: { result in
                    switch result {
                    case .success(let marks): then(.marks(marks))
                    case .failure(let error): then(.failed("\(error)"))
                    }
                })
        case .write(let record):
            if !held.isEmpty {
                device.centre.removePending(held)
                held = []
            }
            journal.write(
                { try $0.write(record) },
                then: { result in
                    switch result {
                    case .success: then(.done)
                    case .failure(let error): then(.failed("\(error)"))
                    }
                })
        case .settings, .pending, .delivered, .removeDelivered, .removePending, .add:
            askSystem(question, then)
        }
    }

    /// The mutations `endForgotten`, `exceptionsForgotten` and `quietHoursForgotten`.
    private func misread(_ entities: [RemindedEntity]) -> [RemindedEntity] {
        let misreads: [Mutation] = [.endForgotten, .exceptionsForgotten, .quietHoursForgotten]
        guard let mutation = simulation.mutation, misreads.contains(mutation) else {
            return entities
        }
        var entities = entities
        for entity in entities.indices {
            for reminder in entities[entity].reminders.indices {
                var schedule = entities[entity].reminders[reminder].schedule
                switch mutation {
                case .endForgotten: (schedule.end, schedule.count) = (nil, nil)
                case .exceptionsForgotten: schedule.skipped = []
                default: schedule.quiet = nil
                }
                entities[entity].reminders[reminder].schedule = schedule
            }
        }
        return entities
    }

    private func askStore(
        _ then: @escaping (ReconciliationMachine.Answer) -> Void,
        _ body: @escaping () -> ReconciliationMachine.Answer
    ) {
        device.askStore(&random, on: process) { isAnswered in
            isAnswered ? .some(body()) : nil
        } then: { answer in
            then(answer ?? .failed("The store throws."))
        }
    }

    private func askSystem(
        _ question: ReconciliationMachine.Question,
        _ then: @escaping (ReconciliationMachine.Answer) -> Void
    ) {
        let isGone = device.centreTrouble == .centreGone && random.chance(0.6)
        let takesEffect = !isGone || random.chance(0.4)
        let later = random.spread(.microseconds(50), isGone ? .seconds(10) : .milliseconds(20))
        simulation.after(random.spread(.microseconds(50), .milliseconds(20)), on: process) {
            [self] in
            guard process.survives("asking the notification centre") else { return }
            var answer = ReconciliationMachine.Answer.failed("It did not answer.")
            if takesEffect { answer = perform(question) }
            if isGone {
                simulation.met(.centreGone)
                answer = .failed("It did not answer.")
            }
            simulation.after(later, on: process) { [self] in
                guard process.survives("hearing of the notification centre") else { return }
                then(answer)
            }
        }
    }

    private func perform(_ question: ReconciliationMachine.Question) -> ReconciliationMachine.Answer
    {
        let centre = device.centre
        switch question {
        case .settings: return .settings(.init(authorization: centre.authorization))
        case .pending:
            guard simulation.mutation == .pendingRemembered else { return .pending(centre.pending) }
            if remembered == nil { remembered = centre.pending }
            return .pending(remembered ?? [])
        case .delivered: return .delivered(centre.delivered)
        case .removeDelivered(let ids):
            if simulation.mutation != .deliveredStays { centre.removeDelivered(ids) }
        case .removePending(let ids):
            remembered?.removeAll { ids.contains($0.id) }
            if simulation.mutation == .additionsFirst {
                held += ids
            } else {
                centre.removePending(ids)
            }
        case .add(let request):
            if device.centreTrouble == .centreRefuses, random.chance(0.3) {
                simulation.met(.centreRefuses)
                return .refused("It will not have it.")
            }
            if let why = centre.add(request) { return .refused(why) }
            remembered?.removeAll { $0.id == request.id }
            remembered?.append(request)
        case .entities, .marks, .look, .write: break
        }
        return .done
    }
}
