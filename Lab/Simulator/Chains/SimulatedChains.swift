import DequeModule
import GRDB
import RepriseChains
import RepriseCore
import RepriseJournal

/// In virtual time what `ChainsEngine` is in real time: the shipping decisions, rows and
/// definitions, one event after the other.
///
/// What starts workers, tells them to stop and keeps chains in memory is transcribed.
final class SimulatedChains {
    struct Key: Hashable, Comparable {
        var chain: Int64
        var place: Int
        var round: Int
        var isCompensation: Bool

        var payload: IntentPayload {
            IntentPayload(chain: chain, place: place, isCompensation: isCompensation, round: round)
        }

        static func < (left: Key, right: Key) -> Bool {
            (left.chain, left.place, left.round) < (right.chain, right.place, right.round)
        }
    }

    struct Running {
        let delivery: SimulatedDelivery
        let work: SimulatedWork
        let started: WallTime
        let attempts: Int
        var stop: ChainStop?

        var attempt: ChainAttempt {
            ChainAttempt(
                attempts: attempts, ofEntry: delivery.entry.attempt, started: started, stop: stop)
        }
    }

    /// A worker's output, and where it is kept.
    struct Output {
        let bytes: [UInt8]
        let stored: StoredOutput
    }

    enum Event {
        case tasks([SimulatedDelivery])
        case commands([SimulatedDelivery])
        case finished(Key, Result<Output, any Error>)
        case written(Int64)
        case left(Int64)
        case conditions(DeviceConditions)
        case opened(Readiness)
        case recorded([String: Int64])
        case calendarMoved
        case review
        case late(Key)
        case abandoned(Key)
    }

    let simulation: Simulation
    let app: SimulatedChainsApp
    let journal: SimulatedJournal
    var random: SeededRandom
    var live: [Int64: LiveChain] = [:]
    var running: [Key: Running] = [:]
    var conditions = DeviceConditions()
    var awaited: Set<String> = []
    let files: OutputFiles
    /// What the lengths of outputs are drawn from.
    var lengths: SeededRandom
    var reviews: FailedReviews
    private(set) var notifications: SimulatedNotifications?
    /// Nil: the app is always in the foreground.
    private(set) var time: SimulatedTime?
    private var inbox: Deque<Event> = []
    private var isBusy = true
    /// The process has ended, in the middle of an event perhaps.
    private(set) var isOver = false
    private var uses: UInt64 = 0

    var process: SimulatedProcess { app.process }
    var clock: SimulatedClock { app.process.clock }
    var checker: ChainsChecker { app.device.checker }
    var mutation: Mutation? { simulation.mutation }

    init(_ simulation: Simulation, _ app: SimulatedChainsApp, journal: SimulatedJournal) {
        self.simulation = simulation
        self.app = app
        self.journal = journal
        random = simulation.random("chains of \(app.process.name) \(app.process.life)")
        lengths = simulation.random("outputs of \(app.process.name) \(app.process.life)")
        reviews = FailedReviews(
            simulation.random("reviews of \(app.process.name) \(app.process.life)"))
        files = app.device.files
        simulation.whenEnded { [self] in end() }
    }

    func end() {
        isOver = true
        time?.end()
        (inbox, live, running) = ([], [:], [:])
    }

    func run() {
        guard app.device.longOutputs == 0 || sweep() else { return }
        conditions = app.device.conditions
        if app.device.notifies {
            notifications = SimulatedNotifications(self)
            notifications?.goOn()
        }
        if let system = app.device.system {
            let time = SimulatedTime(self)
            self.time = time
            time.setGate()
            if process === app.device.process { system.began(time) }
        }
        for kind in [Chains.kind, Chains.commandKind] {
            journal.handleBatches(of: kind) { [unowned self] batch in
                put(kind == Chains.kind ? .tasks(batch) : .commands(batch))
            }
        }
        journal.recorded = { [unowned self] newest in
            if newest.keys.contains(ChainsKinds.reply) { put(.recorded(newest)) }
        }
        journal.calendarMoved = { [unowned self] in put(.calendarMoved) }
        applyEarlierChanges()
    }

    // MARK: Events

    func put(_ event: Event) {
        inbox.append(event)
        pump()
    }

    private func pump() {
        guard !isBusy, !inbox.isEmpty else { return }
        isBusy = true
        simulation.after(random.spread(.microseconds(5), .milliseconds(2)), on: process) {
            [self] in
            if let event = inbox.popFirst() { take(event) }
        }
    }

    /// What was taken is done.
    private func isDone() {
        isBusy = false
        if running.isEmpty { time?.ring() }
        pump()
    }

