package import RepriseCore
package import RepriseJournal

/// In virtual time what `Journal` is in real time: the shipping machine, the shipping queue of
/// writes, one timer.
///
/// A commit has two latencies: until it takes effect, and until the process hears of it. A kill
/// before the first undoes it; a kill between the two leaves it durable, and nobody knows.
package final class SimulatedJournal {
    package typealias Completion = ((any Error)?) -> Void
    package typealias Body = (Entry, _ done: @escaping Completion) -> Void

    /// The handler of a kind.
    enum Handler {
        case effect(isApplied: ((EntryID) -> Bool)?, body: Body)
        case transaction(SimulatedBatch.Transaction)
        case batch(([SimulatedDelivery]) -> Void)
    }

    private struct Job {
        let run: StoreJob
        /// Called with what the job did, once it is durable; or with why it is not.
        let finish: (Result<Void, any Error>) -> Void
    }

    package let process: SimulatedProcess
    package let opened: any OpenStore
    package private(set) var machine: DispatchMachine
    /// Hears when the journal belongs to somebody else.
    package var lostOwnership: () -> Void = {}
    /// Hears of each commit right when it has taken effect, whether the process does or not.
    package var committed: (_ isDurable: Bool) -> Void = { _ in }
    /// Hears of what was recorded, once it is durable: the newest row of each kind.
    package var recorded: ([String: Int64]) -> Void = { _ in }
    /// Hears that the calendar was set, and what is due with it.
    package var calendarMoved: () -> Void = {}

    private let simulation: Simulation
    private let kinds: [String: EntryKind]
    private let families: KindFamilies
    private var handlers: [String: Handler] = [:]
    private var queue = WriteQueue<Job>()
    /// Nothing waits for the disk: what comes before then is written then, and nobody looks whether
    /// anything has.
    private var resting: Duration?
    private var armed: Duration?
    private var random: SeededRandom
    private var running = Set<Int64>()
    /// What handlers of batches have, by its row: as which attempt.
    private var delivery: [Int64: Int] = [:]
    /// What is to be written with the end of an entry, by its row.
    private var alongside: [Int64: StoreJob] = [:]
    /// Who is told once that is durable.
    private var written: [Int64: () -> Void] = [:]
    private let life: Int

    /// Opens the journal in `store` for this life of `process`.
    package init(
        _ simulation: Simulation, on process: SimulatedProcess, store: any DeviceStore,
        kinds: [EntryKind]
    ) throws {
        self.simulation = simulation
        self.process = process
        life = process.life
        self.kinds = Dictionary(kinds.map { ($0.name, $0) }) { first, _ in first }
        families = KindFamilies(kinds)
        opened = try store.open(by: process, kinds: kinds)
        random = simulation.random("journal of \(process.name) \(process.life)")
        machine = DispatchMachine(
            kinds: simulation.mutation == .ignoreClosedGate ? kinds.map(\.ungated) : kinds)
        simulation.trace(process.name, "opens the journal, incarnation \(opened.incarnation)")
        simulation.whenEnded { [self] in
            (handlers, committed, lostOwnership) = ([:], { _ in }, {})
            (recorded, calendarMoved, written, alongside) = ({ _ in }, {}, [:], [:])
            queue = WriteQueue()
        }
        happened { $0.readinessOpened(.journal) }
        if simulation.mutation == .sleepOpensGates { openAll(after: .seconds(3)) }
    }

    /// The mutation `sleepOpensGates`: time opens gates.
    private func openAll(after wait: Duration) {
        let names = Set(kinds.values.flatMap(\.requires).map(\.name)).sorted()
        simulation.after(wait, on: process) { [self] in
            for name in names { happened { $0.readinessOpened(Readiness(name)) } }
        }
    }

    package var now: Duration { process.clock.uptime() }

    /// How many writes wait.
    package var waiting: Int { queue.count }

    // MARK: Writing

    /// Runs `body` in the next commit, and then `then`, with what it returned.
    package func write<T>(
        _ body: @escaping (any DeviceTransaction) throws -> T,
        then: @escaping (Result<T, any Error>) -> Void
    ) {
        var slot: T?
        enqueue(
            Job(
                run: { slot = try body($0) },
                finish: { result in
                    then(result.flatMap { slot.map(Result.success) ?? .failure(Self.closed) })
                }))
    }

    /// Records an entry; `refused` is called inside of the transaction if it is not taken.
    package func record(
        _ entry: NewEntry,
        refused: @escaping (any DeviceTransaction, any Error) -> Void = { _, _ in },
        then: @escaping (Result<Recorded, any Error>) -> Void
    ) {
        let body = { (transaction: any DeviceTransaction) throws -> Recorded in
            do {
                return try transaction.record(entry)
            } catch {
                refused(transaction, error)
                throw error
            }
        }
        guard simulation.mutation != .acknowledgeBeforeCommit else {
            then(.success(.accepted))
            return write(body, then: { _ in })
        }
        write(body, then: then)
    }

    package func read<T>(_ body: (any DeviceTransaction) throws -> T) throws -> T {
        try opened.read(body)
    }

    private static var closed: RepriseError { WriteQueue<Job>.closed }

    private func enqueue(_ job: Job, last: Bool = false) {
        if let resting, resting < simulation.now { _ = queue.nextGroup() }  // nothing has come
        switch queue.add(job, last: last) {
        case .begin: commitNext()
        case .wait: if let resting { commit(at: resting) }
        case .refuse(let error):
            simulation.after(.zero, on: process) { job.finish(.failure(error)) }
        }
    }

    private func commitNext() { commit(at: simulation.now + latency()) }

    private static let toDisk = SeededRandom.Spread(.microseconds(50), .milliseconds(20))
    private static let fromDisk = SeededRandom.Spread(.microseconds(20), .milliseconds(5))

    private func latency() -> Duration { random.spread(Self.toDisk) }

    private func commit(at moment: Duration) {
        resting = nil
        simulation.after(moment - simulation.now, on: process) { [self] in commitGroup() }
    }

    private func commitGroup() {
        guard let group = queue.nextGroup() else { return }
        guard process.survives("a commit of \(group.count)") else { return }
        let result = Result { try opened.commit(group.map(\.run)) }
        committed((try? result.get()) != nil)
        if case .failure(let error) = result {
            simulation.trace(process.name, "a commit of \(group.count) fails: \(error)")
        }
        simulation.after(random.spread(Self.fromDisk), on: process) {
            [self] in
            guard process.survives("hearing of a commit") else { return }
            hear(group, result)
        }
    }

    private func hear(_ group: [Job], _ result: Result<GroupResult, any Error>) {
        switch result {
        case .success(let outcome):
            if !outcome.news.isEmpty {
                let soonest = outcome.news.soonest(by: process.clock)
                happened { $0.workArrived(kinds: outcome.news.kinds, soonest: soonest) }
                if outcome.news.moved != .zero { calendarMoved() }
                if !outcome.news.recorded.isEmpty { recorded(outcome.news.recorded) }
            }
            // Whoever hears first may reach the end of the process; the dead hear nothing.
            for (job, result) in zip(group, outcome.results)
            where process.life == life && process.state != .dead {
                job.finish(result)
            }
        case .failure(let error):
            for job in group where process.life == life && process.state != .dead {
                job.finish(.failure(error))
            }
            if (error as? RepriseError)?.code == .ownershipLost { lostOwnership() }
        }
        guard process.state != .dead, process.life == life else { return }
        if queue.count > 0 { commitNext() } else { resting = simulation.now + latency() }
    }

    // MARK: Hand-over

    package func setReady(_ readiness: Readiness) {
        simulation.trace(process.name, "opens \(readiness)")
        happened { $0.readinessOpened(readiness) }
    }

    package func setNotReady(_ readiness: Readiness) {
        simulation.trace(process.name, "closes \(readiness)")
        happened { $0.readinessClosed(readiness) }
    }

    /// Sets the handler of a kind; it calls `done` once, now or later.
    package func handle(
        _ kind: String, isApplied: ((EntryID) -> Bool)? = nil, _ body: @escaping Body
    ) {
        let register = { [self] in
            handlers[kind] = .effect(isApplied: isApplied, body: body)
            happened { $0.handlerRegistered(kind: kind, work: .effect) }
        }
        guard kinds[kind]?.onInterruption == .never, isApplied == nil else { return register() }
        write({ try $0.endInterrupted(kind: kind) }, then: { _ in register() })
    }

    /// Sets a handler whose effect is in the journal's transaction; see `EntryTransaction.perform`.
    package func handle(
        _ kind: String, inTransaction body: @escaping (any DeviceTransaction, Entry) throws -> Void
    ) {
        handlers[kind] = .transaction(body)
        happened { $0.handlerRegistered(kind: kind, work: .transaction) }
    }

    /// Sets a handler that is given what was taken together, in order, and says later what became
    /// of each.
    package func handleBatches(of kind: String, _ body: @escaping ([SimulatedDelivery]) -> Void) {
        handlers[kind] = .batch(body)
        happened { $0.handlerRegistered(kind: kind, work: .effect) }
    }

    package func serverTimeReceived(_ time: WallTime) {
        write({ try $0.serverTimeReceived(time) }, then: { _ in })
    }

    private func happened(_ event: (inout DispatchMachine) -> Void) {
        event(&machine)
        switch machine.next(now: now) {
        case .perform(let turn): perform(turn)
        case .wait(let until): arm(until)
        case .none: break
        }
    }

    private func arm(_ until: Duration) {
        guard armed != until else { return }
        armed = until
        simulation.after(max(until - now, .zero), on: process) { [self] in
            guard armed == until else { return }
            armed = nil
            happened { _ in }
        }
    }

    private func perform(_ turn: DispatchBatch) {
        write(
            { [self] in try $0.perform(work(for: turn)) },
            then: { [self] result in
                var told: [() -> Void] = []
                if case .success = result {
                    for acknowledgement in turn.acknowledgements {
                        alongside[acknowledgement.seq] = nil
                        if let one = written.removeValue(forKey: acknowledgement.seq) {
                            told.append(one)
                        }
                    }
                }
                batchEnded(result, told)
            })
    }

    private func work(for turn: DispatchBatch) -> SimulatedBatch {
        var work = SimulatedBatch(turn: turn, gate: machine.gate, transactions: [:], asking: [])
        for take in turn.takes {
            switch handlers[take.kind] {
            case .transaction(let body): work.transactions[take.kind] = body
            case .effect(.some, _): work.asking.insert(take.kind)
            case .effect(nil, _), .batch, nil: break
            }
        }
        for acknowledgement in turn.acknowledgements {
            work.alongside[acknowledgement.seq] = alongside[acknowledgement.seq]
        }
        return work
    }

    private func batchEnded(
        _ result: Result<SimulatedBatch.Outcome, any Error>, _ told: [() -> Void]
    ) {
        let now = now
        switch result {
        case .success(let outcome):
            var starting: [SimulatedBatch.Taken] = []
            happened { machine in
                machine.batchCommitted(outcome.result, now: now)
                for taken in outcome.taken {
                    let entry = taken.entry
                    if machine.mayStart(kind: entry.kind, isReleased: taken.isReleased) {
                        starting.append(taken)
                    } else {
                        machine.handlerEnded(acknowledgement(taken, .notStarted))
                    }
                }
            }
            for one in told { one() }
            for taken in starting { start(taken) }
            deliver(starting)
        case .failure(let error):
            let jitter = random.fraction()
            happened {
                $0.batchFailed(isFinal: DispatchMachine.isFinal(error), now: now, jitter: jitter)
            }
        }
    }

    // MARK: End

    /// Ends the ownership, with what is in flight put back; then calls `then`.
    package func close(then: @escaping () -> Void) {
        happened { $0.closing() }
        let turn = DispatchBatch(acknowledgements: machine.stop())
        let gate = machine.gate
        enqueue(
            Job(
                run: {
                    _ = try $0.perform(
                        SimulatedBatch(turn: turn, gate: gate, transactions: [:], asking: []))
                    try $0.putBackInterrupted()
                }, finish: { _ in then() }), last: true)
    }
}

