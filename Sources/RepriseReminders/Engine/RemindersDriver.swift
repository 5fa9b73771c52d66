import Foundation
import Logging
import RepriseCore
import RepriseJournal

/// Performs the actions of `ReconciliationMachine`, one input after the other; slow work is
/// concurrent.
actor RemindersDriver {
    enum Input: Sendable {
        case event(ReconciliationMachine.Event)
        /// The system has given time in the background.
        case slot(Int)
        /// Waits until all requested work is done.
        case settle(CheckedContinuation<Bool, Never>)
    }

    /// With whom it works while it runs.
    struct Dependencies: Sendable {
        let store: any ReminderStore
        let notifications: any UserNotifications
        let scheduler: (any BackgroundScheduler)?
    }

    /// A background slot, held until a reconciliation is over.
    struct Slot {
        let slot: any BackgroundSlot
        /// Nil: the feature does not run yet.
        var reconciliation: Int?
        let isOver: CheckedContinuation<Void, Never>
        var expiry: Task<Void, Never>?
    }

    nonisolated let planStore: ReminderPlanStore
    nonisolated let configuration: Reminders.Configuration
    nonisolated let states = StateBroadcaster(ReminderState.idle)
    nonisolated let loop: FeatureLoop<Input>
    nonisolated var inbox: Mailbox<Input> { loop.mailbox }
    private nonisolated let storeTimeout: CallTimeout
    private nonisolated let systemTimeout: CallTimeout

    var machine: ReconciliationMachine
    private var dependencies: Dependencies?
    private let alarm: Alarm
    private var listener: Task<Void, Never>?
    private var tasks: [Int: Task<Void, Never>] = [:]
    private var nextTask = 0
    private var refreshing: Task<Void, Never>?
    private var slots: [Int: Slot] = [:]
    private var nextSlot = 0
    private var waiters: [(reconciliation: Int, continuation: CheckedContinuation<Bool, Never>)] =
        []

    private nonisolated var clock: any Timekeeper { configuration.timekeeper }

    /// Called at once with each change of the app's store.
    private let hears: @Sendable (ReminderChange) -> Void
    /// Opens `store`.
    private let opens: @Sendable () async -> Void

    init(
        journal: Journal, configuration: Reminders.Configuration,
        opens: @escaping @Sendable () async -> Void,
        hears: @escaping @Sendable (ReminderChange) -> Void
    ) {
        planStore = ReminderPlanStore(journal: journal)
        loop = FeatureLoop("The reminders", journal, Mailbox { $0.merge($1) })
        self.configuration = configuration
        alarm = Alarm(configuration.timekeeper)
        self.hears = hears
        self.opens = opens
        storeTimeout = CallTimeout(clock: configuration.timekeeper)
        systemTimeout = CallTimeout(clock: configuration.timekeeper)
        machine = ReconciliationMachine(
            settings: .init(
                sort: configuration.sort, asksForRefresh: configuration.refreshTask != nil))
    }

    var diagnostics: ReminderDiagnostics { machine.diagnostics }

    /// Whether nothing is under way: all is done, or waits for a retry.
    var isIdle: Bool { inbox.isIdle && machine.isIdle }

    // MARK: Calls of the feature

    /// A tap or an action: reads this entity again and plans again.
    nonisolated func tapped(entity: String?) {
        inbox.put(.event(.asked(.tap, entity: entity)))
    }

    /// Requests a new plan.
    nonisolated func poke(_ cause: ReconciliationCause, entity: String? = nil) {
        inbox.put(.event(.asked(cause, entity: entity)))
    }

    /// Returns when all work requested so far is done.
    ///
    /// - Returns: whether it succeeded.
    @discardableResult
    nonisolated func settled() async -> Bool {
        await withCheckedContinuation { continuation in
            if !inbox.put(.settle(continuation)) { continuation.resume(returning: false) }
        }
    }

    // MARK: Running

    func run(
        _ dependencies: Dependencies, started: @escaping @Sendable () async -> Void,
        finished: @escaping @Sendable () async -> Void
    ) async throws {
        try await loop.run(on: self) {
            await self.start(dependencies, started)
        } take: {
            await self.take($0)
        } finish: {
            await self.finish()
            await finished()
        }
    }

    private func start(
        _ dependencies: Dependencies, _ started: @Sendable () async -> Void
    ) async {
        self.dependencies = dependencies
        await started()
        // Before the store is read: a change after that is in the stream.
        let changes = dependencies.store.changes
        listener = Task { [inbox, hears] in
            for await change in changes {
                hears(change)
                inbox.put(.event(.changed(change)))
            }
        }
        await take(.started)
        for id in slots.keys { slots[id]?.reconciliation = machine.covering }
    }

    private func finish() async {
        for input in inbox.close() {
            if case .settle(let continuation) = input { continuation.resume(returning: false) }
        }
        listener?.cancel()
        await perform(machine.take(.stopped, at: now))
        alarm.cancel()
        for task in tasks.values { task.cancel() }
        for task in tasks.values { await task.value }
        tasks = [:]
        for waiter in waiters { waiter.continuation.resume(returning: false) }
        waiters = []
        for id in slots.keys.sorted() { await end(id, isSuccess: false) }
        announce()
        dependencies = nil
    }

    private func announce() {
        let now = machine.diagnostics
        guard states.announce(now.state) else { return }
        configuration.logger.tell(
            .info, "Reminders are in another state.",
            ["state": "\(now.state)", "planned": "\(now.planned)", "pending": "\(now.pending)"])
    }

    private func take(_ input: Input) async {
        switch input {
        case .event(let event): await take(event)
        case .slot(let id):
            await take(.asked(.refresh))
            slots[id]?.reconciliation = machine.covering
        case .settle(let continuation):
            if machine.isSettled {
                continuation.resume(returning: machine.diagnostics.fault == nil)
            } else {
                waiters.append((machine.covering, continuation))
            }
        }
    }

    private func take(_ event: ReconciliationMachine.Event) async {
        if case .timerFired = event { alarm.cancel() }
        await perform(machine.take(event, at: now))
        alarm.set(machine.due) { [inbox] in inbox.put(.event(.timerFired)) }
        announce()
    }

    private var now: ReconciliationMachine.Moment {
        .init(
            uptime: clock.uptime(), wall: clock.wall(), zone: configuration.zone(),
            jitter: configuration.jitter())
    }

    // MARK: Performing

    private func perform(_ actions: [ReconciliationMachine.Action]) async {
        for action in actions {
            switch action {
            case .load: load()
            case .setReady(true): await opens()
            case .setReady(false): await planStore.journal.setNotReady(.store)
            case .ask(let reconciliation, let question):
                beside {
                    let answer = await self.answer(question)
                    self.inbox.put(.event(.answered(reconciliation, answer)))
                }
            case .requestRefresh(let at): requestRefresh(at)
            case .reconciled(let reconciliation, let isComplete):
                await reconciled(reconciliation, isComplete)
            }
        }
    }

    /// Runs slow work without delaying the next input.
    private func beside(_ body: @escaping @Sendable () async -> Void) {
        nextTask += 1
        let id = nextTask
        tasks[id] = Task {
            await body()
            self.tasks[id] = nil
        }
    }

    private func load() {
        guard let store = dependencies?.store else { return }
        // Not awaited at the end: a store that loads for ever cannot be stopped.
        Task { [inbox] in
            do {
                try await store.load()
                inbox.put(.event(.storeLoaded))
            } catch {
                inbox.put(.event(.loadFailed("\(error)")))
            }
        }
    }

    private func reconciled(_ reconciliation: Int, _ isComplete: Bool) async {
        for waiter in waiters where waiter.reconciliation <= reconciliation {
            waiter.continuation.resume(returning: isComplete)
        }
        waiters.removeAll { $0.reconciliation <= reconciliation }
        let over = slots.filter { ($0.value.reconciliation ?? .max) <= reconciliation }.keys
            .sorted()
        guard !over.isEmpty else { return }
        // The next time is asked for before this one is given back: then the app may be suspended.
        beside { [refreshing] in
            await refreshing?.value
            for id in over { await self.end(id, isSuccess: isComplete) }
        }
    }

    // MARK: Time in the background

    func slot(_ slot: any BackgroundSlot) async {
        guard slots.count < ReminderEngineLimits.slots else {
            return await slot.complete(success: false)
        }
        nextSlot += 1
        let id = nextSlot
        await withCheckedContinuation { continuation in
            slots[id] = Slot(slot: slot, reconciliation: nil, isOver: continuation)
            slots[id]?.expiry = Task {
                await slot.expired()
                if !Task.isCancelled { await self.end(id, isSuccess: false) }
            }
            inbox.put(.slot(id))
        }
    }

    private func end(_ id: Int, isSuccess: Bool) async {
        guard let slot = slots.removeValue(forKey: id) else { return }
        slot.expiry?.cancel()
        await slot.slot.complete(success: isSuccess)
        slot.isOver.resume()
    }
}