    private func take(_ event: Event) {
        switch event {
        case .tasks(let batch): for delivery in batch where !isOver { begin(delivery) }
        case .commands(let batch): for delivery in batch where !isOver { perform(delivery) }
        case .finished(let key, let result): finished(key, result)
        case .written(let seq): written(seq)
        case .left(let seq): live[seq] = nil
        case .late(let key): late(key)
        case .abandoned(let key): abandon(key)
        case .calendarMoved:
            readDeadlines(of: live.keys.sorted())
            guard mutation != .chainCalendarChangeIgnored else { break }
            return lookAtSchedules(then: isDone)
        case .review: return lookAtSchedules(then: isDone)
        case .conditions(let new): return changed(new, then: isDone)
        case .opened(let readiness):
            return release("t.hold = ?", ["readiness:\(readiness.name)"], then: isDone)
        case .recorded(let newest): return heard(newest, then: isDone)
        }
        isDone()
    }

    func stop(_ key: Key, _ reason: ChainStop) {
        guard running[key] != nil else { return }
        if running[key]?.stop == nil { running[key]?.stop = reason }
        running[key]?.work.stop()
    }

    // MARK: What is waited for

    private func heard(_ newest: [String: Int64], then: @escaping () -> Void) {
        guard let seq = newest[ChainsKinds.reply], awaited.contains(ChainsKinds.reply) else {
            return then()
        }
        release("t.hold = ? AND t.after < ?", ["entry:\(ChainsKinds.reply)", seq], then: then)
    }

    private func changed(_ new: DeviceConditions, then: @escaping () -> Void) {
        conditions = new
        for key in running.keys.sorted() {
            guard let chain = live[key.chain], !chain.row.constraints.areMet(by: new) else {
                continue
            }
            stop(key, .conditions)
        }
        release(
            "t.hold = 'conditions' AND c.needs & ? = 0 AND c.needsBytes <= ?",
            [ChainConstraints.missing(new), new.freeBytes], then: then)
    }

    /// What cannot be written now is tried again with the next news, or the next life.
    private func release(
        _ condition: String, _ arguments: StatementArguments, then: @escaping () -> Void
    ) {
        journal.write(
            { transaction in
                let shipping = try shipping(transaction)
                return try ChainReleases.page(
                    where: condition, arguments, shipping.journal, shipping.db)
            },
            then: { [self] (result: Result<Int, any Error>) in
                if case .success(ChainReleases.page) = result {
                    return release(condition, arguments, then: then)
                }
                then()
            })
    }

    /// As after every launch; where the disk refuses it, the app runs the feature again.
    private func applyEarlierChanges() {
        guard let holds = try? journal.read({ try ChainReleases.holds(shipping($0).db) }) else {
            return again()
        }
        var steps: [(@escaping () -> Void) -> Void] = []
        for hold in holds {
            if hold == "readiness:\(Readiness.session.name)", isOpen(.session) {
                steps.append { [self] in release("t.hold = ?", [hold], then: $0) }
            } else if hold == "entry:\(ChainsKinds.reply)" {
                awaited.insert(ChainsKinds.reply)
                let newest = try? journal.read {
                    try Int64.fetchOne(
                        shipping($0).db, sql: "SELECT MAX(seq) FROM entry WHERE kind = ?",
                        arguments: [ChainsKinds.reply])
                }
                if let newest = newest ?? nil {
                    steps.append { [self] in heard([ChainsKinds.reply: newest], then: $0) }
                }
            } else if hold == "conditions" {
                steps.append { [self] in changed(conditions, then: $0) }
            }
        }
        perform(steps[...])
    }

    private func perform(_ steps: ArraySlice<(@escaping () -> Void) -> Void>) {
        if let step = steps.first { return step { [self] in perform(steps.dropFirst()) } }
        journal.write(
            { transaction in
                let shipping = try shipping(transaction)
                try ChainReleases.lookAgain(shipping.journal, shipping.db)
            },
            then: { [self] (result: Result<Void, any Error>) in
                guard case .success = result else { return again() }
                reviewSchedules { [self] isWritten in
                    guard isWritten else { return again() }
                    if time == nil { journal.setReady(Chains.budgetReadiness) }
                    journal.setReady(Chains.readiness)
                    isDone()
                }
            })
    }

    private func again() {
        simulation.after(.seconds(1), on: process) { [self] in applyEarlierChanges() }
    }

    /// Also where nobody shows any.
    var areResultsShown: Bool { notifications?.isQuiet ?? true }

    func isOpen(_ readiness: Readiness) -> Bool {
        journal.machine.gate.readiness.contains(readiness)
    }

    // MARK: Chains in memory

