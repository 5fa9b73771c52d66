import Foundation
import GRDB
import Logging
import RepriseCore
import RepriseJournal
import Synchronization

/// Performs the decisions of `ChainMachine`: intents, workers, outcomes.
///
/// One event after the other. All decisions about a chain are written with the end of the entry
/// that caused them, and the journal writes those ends in order; so the memory equals the future
/// rows.
actor ChainsEngine {
    nonisolated let journal: Journal
    nonisolated let configuration: Chains.Configuration
    nonisolated let loop: FeatureLoop<ChainsEvent>
    nonisolated var inbox: Mailbox<ChainsEvent> { loop.mailbox }
    nonisolated let files: OutputFiles
    nonisolated let budget = ChainsBudget()
    /// Notified when less may be left to do, or time is over.
    nonisolated let changes = ConditionVariable()
    nonisolated let notifications: ChainNotifications
    nonisolated let watchers: ChainWatchers
    nonisolated let definitions: [String: any ChainDefinition]
    nonisolated let registry: WorkerRegistry?
    nonisolated let schedules: ChainScheduler
    nonisolated let ended: EndedChains

    private var live = LiveChains()
    private var running = RunningTasks()
    private var conditions = DeviceConditions()
    private var waits: ChainWaits
    private var isObserving = false
    private var watch: Task<Void, Never>?

    nonisolated var clock: any Timekeeper { configuration.timekeeper }

    init(journal: Journal, configuration: Chains.Configuration) {
        self.journal = journal
        self.configuration = configuration
        loop = FeatureLoop("The chains", journal)
        files = OutputFiles(journal.location)
        definitions = Dictionary(
            configuration.chains.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        registry = try? WorkerRegistry(configuration.workers)
        notifications = ChainNotifications(journal, configuration) { [changes] in
            changes.notifyAll()
        }
        watchers = ChainWatchers(notifications)
        schedules = ChainScheduler(journal, configuration, definitions, registry, loop, changes)
        ended = EndedChains(journal: journal, files: files, notifications: notifications)
        waits = ChainWaits(journal, loop)
    }

    // MARK: Running

    func run(_ status: (any DeviceStatus)?) async throws {
        try await loop.run(on: self) {
            try await self.start(status)
        } take: {
            await self.take($0)
        } finish: {
            await self.finish()
        }
    }

    private func start(_ status: (any DeviceStatus)?) async throws {
        watch = status.map { status in
            Task { [inbox] in
                for await conditions in status.conditions { inbox.put(.conditions(conditions)) }
            }
        }
        try await files.sweep(journal)
        if let status {
            // A chain that must not run now must not begin before that is known.
            for await first in status.conditions {
                conditions = first
                break
            }
        }
        listen()
        try await applyEarlierChanges()
        try await schedules.review()
        await journal.setReady(Chains.readiness)
    }

    private func listen() {
        for kind in [Chains.kind, Chains.commandKind] {
            journal.handleBatches(of: kind) { [inbox] batch in
                let event = kind == Chains.kind ? ChainsEvent.tasks(batch) : .commands(batch)
                guard !inbox.put(event) else { return }
                for delivery in batch { delivery.end(as: .back(reason: "The chains do not run.")) }
            }
        }
        guard !isObserving else { return }
        isObserving = true
        journal.observe { [inbox] news in
            // Most recorded entries are our own while chains run.
            if case .recorded(let newest) = news,
                newest.keys.allSatisfy({ $0 == Chains.kind || $0 == Chains.commandKind })
            {
                return
            }
            inbox.put(.news(news))
        }
    }

    private func finish() async {
        watch?.cancel()
        await journal.setNotReady(Chains.readiness)
        running.stopAll(.budget)
        let grace = Alarm(clock)
        grace.set(clock.uptime() + configuration.stopGrace) { [inbox] in inbox.put(.stopAll) }
        var isWaiting = true
        while isWaiting, loop.failure == nil,
            !running.isEmpty || live.areUnsettled
        {
            guard let event = await inbox.next() else { break }
            if case .stopAll = event { isWaiting = false }
            await take(event)
        }
        grace.cancel()
        schedules.stop()
        for event in inbox.close() {
            switch event {
            case .tasks(let batch), .commands(let batch): giveBack(batch)
            case .finished, .written, .left, .conditions, .news, .late, .abandoned, .review,
                .stopAll:
                break
            }
        }
        // A worker that does not end is run again, with the same key.
        giveBack(running.removeAll())
        live.removeAll()
        changes.notifyAll()
    }

    /// Ends an entry alone.
    ///
    /// Once that is durable, who waits until nothing is left to do looks again.
    private func end(_ delivery: EntryDelivery, as ending: EntryDelivery.Ending) {
        delivery.end(as: ending, written: { [changes] in changes.notifyAll() })
    }

    private func fail(_ delivery: EntryDelivery, _ failure: DispatchFailure) {
        end(delivery, as: .failed(failure))
    }

    private func giveBack(_ batch: [EntryDelivery]) {
        for delivery in batch { delivery.end(as: .back(reason: "The chains do not run.")) }
    }

    /// Whether no worker runs.
    var isIdle: Bool { running.isEmpty }

    /// Cancels all running tasks, and waits for them up to `grace`.
    func interrupt(grace: Duration) async {
        running.stopAll(.budget)
        let end = clock.uptime() + grace
        let timer = Task { [changes, clock] in
            try? await clock.sleep(until: end)
            changes.notifyAll()
        }
        await changes.wait { running.isEmpty || clock.uptime() >= end }
        timer.cancel()
        // Whatever was said is written down behind this.
        try? await journal.write { _ in }
    }

    private func take(_ event: ChainsEvent) async {
        switch event {
        case .tasks(let batch): for delivery in batch { await begin(delivery) }
        case .commands(let batch): for delivery in batch { await perform(delivery) }
        case .finished(let key, let number, let result): await finished(key, number, result)
        case .written(let seq): await written(seq)
        case .left(let seq): live.remove(seq)
        case .conditions(let conditions): await changed(conditions)
        case .news(let news): await heard(news)
        case .late(let key): late(key)
        case .abandoned(let key): await abandon(key)
        case .review: await schedules.reviewUntilWritten()
        case .stopAll: running.stopAll(.budget)
        }
        if running.isEmpty { changes.notifyAll() }
    }

    // MARK: Chains in memory

    /// - Returns: nil if the number is unknown.
    /// - Throws: `ChainRow.Broken` if it cannot be read; what the journal throws.
    private func chain(_ seq: Int64) async throws -> LiveChain? {
        if let chain = live.use(seq) { return chain }
        guard let (row, tasks) = try await journal.read({ try ChainReading.load(seq, $0) }) else {
            return nil
        }
        let plan = Result {
            try ChainPlan.of(row, tasks, definitions[row.definition]) { registry?[$0] != nil }
        }
        if case .failure(let error as ChainRow.Broken) = plan { throw error }
        let chain = LiveChain(row: row, tasks: tasks, plan: plan)
        chain.notifies = notifications.isOf(row.definition)
        if chain.rebuilt != nil, let version = definitions[row.definition]?.version {
            chain.rebuilt?.version = version
        }
        live.add(chain)
        return chain
    }

    private func written(_ seq: Int64) async {
        guard let chain = live[seq] else { return }
        chain.unsettled -= 1
        if chain.unsettled == 0 {
            chain.recent = [:]
            if chain.isCalendarOld { await readDeadlines(of: [seq]) }
        }
        watchers.announce(chain)
        if chain.logged != chain.machine.state {
            chain.logged = chain.machine.state
            configuration.logger.tell(
                .info, "A chain is in another state.",
                [
                    "chain": chain.row.id, "definition": chain.row.definition,
                    "state": "\(chain.machine.state)",
                ])
        }
        for place in facts.overdue(in: chain) {
            await waits.release(chain.row.id, chain.tasks[place].name)
        }
        if chain.machine.state.isEnd, chain.isIdle { live.remove(seq) }
    }

    // MARK: Tasks

    private func begin(_ delivery: EntryDelivery) async {
        guard let payload = try? ChainJSON.decode(IntentPayload.self, from: delivery.entry.payload)
        else {
            return fail(delivery, .permanent("malformed: It names no task."))
        }
        do {
            guard let chain = try await chain(payload.chain) else {
                return end(delivery, as: .ended(.superseded, reason: "The chain is gone."))
            }
            switch ChainDecision.begin(payload, attempt: delivery.entry.attempt, of: chain, facts) {
            case .decided(let decision): await carryOut(decision, delivery)
            case .run(let name):
                guard let worker = registry?[name] else { return }
                await start(payload, of: chain, worker, delivery)
            }
        } catch let error as ChainRow.Broken {
            quarantine(payload.chain, error.description, delivery)
        } catch {
            loop.note(error)
            fail(delivery, .notReady("The chain cannot be read: \(error)"))
        }
    }

    private func start(
        _ payload: IntentPayload, of chain: LiveChain, _ worker: @escaping WorkerRegistry.Run,
        _ delivery: EntryDelivery
    ) async {
        let (place, seq) = (payload.place, chain.row.seq)
        let row = chain.tasks[place]
        let key = TaskKey(
            chain: seq, place: place, round: payload.round, isCompensation: payload.isCompensation)
        let attempts =
            chain.attempts(of: place, isCompensation: payload.isCompensation)
            + delivery.entry.attempt
        let found: (input: [UInt8]?, checkpoint: [UInt8]?)
        do {
            found = try await readWork(
                place, isCompensation: payload.isCompensation, of: chain, attempts: attempts)
        } catch {
            loop.note(error)
            _ = chain.machine.requeued(place)
            return fail(delivery, .notReady("The task cannot be read: \(error)"))
        }
        guard let input = found.input else {
            _ = chain.machine.requeued(place)
            return quarantine(seq, "the input of \(row.name) is missing", delivery)
        }
        guard journal.isOpen(Chains.budgetReadiness) else {
            return await carryOut(.outOfTime(payload, of: chain, facts), delivery)
        }
        let deadline = [row.deadline, chain.row.deadline].compactMap { $0 }.min()
        let context = WorkContext(
            key: chain.key(of: place, isCompensation: payload.isCompensation), attempt: attempts,
            deadline: payload.isCompensation ? nil : deadline, saved: found.checkpoint,
            hooks: hooks(for: key, entry: delivery.entry.id.text, name: row.name, id: chain.row.id))
        let number = running.number()
        let work = work(worker, on: input, context, as: key, number)
        running.add(
            .init(number, delivery, work, since: clock.wall(), attempts: attempts), as: key)
        if payload.isCompensation {
            alarm(.late(key), after: configuration.compensationDeadline, for: key)
        } else if let deadline = row.deadline {
            alarm(.late(key), after: clock.wall().duration(to: deadline), for: key)
        }
    }

    /// Runs a worker, whose end comes as an event.
    private func work(
        _ worker: @escaping WorkerRegistry.Run, on input: [UInt8], _ context: WorkContext,
        as key: TaskKey, _ number: Int
    ) -> Task<Void, Never> {
        Task.detached { [inbox, files] in
            do {
                let bytes = try await worker(input, context)
                let done = WorkDone(bytes: bytes, output: try files.store(bytes))
                inbox.put(.finished(key, number, .success(done)))
            } catch {
                inbox.put(.finished(key, number, .failure(error)))
            }
        }
    }

    /// The input of a task that begins, and its checkpoint if it began before.
    private func readWork(
        _ place: Int, isCompensation: Bool, of chain: LiveChain, attempts: Int
    ) async throws -> (input: [UInt8]?, checkpoint: [UInt8]?) {
        let kept = chain.inputs.removeValue(forKey: place)
        guard kept == nil || attempts > 1 else { return (kept, nil) }
        let seq = chain.row.seq
        let found = try await journal.read { db in
            try ChainReading.work(seq, place, isCompensation: isCompensation, db)
        }
        return (kept ?? found.input, found.checkpoint)
    }

    private func alarm(_ event: ChainsEvent, after wait: Duration, for key: TaskKey) {
        running.alarm(key, after: wait, on: clock) { [inbox] in inbox.put(event) }
    }

    /// The deadline is over: it is cancelled, and abandoned if it does not end.
    private func late(_ key: TaskKey) {
        // A cancelled one is already decided.
        guard running.stopLate(key) else { return }
        alarm(.abandoned(key), after: configuration.cancelGrace, for: key)
    }

    private func stopForMachine(_ place: Int, of chain: LiveChain) {
        for key in running.keys where key.chain == chain.row.seq && key.place == place {
            running.stop(key, .machine)
            if chain.machine.state == .cancelling || chain.machine.state == .failing {
                alarm(.abandoned(key), after: configuration.cancelGrace, for: key)
            }
        }
    }

    // MARK: Services for a running worker

    private func hooks(for key: TaskKey, entry: String, name: String, id: String)
        -> WorkContext.Hooks
    {
        let said = LastSaid()
        return WorkContext.Hooks(
            progress: { [weak self] fraction, note in
                await self?.progress(key, id, name, fraction, note, said)
            },
            checkpoint: { [journal] json in
                guard json.count <= ChainsLimits.checkpointBytes else {
                    throw RepriseError(
                        .tooLarge, "The checkpoint has \(json.count) bytes.",
                        remedy: "Keep at most \(ChainsLimits.checkpointBytes) as JSON.")
                }
                try await journal.write { db in
                    try Self.keep(checkpoint: json, of: key, entry, db)
                }
            },
            log: { [journal] line in
                // A line that cannot be written must not fail the work.
                try? await journal.write { db in
                    // Its chain may have left while it did not listen.
                    guard try ChainReading.seq(of: id, db) != nil else { return }
                    try ChainWriting.log(key.chain, key.place, line, at: journal.now, db)
                }
            },
            remaining: { [budget, clock] in budget.remaining(clock) })
    }

    /// An abandoned worker keeps nothing any more.
    private static func keep(
        checkpoint json: [UInt8], of key: TaskKey, _ entry: String, _ db: Database
    ) throws {
        try db.cachedStatement(
            sql: "UPDATE chainTask SET checkpoint = ? WHERE chain = ? AND place = ? AND entry = ?"
        ).execute(arguments: [Data(json), key.chain, key.place, entry])
        guard db.changesCount == 1 else { throw CancellationError() }
        // It gets on: to be killed now and then is no reason to give it up.
        try db.cachedStatement(
            sql: "UPDATE entry SET interruptions = 0 WHERE id = ? AND interruptions > 0"
        ).execute(arguments: [entry])
    }

    private func progress(
        _ key: TaskKey, _ id: String, _ name: String, _ fraction: Double, _ note: String?,
        _ said: LastSaid
    ) async {
        guard running.contains(key), let chain = live[key.chain] else { return }
        let fraction = min(max(fraction.isNaN ? 0 : fraction, 0), 1)
        let note = note?.limited(to: ChainsLimits.noteBytes)
        watchers.announce(
            chain.row,
            ChainProgress(
                state: chain.machine.state,
                done: chain.machine.slots.count { $0.state == .succeeded },
                total: chain.tasks.count, task: name, fraction: fraction, note: note))
        let now = clock.uptime()
        guard said.at.map({ now - $0 >= .seconds(1) }) ?? true else { return }
        said.at = now
        try? await journal.write { db in
            try db.cachedStatement(
                sql: "UPDATE chainTask SET progress = ?, note = ? WHERE chain = ? AND place = ?"
            ).execute(arguments: [fraction, note, key.chain, key.place])
        }
    }

    // MARK: Decisions

    private var facts: ChainFacts {
        ChainFacts(
            wall: { [clock] in clock.wall() }, now: { [journal] in journal.now },
            mayExpire: { [journal] in journal.mayExpire }, conditions: conditions,
            isOpen: { [journal] in journal.isOpen($0) },
            hasWorker: { [registry] in registry?[$0] != nil }, jitter: configuration.jitter)
    }

    private func carryOut(_ decision: ChainDecision, _ delivery: EntryDelivery) async {
        var decision = decision
        while let need = decision.next() { decision.supply(await outputs(need)) }
        waits.add(decision.awaited)
        if let trouble = decision.trouble { loop.note(trouble) }
        let chain = decision.chain
        for place in decision.stops { stopForMachine(place, of: chain) }
        if decision.stopsAll {
            for key in running.keys where key.chain == chain.row.seq { running.stop(key, .machine) }
        }
        guard !decision.isBare else { return end(delivery, as: decision.ending) }
        settle(delivery, as: decision.ending, decision.writes)
    }

    private func outputs(_ need: ChainDecision.Need) async -> Result<[Int: [UInt8]], any Error> {
        do {
            if let recent = need.recent {
                return .success([need.place: try files.read(recent)])
            }
            // Not cancelled with the run, which would put the task off whose input this is.
            let found = try await Task { [journal] in
                try await journal.read { try ChainReading.outputs(need.chain, need.places, $0) }
            }.value
            var outputs: [Int: [UInt8]] = [:]
            for (place, output) in found where place == need.place || output.file == nil {
                outputs[place] = try files.read(output)
            }
            return .success(outputs)
        } catch {
            return .failure(error)
        }
    }

    /// Ends an entry together with its decisions.
    private func settle(
        _ delivery: EntryDelivery, as ending: EntryDelivery.Ending, _ writes: ChainWrites
    ) {
        live[writes.chain]?.unsettled += 1
        let retention = configuration.retention
        let lost = LostWork.of(writes, live[writes.chain], registry)
        let isThere = Mutex(true)
        delivery.end(
            as: ending,
            alongside: { [journal] db in
                let isWritten = try writes.perform(in: db, journal, retention: retention)
                isThere.withLock { $0 = isWritten }
            },
            written: { [journal, inbox] in
                let isWritten = isThere.withLock { $0 }
                inbox.put(isWritten ? .written(writes.chain) : .left(writes.chain))
                guard isWritten, !lost.isEmpty else { return }
                Task { for work in lost { await work.abandon(of: writes.chain, journal) } }
            })
    }

    private func finished(
        _ key: TaskKey, _ number: Int, _ result: Result<WorkDone, any Error>
    ) async {
        guard let run = running.remove(key, number) else { return }
        guard let chain = live[key.chain] else {
            return end(
                run.delivery, as: .ended(.dead, reason: "corrupt: Its chain cannot be read."))
        }
        switch result {
        case .success(let done):
            let decision = ChainDecision.succeeded(
                key.payload, of: chain, done.bytes, done.output, run.attempt, facts)
            await carryOut(decision, run.delivery)
        case .failure(let error):
            // Whatever it says: if the journal has ended, nothing of this is written.
            await carryOut(
                .failed(key.payload, of: chain, error, run.attempt, facts), run.delivery)
        }
    }

    private func abandon(_ key: TaskKey) async {
        guard let run = running.remove(key), let chain = live[key.chain] else { return }
        await carryOut(.abandoned(key.payload, of: chain, run.attempt, facts), run.delivery)
    }

    // MARK: Commands: of the app, of a tool through the spool, of the engine to itself

    private func perform(_ delivery: EntryDelivery) async {
        guard let command = try? ChainCommand(delivery.entry.payload) else {
            return fail(delivery, .permanent("malformed: It is no command."))
        }
        do {
            switch command.command {
            case .delete: return end(delivery, as: try await delete(command.chain))
            case .clear:
                guard let seconds = command.seconds, seconds >= 0 else {
                    return fail(delivery, .permanent("malformed: It says no age."))
                }
                _ = try await ended.clear(olderThan: .seconds(seconds))
                return end(delivery, as: .applied)
            case .unschedule: return try await schedules.unschedule(command.task, delivery)
            case .scheduled: return try await schedules.cameDue(command.task, delivery)
            case .pause, .resume, .cancel, .retry, .begin, .look, .release, .late: break
            }
            let seq = try await journal.read { try ChainReading.seq(of: command.chain, $0) }
            guard let seq, let chain = try await chainOrQuarantine(seq, delivery) else {
                return command.isInternal
                    ? end(delivery, as: .ended(.superseded, reason: "The chain is gone."))
                    : fail(delivery, .permanent("No chain has this id."))
            }
            if let name = chain.nameWanted(for: command.command),
                try await isTaken(name, chain)
            {
                let reason = "Another chain of its name goes on."
                return end(
                    delivery,
                    as: .ended(command.command == .begin ? .superseded : .dead, reason: reason))
            }
            await carryOut(.perform(command, chain, facts), delivery)
        } catch {
            loop.note(error)
            fail(delivery, .notReady("The chain cannot be read: \(error)"))
        }
    }

    private func delete(_ id: String) async throws -> EntryDelivery.Ending {
        switch try await ended.remove(id) {
        case .removed: .applied
        case .isOpen: .ended(.dead, reason: "The chain has not ended.")
        case .isGone: .ended(.superseded, reason: "The chain is gone.")
        }
    }

    private func isTaken(_ name: String, _ chain: LiveChain) async throws -> Bool {
        let seq = chain.row.seq
        let others = try await journal.read {
            try ChainReading.goingOn(named: name, but: seq, $0)
        }
        return chain.isTaken(name, by: others, live.all)
    }

    private func chainOrQuarantine(_ seq: Int64, _ delivery: EntryDelivery) async throws
        -> LiveChain?
    {
        do {
            return try await chain(seq)
        } catch let error as ChainRow.Broken {
            quarantine(seq, error.description, delivery)
            return nil
        }
    }

    // MARK: Waits

    private func heard(_ news: JournalEvent) async {
        switch news {
        case .opened(let readiness): await waits.opened(readiness)
        case .closed, .lost: break
        case .recorded(let newest): await waits.recorded(newest)
        case .calendarMoved:
            await readDeadlines(of: Array(live.all.keys))
            await schedules.reviewUntilWritten()
        }
    }

    /// The rows have moved with the calendar: reads their deadlines into memory.
    private func readDeadlines(of chains: [Int64]) async {
        do {
            let found = try await journal.read { db in
                try chains.map { try ChainReading.deadlines($0, db) }
            }
            for (seq, deadlines) in zip(chains, found) { live[seq]?.calendarSet(deadlines) }
        } catch {
            loop.note(error)
        }
    }

    private func changed(_ conditions: DeviceConditions) async {
        self.conditions = conditions
        for key in running.keys {
            guard let chain = live[key.chain], !chain.row.constraints.areMet(by: conditions) else {
                continue
            }
            running.stop(key, .conditions)
        }
        await waits.changed(conditions)
    }

    /// Applies changes from before this run: conditions, entries, a newer version of the app,
    /// finished tasks.
    private func applyEarlierChanges() async throws {
        let holds = try await journal.read { try ChainReleases.holds($0) }
        waits.add(holds: holds)
        if holds.contains("conditions") { await changed(conditions) }
        try await waits.cameBefore(holds)
        try await journal.write { [journal] db in try ChainReleases.lookAgain(journal, db) }
    }

    // MARK: Quarantine

    /// Quarantines an unreadable chain; other chains continue.
    private func quarantine(_ seq: Int64, _ why: String, _ delivery: EntryDelivery) {
        live.remove(seq)
        for key in running.keys where key.chain == seq { running.stop(key, .machine) }
        let retention = configuration.retention
        let found = Mutex<ChainQuarantine.Found?>(nil)
        delivery.end(
            as: .ended(.dead, reason: "corrupt: \(why)"),
            alongside: { [journal, notifications] db in
                let chain = try ChainQuarantine.write(
                    seq, why: why, retention: retention, db, journal,
                    notifies: notifications.isOf)
                found.withLock { $0 = chain }
            },
            written: { [watchers, changes] in
                changes.notifyAll()
                guard let chain = found.withLock({ $0 }) else { return }
                watchers.announce(chain.id, chain.definition, chain.name) {
                    ChainProgress(state: .quarantined, done: 0, total: 0)
                }
            })
    }
}

/// When a task's progress was written last; read and written on the engine alone.
private final class LastSaid: @unchecked Sendable {  // confined to the engine
    var at: Duration?
}