/// What handlers are given, and what becomes of what they say.
extension SimulatedJournal {
    private func start(_ taken: SimulatedBatch.Taken) {
        guard process.state == .running, process.life == life,
            case .effect(let isApplied, let body)? = handlers[taken.entry.kind],
            process.survives("dispatching \(taken.entry.id)")
        else { return }
        if taken.entry.mayHaveTakenEffect, let isApplied, isApplied(taken.entry.id) {
            return settle(taken, .appliedBefore)
        }
        simulation.trace(
            process.name, "dispatches \(taken.entry.id), attempt \(taken.entry.attempt)")
        running.insert(taken.seq)
        body(taken.entry) { [unowned self] error in
            guard process.life == life, running.remove(taken.seq) != nil else { return }
            settle(taken, disposition(taken, error))
        }
    }

    /// Gives the handlers of batches what is theirs.
    private func deliver(_ taken: [SimulatedBatch.Taken]) {
        for kind in handlers.keys.sorted() {
            guard case .batch(let body)? = handlers[kind] else { continue }
            let batch = taken.filter { families.leader(of: $0.entry.kind) == kind }
            guard !batch.isEmpty, process.state == .running, process.life == life,
                process.survives("dispatching \(batch.count) of \(kind)")
            else { continue }
            body(batch.map(makeDelivery))
        }
    }