    func chain(_ seq: Int64) throws -> LiveChain? {
        uses += 1
        if let chain = live[seq] {
            chain.lastUse = uses
            return chain
        }
        guard let (row, tasks) = try journal.read({ try ChainReading.load(seq, shipping($0).db) })
        else { return nil }
        let made = Result { try plan(for: row, tasks) }
        if case .failure(let error as ChainRow.Broken) = made { throw error }
        let chain = LiveChain(row: row, tasks: tasks, plan: made)
        if chain.rebuilt != nil { chain.rebuilt?.version = app.version }
        chain.lastUse = uses
        chain.notifies = notifications != nil
        live[seq] = chain
        return chain
    }

    private func readDeadlines(of chains: [Int64]) {
        for seq in chains {
            let found = try? journal.read { try ChainReading.deadlines(seq, shipping($0).db) }
            if let found { live[seq]?.calendarSet(found) }
        }
    }

    private func plan(for row: ChainRow, _ tasks: [TaskRow]) throws -> ChainPlan {
        if mutation == .chainDefinitionUnchecked {
            let definition = ChainsScript.chain(version: app.version)
            let plan = try definition.plan(for: row.input).deciding(tasks.decisions)
            if plan.workers.isSubset(of: app.workers) { return plan }
        }
        return try ChainPlan.of(row, tasks, app.definition) { app.workers.contains($0) }
    }

    /// Ends an entry together with what was decided because of it.
    func settle(
        _ delivery: SimulatedDelivery, as ending: EntryDelivery.Ending, _ writes: ChainWrites
    ) {
        live[writes.chain]?.unsettled += 1
        var writes = writes
        var apart: [ChainWrites.Intent] = []
        var decided: [(place: Int, ChainWrites.Change)] = []
        if mutation == .chainIntentsApart { swap(&apart, &writes.intents) }
        if mutation == .chainItemLost { loseItem(&writes) }
        if mutation == .chainDecisionApart,
            let index = writes.changes.firstIndex(where: { $0.1.isExpanded })
        {
            decided = [writes.changes.remove(at: index)]
            swap(&apart, &writes.intents)
        }
        if mutation == .chainNextForgotten { writes.name = nil }
        let isForgotten = mutation == .chainFailedForgotten && writes.state == .failed
        let (whole, later, tasks) = (writes, apart, decided)
        var isThere = true
        delivery.whenWritten { [weak self] in
            self?.put(isThere ? .written(whole.chain) : .left(whole.chain))
        }
        delivery.end(ending) { [checker] transaction in
            let shipping = try shipping(transaction)
            isThere = try whole.perform(
                in: shipping.db, shipping.journal, retention: .seconds(7 * 86_400))
            if isForgotten {
                try shipping.db.execute(
                    sql: "DELETE FROM chain WHERE seq = ?", arguments: [whole.chain])
            }
            checker.touched.insert(whole.chain)
        }
        guard !later.isEmpty || !tasks.isEmpty else { return }
        var second = ChainWrites(chain: whole.chain, id: whole.id, name: whole.name)
        (second.changes, second.intents) = (tasks, later)
        let left = second
        journal.write(
            { [checker] transaction in
                let shipping = try shipping(transaction)
                try left.perform(in: shipping.db, shipping.journal, retention: .zero)
                checker.touched.insert(left.chain)
            }, then: { (_: Result<Void, any Error>) in })
    }

    /// The mutation `chainItemLost`.
    private func loseItem(_ writes: inout ChainWrites) {
        for index in writes.changes.indices {
            guard case .expanded(var expansion) = writes.changes[index].1,
                expansion.added.popLast() != nil
            else { continue }
            expansion.count -= 1
            writes.changes[index].1 = .expanded(expansion)
        }
    }

    private func written(_ seq: Int64) {
        guard let chain = live[seq] else { return }
        chain.unsettled -= 1
        notifications?.changed(chain)
        if chain.unsettled == 0 {
            chain.recent = [:]
            if chain.isCalendarOld { readDeadlines(of: [seq]) }
        }
        for place in facts.overdue(in: chain) {
            let (id, name) = (chain.row.id, chain.tasks[place].name)
            journal.write(
                { transaction in
                    let shipping = try shipping(transaction)
                    try ChainReleases.record(id, name, shipping.journal, shipping.db)
                }, then: { (_: Result<Void, any Error>) in })
        }
        if chain.isIdle, chain.machine.state.isEnd || random.chance(0.2) { live[seq] = nil }
    }
}

/// The shipping journal under a transaction: chains have no model of their tables.
func shipping(_ transaction: any DeviceTransaction) throws -> GRDBTransaction {
    guard let shipping = transaction as? GRDBTransaction else {
        throw RepriseError(.internal, "The workload chains is played on the shipping journal.")
    }
    return shipping
}

extension ChainWrites.Change {
    var isExpanded: Bool {
        if case .expanded = self { return true }
        return false
    }
}