extension RemindersDriver.Input {
    /// Unread changes of the store are merged; all other input comes from people or answers a
    /// question.
    fileprivate mutating func merge(_ next: Self) -> Bool {
        guard case .event(.changed(let former)) = self, case .event(.changed(let change)) = next
        else { return false }
        self = .event(.changed(former.joined(by: change)))
        return true
    }
}

extension ReminderChange {
    fileprivate func joined(by other: Self) -> Self {
        switch (self, other) {
        case (.everything, _), (_, .everything): return .everything
        case (.entities(let ids), .entities(let more)):
            let all = ids.union(more)
            return all.count > ReminderEngineLimits.changed ? .everything : .entities(all)
        }
    }
}

/// Performs the machine's questions.
extension RemindersDriver {
    private func answer(
        _ question: ReconciliationMachine.Question
    ) async -> ReconciliationMachine.Answer {
        guard let dependencies else { return .failed("The reminders do not run.") }
        do {
            return try await answer(question, dependencies)
        } catch {
            return judge(error)
        }
    }

    private func answer(
        _ question: ReconciliationMachine.Question, _ dependencies: Dependencies
    ) async throws -> ReconciliationMachine.Answer {
        let system = dependencies.notifications
        switch question {
        case .entities(let ids): return .entities(try await entities(ids, of: dependencies.store))
        case .settings: return .settings(try await asking { try await system.settings() })
        case .pending: return .pending(try await asking { try await system.pending() })
        case .delivered: return .delivered(try await asking { try await system.delivered() })
        case .marks: return .marks(try await marks())
        case .look(let routes):
            return .looked(inUse: try await look(routes, in: dependencies.store))
        case .removeDelivered(let ids):
            try await asking { try await system.removeDelivered(ids) }
        case .removePending(let ids): try await asking { try await system.removePending(ids) }
        case .add(let request): try await asking { try await system.add(request) }
        case .write(let record): try await writing { try await self.planStore.write(record) }
        }
        return .done
    }

