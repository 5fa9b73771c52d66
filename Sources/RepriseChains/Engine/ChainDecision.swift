import DequeModule
import RepriseCore
package import RepriseJournal

/// The decisions about one chain after one event: the entry's end, the writes with it, and the
/// workers to cancel.
///
/// It performs no I/O. ``next()`` names the outputs it needs; its driver reads them and calls
/// ``supply(_:)``. The engine and the simulation drive the same decisions, so the tested code is
/// the shipping code.
package struct ChainDecision {
    /// Outputs that the input of a task takes.
    package struct Need: Sendable {
        package let chain: Int64
        package let place: Int
        /// Its neighbours, which are likely to be asked for next.
        package let places: Range<Int>
        /// It was made and may not be in its row yet.
        package let recent: StoredOutput?
    }

    package enum Beginning {
        case run(worker: String)
        case decided(ChainDecision)
    }

    package let chain: LiveChain
    package let ending: EntryDelivery.Ending
    /// Only the end of the entry is written.
    package let isBare: Bool
    package var writes: ChainWrites
    /// Places whose workers should stop.
    package private(set) var stops: [Int] = []
    /// The chain is out of the way: all its workers should stop.
    package private(set) var stopsAll = false
    /// Kinds of entries with a waiting task from now on.
    package private(set) var awaited: Set<String> = []
    /// The error of reading.
    package private(set) var trouble: (any Error)?
    private let facts: ChainFacts
    private var left: Deque<ChainMachine.Action> = []
    private var making: TaskInput?
    /// What tasks of this step have decided, which becomes tasks together.
    private var decided: [(place: Int, json: [UInt8])] = []

    private init(
        _ chain: LiveChain, _ ending: EntryDelivery.Ending, _ facts: ChainFacts,
        isBare: Bool = false
    ) {
        (self.chain, self.ending, self.facts, self.isBare) = (chain, ending, facts, isBare)
        let row = chain.row
        writes = isBare ? ChainWrites(chain: row.seq, id: row.id, name: row.name) : chain.writes()
    }

    /// The row's mark of a released wait.
    private static let released = "released"
    /// It waits until the outputs that its input takes can be read.
    private static let disk = "disk"

    // MARK: Carrying out

    private mutating func add(_ actions: [ChainMachine.Action]) { left += actions }

    /// Continues until it is done, or needs outputs.
    ///
    /// - Returns: the needed outputs; nil: it is done.
    package mutating func next() -> Need? {
        while true {
            if let need = make() { return need }
            if !left.isEmpty {
                carryOut(left.removeFirst())
            } else if decided.isEmpty {
                return nil
            } else {
                expand()
            }
        }
    }

    /// The outputs that ``next()`` requested.
    package mutating func supply(_ outputs: Result<[Int: [UInt8]], any Error>) {
        guard let input = making else { return }
        do {
            try making?.supply(outputs, in: chain)
        } catch let error as ChainRow.Broken {
            trouble = error
            cannotMake(input.place, isCompensation: input.isCompensation, error)
        } catch {
            trouble = error
            makeLater(input)
        }
    }

    private mutating func carryOut(_ action: ChainMachine.Action) {
        switch action {
        case .intend(let place): intend(place)
        case .compensation(let place):
            guard chain.plan?.tasks[place].compensation != nil else { return }
            making = TaskInput(of: place, isCompensation: true, isFirst: false)
        case .stop(let place): stops.append(place)
        case .withdraw(let place):
            writes.withdrawn += chain.entries(of: place)
            end(place, .cancelled)
        case .reset(let place, let isTakenBack):
            if isTakenBack { chain.tasks[place].takenBack += 1 }
            (chain.tasks[place].failures, chain.tasks[place].compensationAttempts) = (0, 0)
            chain.tasks[place].round += 1
            (chain.tasks[place].deadline, chain.tasks[place].intendedAt) = (nil, nil)
            chain.tasks[place].hasInput = false
            writes.changes.append((place, .reset))
        case .become(let state): writes.state = state
        }
    }

    private mutating func end(
        _ place: Int, _ state: TaskState, output: StoredOutput? = nil, attempts: Int? = nil,
        started: WallTime? = nil, error: String? = nil
    ) {
        if let attempts { chain.tasks[place].attempts = attempts }
        let attempts = chain.tasks[place].attempts
        writes.changes.append(
            (
                place,
                .ended(state, output: output, attempts: attempts, started: started, error: error)
            ))
    }

    // MARK: Intents

    private mutating func intend(_ place: Int) {
        guard let plan = chain.plan else { return }
        let task = plan.tasks[place]
        let isFirst = chain.tasks[place].intendedAt == nil
        if isFirst {
            let now = facts.wall()
            chain.tasks[place].intendedAt = now
            chain.tasks[place].deadline = task.deadline.map { now.advanced(by: $0) }
        }
        if let wait = task.wait { return self.wait(wait, place, isFirst) }
        guard !chain.tasks[place].hasInput else {
            return keepIntent(place, nil, isCompensation: false, isFirst: isFirst)
        }
        making = TaskInput(of: place, isCompensation: false, isFirst: isFirst)
    }

    private mutating func keepIntent(
        _ place: Int, _ input: [UInt8]?, isCompensation: Bool, isFirst: Bool
    ) {
        // Its next wait sets another: else one would be left of each until the deadline.
        if !isFirst, !isCompensation, chain.tasks[place].deadline != nil {
            writes.withdrawn.append(chain.lateID(of: place))
        }
        chain.tasks[place].round += 1
        chain.tasks[place].hold = nil
        if let input {
            chain.inputs[place] = input.count <= ChainsLimits.inlineBytes ? input : nil
            chain.tasks[place].hasInput = true
        }
        writes.intents.append(
            ChainWrites.Intent(
                place: place, isCompensation: isCompensation, round: chain.tasks[place].round,
                input: input,
                deadline: chain.plan?.tasks[place].deadline, isFirst: isFirst))
    }

    private mutating func wait(_ target: WaitTarget, _ place: Int, _ isFirst: Bool) {
        if case .readiness(let name) = target, facts.isOpen(Readiness(name)) {
            return arrived(place)
        }
        // It came while the chain could not continue.
        if chain.tasks[place].hold == Self.released { return arrived(place) }
        chain.tasks[place].hold = target.text
        if case .entry(let kind) = target { awaited.insert(kind) }
        let deadline = isFirst ? chain.plan?.tasks[place].deadline : nil
        writes.changes.append(
            (place, .held(target.text, isCompensation: false, attempts: 0, deadline: deadline)))
        if let deadline { remind(place, after: deadline) }
        add(chain.machine.held(place, isCompensation: false))
    }

    /// Sets a timer for a waiting task's deadline, as no worker runs it.
    private mutating func remindOfDeadline(_ place: Int) {
        guard let deadline = chain.tasks[place].deadline else { return }
        remind(place, after: facts.wall().duration(to: deadline))
    }

    private mutating func remind(_ place: Int, after wait: Duration) {
        writes.commands.append(
            (
                ChainCommand(.late, chain: chain.row.id, task: chain.tasks[place].name),
                id: chain.lateID(of: place), delay: wait
            ))
    }

    /// The condition of a wait is met.
    private mutating func arrived(_ place: Int) {
        chain.tasks[place].hold = nil
        end(place, .succeeded)
        if chain.tasks[place].deadline != nil { writes.withdrawn.append(chain.lateID(of: place)) }
        add(chain.machine.ended(place, as: .succeeded))
    }

    // MARK: Inputs

    private mutating func make() -> Need? {
        guard let input = making, let task = chain.plan?.tasks[input.place] else { return nil }
        do {
            switch try making?.make(task, in: chain) {
            case .need(let need): return need
            case .made(let bytes): made(input, bytes)
            case nil: break
            }
        } catch {
            cannotMake(input.place, isCompensation: input.isCompensation, error)
        }
        return nil
    }

    private mutating func made(_ task: TaskInput, _ input: [UInt8]) {
        making = nil
        if chain.plan?.tasks[task.place].isChoice == true {
            return decided.append((task.place, input))
        }
        if task.isCompensation {
            chain.tasks[task.place].failures = 0
            writes.changes.append((task.place, .failure(count: 0, error: "", isCompensation: true)))
        }
        keepIntent(task.place, input, isCompensation: task.isCompensation, isFirst: task.isFirst)
    }

    /// The disk does not give the outputs now: the task waits, and a command releases it.
    private mutating func makeLater(_ task: TaskInput) {
        making = nil
        let (place, isCompensation) = (task.place, task.isCompensation)
        let attempts = chain.attempts(of: place, isCompensation: isCompensation)
        let deadline =
            task.isFirst && !isCompensation ? chain.plan?.tasks[place].deadline : nil
        chain.tasks[place].hold = Self.disk
        writes.changes.append(
            (
                place,
                .held(
                    Self.disk, isCompensation: isCompensation, attempts: attempts,
                    deadline: deadline)
            ))
        if let deadline { remind(place, after: deadline) }
        let release = ChainCommand(
            .release, chain: chain.row.id, task: chain.tasks[place].name)
        writes.commands.append((release, id: nil, delay: ChainsLimits.readRetry))
        add(chain.machine.held(place, isCompensation: isCompensation))
    }

    private mutating func cannotMake(_ place: Int, isCompensation: Bool, _ error: any Error) {
        making = nil
        if let error = error as? ChainRow.Broken { return broken(error) }
        guard !isCompensation else {
            writes.changes.append((place, .compensated(.failed, error: "undo: \(error)")))
            return add(chain.machine.compensated(place, .failed))
        }
        let reason = "The input cannot be made: \(error)"
        end(place, .failed, error: reason)
        writes.reason = "\(chain.tasks[place].name): \(reason)"
        add(chain.machine.ended(place, as: .failed))
    }

    // MARK: Decisions of tasks

    /// Decisions become durable together with the tasks that follow from them.
    private mutating func expand() {
        let (decided, plan) = (self.decided, chain.plan)
        self.decided = []
        guard let plan else { return }
        func deciding(_ decided: [(place: Int, json: [UInt8])]) throws -> ChainPlan {
            try plan.deciding(
                Dictionary(uniqueKeysWithValues: decided.map { (plan.tasks[$0].name, $1) }))
        }
        do {
            let new = try deciding(decided)
            writes.changes.append((0, .expanded(try chain.expand(to: new))))
            for (place, json) in decided {
                (chain.tasks[place].hasInput, chain.tasks[place].decision) = (true, json)
                writes.changes.append((place, .decided(json)))
            }
            // Its tasks are held, as with a version that lacks the worker.
            if let missing = new.missingWorker(facts.hasWorker) { chain.trouble = "\(missing)" }
            for (place, _) in decided { add(chain.machine.ended(place, as: .succeeded)) }
        } catch {
            // Of several, the one that cannot even be decided alone.
            let first = decided.first { one in (try? deciding([one])) == nil }
            guard let place = (first ?? decided.last)?.place else { return }
            cannotMake(place, isCompensation: false, error)
        }
    }

    /// The chain alone is taken out of the way.
    private mutating func broken(_ error: ChainRow.Broken) {
        writes.reason = "corrupt: \(error)"
        stopsAll = true
        add(chain.machine.quarantined())
    }

    // MARK: Commands

    /// Evaluates the chain's state; the entry only triggers it.
    private static func look(_ chain: LiveChain, _ facts: ChainFacts) -> ChainDecision {
        let reason = "It was decided about otherwise."
        var decision = ChainDecision(chain, .ended(.superseded, reason: reason), facts)
        decision.add(chain.machine.decide())
        return decision
    }

    /// Suspends a chain that this version of the app cannot continue; nothing is dropped.
    private static func suspend(
        _ chain: LiveChain, _ facts: ChainFacts, holding payload: IntentPayload? = nil,
        attempt: Int = 0
    ) -> ChainDecision {
        var decision = ChainDecision(chain, .ended(.superseded, reason: "parked"), facts)
        if chain.machine.state != .suspended {
            decision.writes.log.append((nil, "Suspended: \(chain.trouble ?? "")"))
        }
        decision.writes.reason = chain.suspendedReason
        decision.add(chain.machine.suspended())
        decision.writes.state = .suspended
        if let payload, chain.tasks.indices.contains(payload.place),
            chain.tasks[payload.place].round == payload.round,
            chain.machine.dispatched(payload.place, isCompensation: payload.isCompensation)
                != .stale
        {
            decision.hold(payload, "parked", attempt: attempt)
            decision.add(chain.machine.held(payload.place, isCompensation: payload.isCompensation))
        }
        return decision
    }

    /// Performs a command of the app, of a tool, or of the feature itself.
    package static func perform(
        _ command: ChainCommand, _ chain: LiveChain, _ facts: ChainFacts
    ) -> ChainDecision {
        let verb = command.command
        // Without its definition the compensations are unknown: it must not end without them.
        if let unrecoverable = suspendUnrecoverable(command, chain, facts) { return unrecoverable }
        let takesBack = [.failing, .cancelling].contains(chain.machine.state)
        if chain.trouble != nil,
            takesBack || [.resume, .retry, .begin, .look, .release].contains(verb),
            !chain.machine.state.isEnd, chain.machine.state != .queued || verb == .begin
        {
            if verb == .release, let place = command.task.flatMap(chain.place(of:)) {
                chain.tasks[place].hold = Self.released
            }
            // Nor does a pause end because the app has changed.
            guard chain.machine.state == .paused, verb == .release || verb == .look else {
                return suspend(chain, facts)
            }
            return ChainDecision(chain, .applied, facts, isBare: true)
        }
        if verb == .retry, chain.plan == nil {
            let failure = DispatchFailure.permanent(chain.trouble ?? "It cannot go on.")
            return ChainDecision(chain, .failed(failure), facts, isBare: true)
        }
        var decision = ChainDecision(chain, .applied, facts)
        decision.perform(command)
        return decision
    }

    private mutating func perform(_ command: ChainCommand) {
        if chain.machine.state == .suspended, chain.trouble == nil {
            writes.reason = chain.reasonToTakeBack
        }
        switch command.command {
        case .pause: add(chain.machine.paused())
        case .resume: add(chain.machine.resumed())
        case .cancel:
            writes.reason = "It was cancelled."
            add(chain.machine.cancelled())
        case .retry: add(chain.machine.retried())
        case .begin: add(chain.machine.begun())
        case .look:
            // The app may now have what a suspended chain needs.
            add(
                chain.machine.state == .suspended ? chain.machine.resumed() : chain.machine.decide()
            )
        case .release: release(command.task)
        case .late: late(command.task)
        // Of what has ended, or of no chain: the engine does them.
        case .delete, .clear, .unschedule, .scheduled: break
        }
    }

    private mutating func release(_ name: String?) {
        guard let name, let place = chain.place(of: name) else { return }
        if chain.plan?.tasks[place].wait != nil, chain.machine.slots[place].state == .held {
            // A pause keeps what has arrived.
            return arrived(place)
        }
        add(chain.machine.released(place))
    }

    private mutating func late(_ name: String?) {
        guard let name else {
            writes.reason = "timedOut: It was not done in time."
            return add(chain.machine.failed())
        }
        // A retry, or a wait that began anew, has a deadline of its own: this is not it.
        guard let place = chain.place(of: name), chain.machine.slots[place].state == .held,
            let deadline = chain.tasks[place].deadline,
            deadline <= facts.now().advanced(by: .seconds(1))
        else { return }
        let reason = "timedOut: What it waits for did not come in time."
        end(place, .failed, error: reason)
        writes.reason = "\(chain.tasks[place].name): \(reason)"
        guard chain.isUnrecoverable, chain.machine.state == .running else {
            return add(chain.machine.ended(place, as: .failed))
        }
        // Suspended first: else its effects would stay for ever.
        add(chain.machine.suspended() + chain.machine.ended(place, as: .failed))
        writes.reason = chain.suspendedReason
    }

    // MARK: Unrecoverable chains

    // They should end while this version of the app lacks their definition. Such a chain stays
    // suspended with that reason, and compensates once an app knows it; a second `cancel` leaves
    // its effects.

    /// - Returns: nil if that is not the question.
    private static func suspendUnrecoverable(
        _ command: ChainCommand, _ chain: LiveChain, _ facts: ChainFacts
    ) -> ChainDecision? {
        guard chain.isUnrecoverable, [.running, .paused, .suspended].contains(chain.machine.state)
        else {
            return nil
        }
        switch command.command {
        case .cancel:
            return chain.machine.state == .suspended && chain.machine.isToTakeBack
                ? leave(chain, facts) : suspendUnrecoverable(chain, facts, isLate: false)
        case .late where command.task == nil:
            return chain.machine.isToTakeBack
                ? suspend(chain, facts) : suspendUnrecoverable(chain, facts, isLate: true)
        case .late, .pause, .resume, .retry, .begin, .look, .release, .delete, .clear,
            .unschedule, .scheduled:
            return nil
        }
    }

    private static func suspendUnrecoverable(
        _ chain: LiveChain, _ facts: ChainFacts, isLate: Bool
    ) -> ChainDecision {
        var decision = ChainDecision(chain, .applied, facts)
        let open = chain.machine.currentPlaces.first { !chain.machine.slots[$0].state.isEnd }
        if isLate, let open {
            // A task has failed: that is how its rows say that it was late, and not cancelled.
            let error = "timedOut: The chain was not done in time."
            decision.end(open, .failed, error: error)
            decision.writes.withdrawn += chain.entries(of: open)
            decision.add(chain.machine.suspended() + chain.machine.ended(open, as: .failed))
        }
        decision.add(chain.machine.unrecoverable())
        decision.writes.state = .suspended
        decision.writes.reason = chain.suspendedReason
        decision.writes.log.append((nil, "Suspended: \(chain.suspendedReason ?? "")"))
        return decision
    }

    /// A second cancel does not wait for a version that knows the chain.
    private static func leave(_ chain: LiveChain, _ facts: ChainFacts) -> ChainDecision {
        var decision = ChainDecision(chain, .applied, facts)
        let why = "Nothing more is taken back of what it did: \(chain.trouble ?? "")"
        for place in chain.tasks.indices {
            guard [.intended, .held].contains(chain.machine.slots[place].compensation) else {
                continue
            }
            decision.writes.changes.append((place, .compensated(.failed, error: "undo: \(why)")))
            decision.writes.withdrawn += chain.entries(of: place)
            decision.add(chain.machine.compensated(place, .failed))
        }
        decision.writes.reason = "\(LiveChain.leftReason) \(why)"
        decision.writes.log.append((nil, why))
        decision.add(chain.machine.cancelled())
        return decision
    }

    // MARK: Intents and runs

    /// An intent was dispatched.
    package static func begin(
        _ payload: IntentPayload, attempt: Int, of chain: LiveChain, _ facts: ChainFacts
    ) -> Beginning {
        let (place, isCompensation) = (payload.place, payload.isCompensation)
        // A task held now has not used an attempt.
        let attempt = max(attempt - 1, 0)
        // Each of its intents is held, not the first alone: the others would be lost with their
        // entries.
        if chain.trouble != nil, !chain.machine.state.isEnd, chain.machine.state != .paused {
            return .decided(suspend(chain, facts, holding: payload, attempt: attempt))
        }
        guard chain.tasks.indices.contains(place), chain.tasks[place].round == payload.round
        else { return .decided(look(chain, facts)) }
        func hold(_ why: String) -> Beginning {
            .decided(self.hold(payload, of: chain, why, attempt: attempt, facts))
        }
        switch chain.machine.dispatched(place, isCompensation: isCompensation) {
        case .stale: return .decided(look(chain, facts))
        case .hold(let why): return hold(why)
        case .run: break
        }
        guard chain.row.constraints.areMet(by: facts.conditions) else { return hold("conditions") }
        if let deadline = chain.tasks[place].deadline, !isCompensation, deadline <= facts.now(),
            facts.mayExpire()
        {
            let reason = "timedOut: It was not done in time."
            return .decided(fail(payload, of: chain, reason, nil, facts))
        }
        guard let task = chain.plan?.tasks[place],
            let name = isCompensation ? task.compensation?.worker : task.worker,
            facts.hasWorker(name)
        else { return hold("parked") }
        return .run(worker: name)
    }

    /// Its worker has done it.
    package static func succeeded(
        _ payload: IntentPayload, of chain: LiveChain, _ bytes: [UInt8], _ output: StoredOutput,
        _ attempt: ChainAttempt, _ facts: ChainFacts
    ) -> ChainDecision {
        var decision = ChainDecision(chain, .applied, facts)
        let place = payload.place
        if payload.isCompensation {
            decision.writes.changes.append((place, .compensated(.compensated, error: nil)))
            decision.add(chain.machine.compensated(place, .compensated))
        } else {
            chain.keep(bytes, of: place)
            chain.recent[place] = output
            chain.tasks[place].outputBytes = output.count
            decision.end(
                place, .succeeded, output: output, attempts: attempt.attempts,
                started: attempt.started)
            decision.add(chain.machine.ended(place, as: .succeeded))
        }
        return decision
    }

    /// Its worker has failed or was cancelled.
    package static func failed(
        _ payload: IntentPayload, of chain: LiveChain, _ error: any Error,
        _ attempt: ChainAttempt, _ facts: ChainFacts
    ) -> ChainDecision {
        func hold(_ why: String) -> ChainDecision {
            self.hold(payload, of: chain, why, attempt: attempt.ofEntry, facts)
        }
        switch attempt.stop {
        case .late where payload.isCompensation:
            let error = RepriseError(.timedOut, "Its effect was not taken back in time.")
            return tryAgain(payload, of: chain, error, attempt, facts)
        case .late:
            return fail(payload, of: chain, "timedOut: It was not done in time.", attempt, facts)
        case .budget: return back(payload, of: chain, facts)
        case .conditions:
            return chain.row.constraints.areMet(by: facts.conditions)
                ? back(payload, of: chain, facts) : hold("conditions")
        case .machine:
            switch chain.machine.state {
            case .paused: return hold("paused")
            case .suspended: return hold("parked")
            case .failing, .cancelling:
                return cancelled(payload, of: chain, attempt, "It was told to stop.", facts)
            case .queued, .running, .succeeded, .failed, .cancelled, .quarantined:
                return back(payload, of: chain, facts)
            }
        case nil: return tryAgain(payload, of: chain, error, attempt, facts)
        }
    }

    /// It was cancelled and did not end: its later results are ignored.
    package static func abandoned(
        _ payload: IntentPayload, of chain: LiveChain, _ attempt: ChainAttempt, _ facts: ChainFacts
    ) -> ChainDecision {
        guard attempt.stop != .late else {
            return failed(payload, of: chain, CancellationError(), attempt, facts)
        }
        let reason = "It did not stop in time, and was given up."
        return cancelled(payload, of: chain, attempt, reason, facts)
    }

    /// The time was over between its dispatch and its beginning.
    ///
    /// It goes back: nobody would interrupt it any more.
    package static func outOfTime(
        _ payload: IntentPayload, of chain: LiveChain, _ facts: ChainFacts
    ) -> ChainDecision {
        back(payload, of: chain, facts)
    }

    // MARK: Outcomes

    private static func back(
        _ payload: IntentPayload, of chain: LiveChain, _ facts: ChainFacts
    ) -> ChainDecision {
        let reason = "There was no time."
        let actions = chain.machine.requeued(payload.place)
        guard !actions.isEmpty else {
            return ChainDecision(chain, .back(reason: reason), facts, isBare: true)
        }
        // Decisions made meanwhile waited for this one: they are written with its return.
        var decision = ChainDecision(chain, .again(after: .zero, reason: reason), facts)
        decision.add(actions)
        return decision
    }

    private static func tryAgain(
        _ payload: IntentPayload, of chain: LiveChain, _ error: any Error,
        _ attempt: ChainAttempt, _ facts: ChainFacts
    ) -> ChainDecision {
        guard let task = chain.plan?.tasks[payload.place] else {
            return back(payload, of: chain, facts)
        }
        let (place, reason) = (payload.place, "\(error)")
        let failures = chain.tasks[place].failures + 1
        var wait = task.backoff.delay(failures: failures, jitter: facts.jitter())
        switch (error as? DispatchFailure)?.advice {
        case .permanent: return fail(payload, of: chain, reason, attempt, facts)
        case .notReady:
            var decision = ChainDecision(chain, .again(after: wait, reason: reason), facts)
            decision.add(chain.machine.requeued(place))
            return decision
        case .retry(let asked): wait = max(asked, .zero)
        case nil: break
        }
        guard failures < task.attempts else {
            return fail(payload, of: chain, reason, attempt, facts)
        }
        if let deadline = chain.tasks[place].deadline, !payload.isCompensation {
            wait = min(wait, max(facts.wall().duration(to: deadline), .zero))
        }
        chain.tasks[place].failures = failures
        var decision = ChainDecision(chain, .again(after: wait, reason: reason), facts)
        decision.writes.changes.append(
            (
                place,
                .failure(count: failures, error: reason, isCompensation: payload.isCompensation)
            ))
        decision.add(chain.machine.requeued(place))
        return decision
    }

    /// For good.
    private static func fail(
        _ payload: IntentPayload, of chain: LiveChain, _ reason: String,
        _ attempt: ChainAttempt?, _ facts: ChainFacts
    ) -> ChainDecision {
        var decision = ChainDecision(chain, .ended(.dead, reason: reason), facts)
        let place = payload.place
        if attempt != nil {
            chain.tasks[place].failures += 1
            decision.writes.changes.append(
                (
                    place,
                    .failure(
                        count: chain.tasks[place].failures, error: reason,
                        isCompensation: payload.isCompensation)
                ))
        }
        if payload.isCompensation {
            decision.writes.changes.append((place, .compensated(.failed, error: "undo: \(reason)")))
            decision.writes.log.append((place, "Its effect could not be taken back: \(reason)"))
            decision.add(chain.machine.compensated(place, .failed))
        } else {
            decision.end(
                place, .failed, attempts: attempt?.attempts, started: attempt?.started,
                error: reason)
            decision.writes.reason = "\(chain.tasks[place].name): \(reason)"
            decision.add(chain.machine.ended(place, as: .failed))
        }
        return decision
    }

    private static func cancelled(
        _ payload: IntentPayload, of chain: LiveChain, _ attempt: ChainAttempt, _ reason: String,
        _ facts: ChainFacts
    ) -> ChainDecision {
        var decision = ChainDecision(chain, .ended(.superseded, reason: "cancelled"), facts)
        decision.end(
            payload.place, .cancelled, attempts: attempt.attempts, started: attempt.started,
            error: reason)
        decision.add(chain.machine.ended(payload.place, as: .cancelled))
        return decision
    }

    /// Holds a task that cannot continue now.
    private static func hold(
        _ payload: IntentPayload, of chain: LiveChain, _ why: String, attempt: Int,
        _ facts: ChainFacts
    ) -> ChainDecision {
        let place = payload.place
        var decision = ChainDecision(chain, .ended(.superseded, reason: "held: \(why)"), facts)
        decision.hold(payload, why, attempt: attempt)
        if why == "conditions", !payload.isCompensation { decision.remindOfDeadline(place) }
        decision.add(chain.machine.held(place, isCompensation: payload.isCompensation))
        return decision
    }

    /// The intent ends with its entry; its attempts so far are kept.
    private mutating func hold(_ payload: IntentPayload, _ why: String, attempt: Int) {
        let (place, isCompensation) = (payload.place, payload.isCompensation)
        let count = isCompensation ? \TaskRow.compensationAttempts : \TaskRow.attempts
        chain.tasks[place][keyPath: count] += attempt
        chain.tasks[place].hold = why
        let attempts = chain.tasks[place][keyPath: count]
        writes.changes.append(
            (place, .held(why, isCompensation: isCompensation, attempts: attempts, deadline: nil)))
    }
}