    private func makeDelivery(_ taken: SimulatedBatch.Taken) -> SimulatedDelivery {
        delivery[taken.seq] = taken.entry.attempt
        let kind = taken.entry.kind
        let opening = machine.opening(of: kind)
        return SimulatedDelivery(
            entry: taken.entry,
            mayOvertake: { [unowned self] in
                machine.mayOvertake(kind: kind, dispatchedIn: opening)
            },
            whenWritten: { [unowned self] in written[taken.seq] = $0 }
        ) { [unowned self] ending, job in
            guard process.life == life, process.state != .dead,
                delivery[taken.seq] == taken.entry.attempt
            else { return }
            delivery[taken.seq] = nil
            switch ending {
            case .applied: returned(taken, .applied, job)
            case .failed(let error): returned(taken, disposition(taken, error), nil)
            case .ended(let outcome, let reason):
                returned(taken, .ended(outcome, reason: reason), job)
            case .back(let reason, let isInDoubt):
                returned(taken, .back(reason: reason, isInDoubt: isInDoubt), nil)
            case .again(let wait, let reason):
                returned(taken, .retry(after: wait, countsAsFailure: true, reason: reason), job)
            case .postponed(let wait, let reason):
                returned(taken, .retry(after: wait, countsAsFailure: false, reason: reason), job)
            }
        }
    }

    private func returned(
        _ taken: SimulatedBatch.Taken, _ disposition: Acknowledgement.Disposition, _ job: StoreJob?
    ) {
        alongside[taken.seq] = job
        settle(taken, disposition)
    }

    private func disposition(_ taken: SimulatedBatch.Taken, _ error: (any Error)?)
        -> Acknowledgement.Disposition
    {
        guard let error else { return .applied }
        guard let kind = kinds[taken.entry.kind] else { return .notStarted }
        return .after(error, kind: kind, failures: taken.failures, jitter: random.fraction())
    }

    private func settle(_ taken: SimulatedBatch.Taken, _ disposition: Acknowledgement.Disposition) {
        happened { $0.handlerEnded(acknowledgement(taken, disposition)) }
    }

    private func acknowledgement(
        _ taken: SimulatedBatch.Taken, _ disposition: Acknowledgement.Disposition
    ) -> Acknowledgement {
        Acknowledgement(
            seq: taken.seq, kind: taken.entry.kind, partitionKey: taken.entry.partitionKey,
            disposition: disposition)
    }
}