    private func entities(
        _ ids: Set<String>?, of store: any ReminderStore
    ) async throws -> [RemindedEntity] {
        try await storeTimeout.wait(
            configuration.storeTimeout, for: "The app's store (reminded)"
        ) {
            if let ids { try await store.reminded(ids) } else { try await store.reminded() }
        }
    }

    private func asking<T: Sendable>(
        _ body: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        try await systemTimeout.wait(
            configuration.systemTimeout, for: "The notification centre", body)
    }

    /// The journal checks the clocks first: calendar-based dates move with them.
    private func marks() async throws -> [ReminderOverride] {
        try await writing { [planStore] in
            let marks = try await planStore.marks()
            guard marks.contains(where: \.isWait) else { return marks }
            try await planStore.journal.write { _ in }
            return try await planStore.marks()
        }
    }

    private func look(
        _ routes: [String: Route], in store: any ReminderStore
    ) async throws -> Set<String> {
        var inUse: Set<String> = []
        for (id, route) in routes.sorted(by: { $0.key < $1.key }) {
            let finding = try await storeTimeout.wait(
                configuration.lookUpTimeout, for: "The app's store (find)"
            ) { try await store.find(route) }
            guard case .found(let entity) = finding, entity.state == .active,
                route.owner == nil || entity.owner == nil || route.owner == entity.owner
            else { continue }
            inUse.insert(id)
        }
        return inUse
    }

    private func writing<T: Sendable>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch {
            loop.note(error)
            throw error
        }
    }

    /// Tells permanent refusals from temporary failures.
    private func judge(_ error: any Error) -> ReconciliationMachine.Answer {
        guard let known = error as? RepriseError else { return .failed("\(error)") }
        let isForGood: Set<RepriseError.Code> = [
            .refused, .tooLarge, .malformed, .badConfiguration, .full, .badID,
        ]
        return isForGood.contains(known.code)
            ? .refused(known.description) : .failed(known.description)
    }

    private func requestRefresh(_ at: WallTime) {
        guard let scheduler = dependencies?.scheduler, let id = configuration.refreshTask else {
            return
        }
        let request = BackgroundRequest(id: id, kind: .refresh, earliest: at)
        let asked = Task { [inbox, systemTimeout, configuration] in
            do {
                try await systemTimeout.wait(
                    configuration.systemTimeout, for: "The background scheduler"
                ) { try await scheduler.submit(request) }
                inbox.put(.event(.refreshAsked(fault: nil)))
            } catch {
                inbox.put(.event(.refreshAsked(fault: "\(error)")))
            }
        }
        refreshing = asked
        beside { await asked.value }
    }
}

extension ReminderOverride {
    /// Whether its time is a wait, which a calendar step must not change.
    fileprivate var isWait: Bool { what != .skip }
}

extension RemindersDriver {
    /// Removes all of our requests; best effort, as the next reconciliation does the same.
    func leave(_ centre: (any UserNotifications)?) async {
        let system = dependencies?.notifications ?? centre
        await loop.stop()
        // Without a run nothing else would give them back.
        for id in slots.keys.sorted() { await end(id, isSuccess: false) }
        guard let system else { return }
        do {
            let pending = try await asking { try await system.pending() }.filter(\.isOurs).map(\.id)
            if !pending.isEmpty { try await asking { try await system.removePending(pending) } }
            let shown = try await asking { try await system.delivered() }.map(\.request)
                .filter(\.isOurs).map(\.id)
            if !shown.isEmpty { try await asking { try await system.removeDelivered(shown) } }
        } catch {
            return
        }
    }
}
