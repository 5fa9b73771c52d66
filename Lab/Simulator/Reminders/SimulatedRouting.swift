import DequeModule
import RepriseCore
import RepriseJournal
import RepriseReminders

/// In virtual time what `ReminderRouting` and `ReminderActions` are in real time: the shipping
/// rules, a queue, and the app's loop.
final class SimulatedRouting {
    private let simulation: Simulation
    private let device: RemindersDevice
    private let process: SimulatedProcess
    private let journal: SimulatedJournal
    private let life: Int
    private let rules = RouteRules(RemindersWorld.configuration)
    private var random: SeededRandom
    /// Handed over by the journal, in order.
    private var deliveries: Deque<SimulatedDelivery> = []
    /// What is being made and has not lasted yet.
    private var making: Set<Int> = []
    private var isWaiting = false
    private var number = 0
    private var lookUps: [Int: LookUpWatch] = [:]

    init(_ simulation: Simulation, _ device: RemindersDevice, journal: SimulatedJournal) {
        self.simulation = simulation
        self.device = device
        self.journal = journal
        process = device.process
        life = process.life
        random = simulation.random("routing of \(process.name) \(life)")
    }

    private var isAlive: Bool { process.life == life && process.state != .dead }

    /// The feature runs: actions are done from now on.
    func run() {
        journal.handleBatches(of: ReminderKinds.action) { [weak self] batch in
            for delivery in batch { self?.perform(delivery) }
        }
    }

    /// The app's loop begins.
    func loop() {
        journal.handleBatches(of: ReminderKinds.route) { [weak self] batch in
            self?.deliveries += batch
            self?.makeMore()
        }
        isWaiting = true
        makeMore()
    }

    func end() { deliveries = [] }

    func changed(_ ids: Set<String>?) {
        guard simulation.mutation != .lookUpNotRepeated else { return }
        for key in lookUps.keys { lookUps[key]?.changed(ids) }
    }

    // MARK: Resolving

    private func resolve(
        _ arrival: RouteArrival, looks: Int = 1,
        _ then: @escaping (Result<ResolvedRoute, any Error>, _ looks: Int) -> Void
    ) {
        switch rules.read(arrival) {
        case .decided(let resolved): then(.success(resolved), 0)
        case .lookUp(let info):
            number += 1
            let key = number
            lookUps[key] = LookUpWatch(info.route.id)
            device.askStore(&random, on: process) { [device] isAnswered in
                isAnswered ? device.goals.find(info.route.id) : nil
            } then: { [self] finding in
                let watch = lookUps.removeValue(forKey: key)
                guard let finding else { return then(.failure(StoreFailure()), looks) }
                let hasChanged = watch?.hasChanged(finding) ?? false
                if let resolved = rules.judge(finding, info, hasChanged: hasChanged, looks: looks) {
                    return then(.success(resolved), looks)
                }
                resolve(arrival, looks: looks + 1, then)
            }
        }
    }

    // MARK: Taps

    private func makeMore() {
        while isAlive, isWaiting, making.isEmpty, let delivery = deliveries.popFirst() {
            number += 1
            let key = number
            making.insert(key)
            simulation.after(.milliseconds(RouteLimits.slowLookUpMilliseconds), on: process) {
                [self] in
                if making.remove(key) != nil { makeMore() }
            }
            make(delivery, key)
        }
    }

    private func make(_ delivery: SimulatedDelivery, _ key: Int) {
        guard let arrival = try? RouteArrival(payload: delivery.entry.payload) else {
            return device.checker.violated(.recorded, "\(delivery.entry.id) cannot be read")
        }
        if delivery.entry.attempt > 1, simulation.mutation != .presentedAgain,
            (try? journal.read { try $0.isPresented(delivery.entry.id) }) == true
        {
            delivery.end(.ended(.applied, reason: "presented before"), nil)
            making.remove(key)
            return simulation.after(.zero, on: process) { [self] in makeMore() }
        }
        resolve(arrival) { [self] result, looks in
            making.remove(key)
            switch result {
            case .failure(let error): delivery.end(.failed(error), nil)
            case .success(let resolved):
                if isWaiting {
                    dispatch(delivery, arrival, resolved, looks)
                } else {
                    deliveries.insert(delivery, at: 0)
                }
            }
            makeMore()
        }
    }

    private func dispatch(
        _ delivery: SimulatedDelivery, _ arrival: RouteArrival, _ resolved: ResolvedRoute,
        _ looks: Int
    ) {
        let id = delivery.entry.id
        isWaiting = false
        guard process.survives("handing \(id) to the app") else { return }
        simulation.trace(process.name, "the app gets \(id): \(resolved.resolution.name)")
        device.checker.dispatched(
            id, resolved, store: device.goals,
            isSure: looks <= RouteLimits.lookUpsAgain)
        journal.write({ try $0.routeResolved(id, resolved, isDispatched: true) }, then: { _ in })
        if simulation.mutation == .endBeforePresented {
            delivery.end(.ended(.applied, reason: resolved.resolution.name), nil)
        }
        simulation.after(random.spread(.milliseconds(2), .seconds(2)), on: process) { [self] in
            guard process.survives("presenting \(id)") else { return }
            device.checker.presented(id)
            say(delivery, resolved)
        }
    }

