import DequeModule
import Foundation
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

    enum Event {
        case tasks([SimulatedDelivery])
        case commands([SimulatedDelivery])
        case finished(Key, Result<SimulatedOutputs.Output, any Error>)
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
    private(set) var running: [Key: Running] = [:]
    private let live: SimulatedLiveChains
    private var conditions = DeviceConditions()
    private var awaited: Set<String> = []
    let outputs: SimulatedOutputs
    let scheduler: SimulatedScheduler
    private(set) var notifications: SimulatedNotifications?
    /// Nil: the app is always in the foreground.
    private(set) var time: SimulatedTime?
    private var inbox: Deque<Event> = []
    private var isBusy = true
    /// The process has ended, in the middle of an event perhaps.
    private(set) var isOver = false

    var process: SimulatedProcess { app.process }
    var clock: SimulatedClock { app.process.clock }
    var checker: ChainsChecker { app.device.checker }
    var mutation: Mutation? { simulation.mutation }

    init(_ simulation: Simulation, _ app: SimulatedChainsApp, journal: SimulatedJournal) {
        self.simulation = simulation
        self.app = app
        self.journal = journal
        random = simulation.random("chains of \(app.process.name) \(app.process.life)")
        outputs = SimulatedOutputs(simulation, app, journal)
        scheduler = SimulatedScheduler(simulation, app, journal)
        live = SimulatedLiveChains(simulation, app, journal)
        scheduler.mustReview = { [unowned self] in if !isOver { put(.review) } }
        simulation.whenEnded { [self] in end() }
    }

    func end() {
        isOver = true
        time?.end()
        live.removeAll()
        (inbox, running) = ([], [:])
    }

    func run() {
        guard app.device.longOutputs == 0 || outputs.sweep() || !isOver else { return }
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
        case .left(let seq): live.remove(seq)
        case .late(let key): late(key)
        case .abandoned(let key): abandon(key)
        case .calendarMoved:
            live.readDeadlines(of: live.all.keys.sorted())
            guard mutation != .chainCalendarChangeIgnored else { break }
            return scheduler.lookAtSchedules(then: isDone)
        case .review: return scheduler.lookAtSchedules(then: isDone)
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
                scheduler.reviewSchedules { [self] isWritten in
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

    private func isOpen(_ readiness: Readiness) -> Bool {
        journal.machine.gate.readiness.contains(readiness)
    }

    // MARK: Decisions

    private var facts: ChainFacts {
        ChainFacts(
            wall: { [clock] in clock.wall() },
            now: { [self] in stepped?.now ?? clock.wall() },
            mayExpire: { [self] in stepped?.mayExpire ?? false }, conditions: conditions,
            isOpen: { [self] in isOpen($0) }, hasWorker: { [app] in app.workers.contains($0) },
            jitter: { [self] in random.fraction() })
    }

    private var stepped: SteppedJournal? { (journal.opened as? OpenJournal)?.stepped }

    private func carryOut(
        _ decision: ChainDecision, _ delivery: SimulatedDelivery, isSuccess: Bool = false
    ) {
        var decision = decision
        while let need = decision.next() {
            decision.supply(Result { try bytes(need) })
        }
        awaited.formUnion(decision.awaited)
        let chain = decision.chain
        for place in decision.stops { stopForMachine(place, of: chain) }
        // A former owner may miss files that the new one has swept; it can write nothing.
        if decision.stopsAll, !app.isFormer {
            checker.violated(.recorded, "\(chain.row.id) cannot be read")
        }
        guard !decision.isBare else { return delivery.end(decision.ending, nil) }
        var writes = decision.writes
        if mutation == .chainCompensatesInStartOrder { writes.compensateOldest(of: chain) }
        if mutation == .chainStepBeforeOutcome, isSuccess {
            for intent in writes.intents where !intent.isCompensation {
                startEarly(intent, of: chain)
            }
        }
        settle(delivery, as: decision.ending, writes)
    }

    private func bytes(_ need: ChainDecision.Need) throws -> [Int: [UInt8]] {
        if let recent = need.recent { return [need.place: try outputs.read(recent)] }
        if mutation == .chainDecidesBlindly { return [need.place: Array("\"\"".utf8)] }
        let found = try journal.read {
            try ChainReading.outputs(need.chain, need.places, shipping($0).db)
        }
        return try found.filter { $0 == need.place || $1.file == nil }.mapValues(outputs.read)
    }

    /// The mutation `chainStepBeforeOutcome`.
    private func startEarly(_ intent: ChainWrites.Intent, of chain: LiveChain) {
        let name = chain.tasks[intent.place].name
        SimulatedWork(
            self,
            Key(
                chain: chain.row.seq, place: intent.place, round: intent.round,
                isCompensation: false),
            chain: chain.row.id, task: name, workKey: "\(chain.row.id)/\(name)"
        ).takeEffect()
    }

    /// Ends an entry together with what was decided because of it.
    private func settle(
        _ delivery: SimulatedDelivery, as ending: EntryDelivery.Ending, _ writes: ChainWrites
    ) {
        live[writes.chain]?.unsettled += 1
        var writes = writes
        var apart: [ChainWrites.Intent] = []
        var decided: [(place: Int, ChainWrites.Change)] = []
        if mutation == .chainIntentsApart { swap(&apart, &writes.intents) }
        if mutation == .chainItemLost { writes.loseItem() }
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
        writeApart(second)
    }

    /// What a mutation writes in a transaction of its own.
    private func writeApart(_ writes: ChainWrites) {
        journal.write(
            { [checker] transaction in
                let shipping = try shipping(transaction)
                try writes.perform(in: shipping.db, shipping.journal, retention: .zero)
                checker.touched.insert(writes.chain)
            }, then: { (_: Result<Void, any Error>) in })
    }

    private func written(_ seq: Int64) {
        guard let chain = live[seq] else { return }
        chain.unsettled -= 1
        notifications?.changed(chain)
        if chain.unsettled == 0 {
            chain.recent = [:]
            if chain.isCalendarOld { live.readDeadlines(of: [seq]) }
        }
        for place in facts.overdue(in: chain) {
            let (id, name) = (chain.row.id, chain.tasks[place].name)
            journal.write(
                { transaction in
                    let shipping = try shipping(transaction)
                    try ChainReleases.record(id, name, shipping.journal, shipping.db)
                }, then: { (_: Result<Void, any Error>) in })
        }
        if chain.isIdle, chain.machine.state.isEnd || random.chance(0.2) { live.remove(seq) }
    }

    // MARK: Commands

    private func perform(_ delivery: SimulatedDelivery) {
        guard let command = try? ChainCommand(delivery.entry.payload) else {
            return delivery.end(.failed(DispatchFailure.permanent("malformed")), nil)
        }
        switch command.command {
        case .delete, .clear: return remove(command, delivery)
        case .scheduled: return scheduler.cameDue(command.task, delivery)
        // A tool's alone.
        case .unschedule: return delivery.end(.ended(.superseded, reason: "no schedule"), nil)
        case .pause, .resume, .cancel, .retry, .begin, .look, .release, .late: break
        }
        do {
            let seq = try journal.read { try ChainReading.seq(of: command.chain, shipping($0).db) }
            guard let seq, let chain = try chainOrQuarantine(seq, delivery) else {
                return delivery.end(
                    command.isInternal
                        ? .ended(.superseded, reason: "The chain is gone.")
                        : .failed(DispatchFailure.permanent("No chain has this id.")), nil)
            }
            if let name = chain.nameWanted(for: command.command), try isTaken(name, chain) {
                let outcome: Outcome = command.command == .begin ? .superseded : .dead
                return delivery.end(
                    .ended(outcome, reason: "Another chain of its name goes on."), nil)
            }
            simulation.trace(
                process.name, "\(command.command) \(chain.row.id) \(command.task ?? "")")
            if mutation == .chainCancelForgetsRunning, command.command == .cancel {
                forgetRunning(of: chain)
            }
            carryOut(.perform(command, chain, facts), delivery)
        } catch {
            checker.violated(.recorded, "a chain cannot be read: \(error)")
        }
    }

    private func chainOrQuarantine(_ seq: Int64, _ delivery: SimulatedDelivery) throws
        -> LiveChain?
    {
        do {
            return try live.chain(seq)
        } catch let error as ChainRow.Broken {
            quarantine(seq, error.description, delivery)
            return nil
        }
    }

    /// Its rows cannot be read.
    private func quarantine(_ seq: Int64, _ why: String, _ delivery: SimulatedDelivery) {
        checker.cannotRead(seq, why)
        live.remove(seq)
        for key in running.keys.sorted() where key.chain == seq { stop(key, .machine) }
        let ending = EntryDelivery.Ending.ended(.dead, reason: "corrupt: \(why)")
        guard mutation != .chainDamageOverlooked else { return delivery.end(ending, nil) }
        let notifies = notifications != nil
        var found: ChainQuarantine.Found?
        delivery.whenWritten { [weak self] in
            if let found { self?.notifications?.quarantined(found.id) }
        }
        delivery.end(ending) { [checker] transaction in
            let shipping = try shipping(transaction)
            found = try ChainQuarantine.write(
                seq, why: why, retention: .seconds(7 * 86_400), shipping.db, shipping.journal,
                notifies: { _ in notifies })
            checker.touched.insert(seq)
        }
    }

    private func remove(_ command: ChainCommand, _ delivery: SimulatedDelivery) {
        journal.write(
            { [checker, mutation] transaction -> [String] in
                let shipping = try shipping(transaction)
                let db = shipping.db
                // Whatever leaves: all of them are looked at, before and after.
                let before = try Row.fetchAll(db, sql: "SELECT seq, id, state FROM chain")
                let names = try Self.removeRows(command, shipping, mutation)
                for row in before {
                    let (seq, id, state): (Int64, String, Int) = (row[0], row[1], row[2])
                    checker.touched.insert(seq)
                    guard try ChainReading.seq(of: id, db) == nil else { continue }
                    checker.leaves(id, in: ChainState(rawValue: state) ?? .quarantined)
                }
                if mutation == .chainNumberAgain { try db.execute(sql: "DELETE FROM chainNumber") }
                return names
            },
            then: { [self] (result: Result<[String], any Error>) in
                switch result {
                case .success(let names):
                    guard names.isEmpty || process.survives("removing files") else { return }
                    outputs.remove(names)
                    delivery.end(.applied, nil)
                    notifications?.removed()
                case .failure(let error):
                    delivery.end(.failed(DispatchFailure.notReady("\(error)")), nil)
                }
            })
    }

    /// - Returns: the files that belonged to them.
    private static func removeRows(
        _ command: ChainCommand, _ shipping: GRDBTransaction, _ mutation: Mutation?
    ) throws -> [String] {
        let db = shipping.db
        guard command.command == .delete else {
            let age = Duration.seconds(command.seconds ?? 0)
            return try ChainRemoval.page(
                after: .min, endedBefore: shipping.journal.now.advanced(by: .zero - age), db
            ).files
        }
        if mutation == .chainDeletesOpen {
            try db.execute(sql: "DELETE FROM chain WHERE id = ?", arguments: [command.chain])
        }
        guard case .removed(let files) = try ChainRemoval.remove(command.chain, db) else {
            return []
        }
        return files
    }

    private func isTaken(_ name: String, _ chain: LiveChain) throws -> Bool {
        let others = try journal.read {
            try ChainReading.goingOn(named: name, but: chain.row.seq, shipping($0).db)
        }
        return chain.isTaken(name, by: others, live.all)
    }

    private func forgetRunning(of chain: LiveChain) {
        for key in running.keys.sorted() where key.chain == chain.row.seq {
            running[key] = nil
            _ = chain.machine.requeued(key.place)
        }
    }

    // MARK: Tasks

    private func begin(_ delivery: SimulatedDelivery) {
        guard
            let payload = try? JSONDecoder().decode(
                IntentPayload.self, from: Data(delivery.entry.payload))
        else { return delivery.end(.failed(DispatchFailure.permanent("malformed")), nil) }
        do {
            guard let chain = try live.chain(payload.chain) else {
                return delivery.end(.ended(.superseded, reason: "The chain is gone."), nil)
            }
            if mutation == .chainDroppedNotSuspended, chain.trouble != nil,
                !chain.machine.state.isEnd
            {
                return delivery.end(.ended(.superseded, reason: "dropped"), nil)
            }
            switch ChainDecision.begin(payload, attempt: delivery.entry.attempt, of: chain, facts) {
            case .decided(let decision): carryOut(decision, delivery)
            case .run: start(payload, of: chain, delivery)
            }
        } catch let error as ChainRow.Broken {
            quarantine(payload.chain, error.description, delivery)
        } catch {
            checker.violated(.recorded, "a chain cannot be read: \(error)")
        }
    }

    private func start(_ payload: IntentPayload, of chain: LiveChain, _ delivery: SimulatedDelivery)
    {
        guard process.survives("starting a worker") else { return }
        let (place, seq) = (payload.place, chain.row.seq)
        let row = chain.tasks[place]
        let key = Key(
            chain: seq, place: place, round: payload.round, isCompensation: payload.isCompensation)
        let attempts =
            chain.attempts(of: place, isCompensation: payload.isCompensation)
            + delivery.entry.attempt
        let kept = try? journal.read {
            try ChainReading.work(
                seq, place, isCompensation: payload.isCompensation, shipping($0).db)
        }
        guard chain.inputs.removeValue(forKey: place) ?? kept?.input != nil else {
            return checker.violated(.recorded, "the input of \(row.name) is missing")
        }
        guard isOpen(Chains.budgetReadiness) else {
            return carryOut(.outOfTime(payload, of: chain, facts), delivery)
        }
        if process === app.device.process, !app.isFormer {
            app.device.system?.begins("\(row.name) of \(chain.row.id)")
        }
        var name = chain.key(of: place, isCompensation: payload.isCompensation)
        if mutation == .chainKeyPerAttempt { name += "/\(attempts)" }
        let work = SimulatedWork(
            self, key, chain: chain.row.id, task: row.name, workKey: name)
        running[key] = Running(
            delivery: delivery, work: work, started: clock.wall(), attempts: attempts)
        checker.began(running.values.count { $0.stop == nil })
        work.begin()
        if payload.isCompensation {
            alarm(.late(key), after: Self.compensationDeadline, work)
        } else if let deadline = row.deadline {
            alarm(.late(key), after: clock.wall().duration(to: deadline), work)
        }
    }

    private static let compensationDeadline: Duration = .seconds(600)
    private static let cancelGrace: Duration = .seconds(10)

    /// For a worker that runs then.
    private func alarm(_ event: Event, after wait: Duration, _ work: SimulatedWork) {
        simulation.after(max(wait, .zero), on: process) { [self] in
            guard running[work.key]?.work === work else { return }
            put(event)
        }
    }

    private func late(_ key: Key) {
        guard let run = running[key], run.stop == nil else { return }
        stop(key, .late)
        alarm(.abandoned(key), after: Self.cancelGrace, run.work)
    }

    private func stopForMachine(_ place: Int, of chain: LiveChain) {
        for key in running.keys.sorted() where key.chain == chain.row.seq && key.place == place {
            stop(key, .machine)
            guard chain.machine.state == .cancelling || chain.machine.state == .failing,
                let work = running[key]?.work
            else { continue }
            alarm(.abandoned(key), after: Self.cancelGrace, work)
        }
    }

    private func finished(_ key: Key, _ result: Result<SimulatedOutputs.Output, any Error>) {
        guard let run = running.removeValue(forKey: key) else { return }  // it was given up
        if mutation == .chainInterruptedEnds, run.stop == .budget, case .failure = result {
            return run.delivery.end(.ended(.superseded, reason: "There was no time."), nil)
        }
        guard let chain = live[key.chain] else {
            return run.delivery.end(.ended(.dead, reason: "corrupt"), nil)
        }
        switch result {
        case .success(let done):
            if mutation == .chainStepAfterAny, !key.isCompensation {
                endOthers(key.place, of: chain)
            }
            carryOut(
                .succeeded(
                    key.payload, of: chain, done.bytes, done.stored, run.attempt, facts),
                run.delivery, isSuccess: true)
        case .failure(let error): failed(key, chain, error, run)
        }
    }

    /// The mutation `chainStepAfterAny`.
    private func endOthers(_ place: Int, of chain: LiveChain) {
        for other in chain.machine.currentPlaces where other != place {
            _ = chain.machine.ended(other, as: .succeeded)
        }
    }

    private func failed(_ key: Key, _ chain: LiveChain, _ error: any Error, _ run: Running) {
        let former = chain.tasks[key.place].failures
        // What fails in a former owner's process, nobody can write down.
        if !app.isFormer, run.stop == nil, (error as? DispatchFailure)?.advice != .notReady,
            let task = chain.plan?.tasks[key.place]
        {
            checker.failed(chain.row.id, task.name, key.isCompensation, most: task.attempts)
        }
        var decision = ChainDecision.failed(key.payload, of: chain, error, run.attempt, facts)
        if mutation == .chainRetryForgetsFailures, case .again = decision.ending {
            chain.tasks[key.place].failures = former
            decision.writes.changes.removeAll {
                guard case .failure = $0.1 else { return false }
                return true
            }
        }
        carryOut(decision, run.delivery)
    }

    /// It was told to stop and did not: what it says later counts no more.
    private func abandon(_ key: Key) {
        guard let run = running.removeValue(forKey: key), let chain = live[key.chain] else {
            return
        }
        carryOut(.abandoned(key.payload, of: chain, run.attempt, facts), run.delivery)
        guard mutation == .chainAbandonedCounts, !key.isCompensation else { return }
        run.work.whenFinished = { [self] in
            var writes = ChainWrites(chain: key.chain, id: chain.row.id, name: nil)
            writes.changes.append(
                (
                    key.place,
                    .ended(.succeeded, output: nil, attempts: 1, started: nil, error: nil)
                ))
            writeApart(writes)
        }
    }
}

/// The shipping journal under a transaction: chains have no model of their tables.
func shipping(_ transaction: any DeviceTransaction) throws -> GRDBTransaction {
    guard let shipping = transaction as? GRDBTransaction else {
        throw RepriseError(.internal, "The workload chains is played on the shipping journal.")
    }
    return shipping
}