    /// The app says that it has presented it, until it is told that this is durable.
    private func say(_ delivery: SimulatedDelivery, _ resolved: ResolvedRoute) {
        let id = delivery.entry.id
        journal.write(
            { try $0.routePresented(id) },
            then: { [self] result in
                guard case .success = result else {
                    return simulation.after(.milliseconds(500), on: process) { [self] in
                        say(delivery, resolved)
                    }
                }
                device.checker.acknowledgedByScreen(id)
                device.wordIsDurable()
                guard process.survives("ending \(id)") else { return }
                delivery.end(.ended(.applied, reason: resolved.resolution.name), nil)
                simulation.after(random.spread(.milliseconds(1), .seconds(1)), on: process) {
                    [self] in
                    isWaiting = true
                    makeMore()
                }
            })
    }

    // MARK: Actions

    private func perform(_ delivery: SimulatedDelivery) {
        guard isAlive, let arrival = try? RouteArrival(payload: delivery.entry.payload) else {
            return
        }
        guard let rule = RemindersWorld.configuration.rule(arrival.action, in: arrival.category)
        else {
            guard case .end(let outcome, let why) = ReminderActionRule.withoutRule(arrival) else {
                return
            }
            return delivery.end(.ended(outcome, reason: why), nil)
        }
        resolve(arrival) { [self] result, _ in
            switch result {
            case .failure(let error): delivery.end(.failed(error), nil)
            case .success(let resolved):
                perform(rule.plan(arrival, resolved), delivery, arrival, resolved)
            }
        }
    }

    private func perform(
        _ plan: ActionPlan, _ delivery: SimulatedDelivery, _ arrival: RouteArrival,
        _ resolved: ResolvedRoute
    ) {
        let (entry, id) = (delivery.entry, delivery.entry.id)
        let note: StoreJob = { try $0.routeResolved(id, resolved, isDispatched: false) }
        switch plan {
        case .end(let outcome, let why): delivery.end(.ended(outcome, reason: why), note)
        case .snooze(let entity, let info, let wait):
            guard let mark = snooze(entity, info, arrival, entry, wait) else {
                return delivery.end(
                    .failed(DispatchFailure.permanent("Nothing could ring later.")), nil)
            }
            end(delivery, mark, "snoozed", entity, note)
        case .skipToday(let entity):
            let mark = ReminderOverride.skipOfToday(
                entity.id, reminder: nil, at: entry.recordedAt, in: device.centre.place.zone)
            end(delivery, mark, "skipped", entity, note)
        case .give(let action, let entity, let info, let why):
            give(action, entity, info, entry) { [self] error in
                if let error { return delivery.end(.failed(error), nil) }
                delivery.end(.ended(.applied, reason: why), note)
                device.reminders?.put(.asked(.action, entity: entity.id))
            }
        }
    }

    private func end(
        _ delivery: SimulatedDelivery, _ mark: ReminderOverride, _ why: String, _ entity: Entity,
        _ note: @escaping StoreJob
    ) {
        let (id, recorded) = (delivery.entry.id, delivery.entry.recordedAt)
        let effect: StoreJob = { transaction in
            let moved = try transaction.entry(id)?.recordedAt
            try transaction.mark(mark.moved(by: recorded.duration(to: moved ?? recorded)))
            try transaction.addEffect(id.text)
        }
        if simulation.mutation == .overrideApart {
            journal.write(
                { try effect($0) },
                then: { [process] _ in
                    guard process.survives("ending \(id)") else { return }
                    delivery.end(.ended(.applied, reason: why), note)
                })
        } else {
            delivery.end(.ended(.applied, reason: why)) { transaction in
                try note(transaction)
                try effect(transaction)
            }
        }
        device.reminders?.put(.asked(.action, entity: entity.id))
    }

    private func snooze(
        _ entity: Entity, _ info: ReminderInfo, _ arrival: RouteArrival, _ entry: Entry,
        _ wait: Duration
    ) -> ReminderOverride? {
        let now = entry.recordedAt
        if let reminder = info.reminder, let occurrence = info.occurrence {
            return try? .snooze(
                entity.id, reminder: reminder, occurrence: occurrence, for: wait, at: now)
        }
        let reminders = device.goals.reminded.first { $0.id == entity.id }?.reminders ?? []
        let meant = reminders.first { $0.part == info.route.part } ?? reminders.first
        let rang = SimulatedCalendar.local(arrival.rang ?? now, in: device.centre.place)
        return meant.flatMap {
            try? .snooze(
                entity.id, reminder: $0.id,
                occurrence: SimulatedCalendar.text(rang.day, minutes: rang.minutes), for: wait,
                at: now)
        }
    }

    private func give(
        _ action: ReminderCommand.Action, _ entity: Entity, _ info: ReminderInfo, _ entry: Entry,
        _ then: @escaping ((any Error)?) -> Void
    ) {
        let goals = device.goals
        let command = ReminderCommand(
            id: entry.id, action: action, entity: entity, part: info.route.part,
            occurrence: info.occurrence)
        let asks = entry.attempt > 1 && simulation.mutation != .answerAgain
        let isApplied = asks && goals.isApplied(entry.id)
        guard !isApplied else { return then(nil) }
        let isLost = random.chance(0.3)
        device.askStore(&random, on: process) { isAnswered -> Bool? in
            // What fails may have taken effect before.
            if isAnswered || isLost { goals.apply(command) }
            return isAnswered ? true : nil
        } then: { answer in
            then(answer == nil ? StoreFailure() : nil)
        }
    }
}

struct StoreFailure: Error, CustomStringConvertible {
    var description: String { "The store throws, or does not answer." }
}
