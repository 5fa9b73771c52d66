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
    struct Running {
        let delivery: EntryDelivery
        let task: Task<Void, Never>
        let started: WallTime
        let attempts: Int
        var stop: ChainStop?
        var timers: [Alarm] = []

        var attempt: ChainAttempt {
            ChainAttempt(
                attempts: attempts, ofEntry: delivery.entry.attempt, started: started, stop: stop)
        }
    }

    nonisolated let journal: Journal
    nonisolated let configuration: Chains.Configuration
    nonisolated let loop: FeatureLoop<ChainsEvent>
    nonisolated var inbox: Mailbox<ChainsEvent> { loop.mailbox }
    nonisolated let files: OutputFiles
    nonisolated let budget = ChainsBudget()
    nonisolated let watchers = ChainWatchers()
    nonisolated let definitions: [String: any ChainDefinition]
    nonisolated let registry: WorkerRegistry?

    var live: [Int64: LiveChain] = [:]
    var running: [TaskKey: Running] = [:]
    var conditions = DeviceConditions()
    /// The kinds of entries that some chain may wait for.
    var awaited: Set<String> = []
    private var uses: UInt64 = 0
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
        try await lookAround()
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
        stopAll()
        let grace = Alarm(clock)
        grace.set(clock.uptime() + configuration.stopGrace) { [inbox] in inbox.put(.stopAll) }
        var isWaiting = true
        while isWaiting, loop.failure == nil,
            !running.isEmpty || live.values.contains(where: { $0.unsettled > 0 })
        {
            guard let event = await inbox.next() else { break }
            if case .stopAll = event { isWaiting = false }
            await take(event)
        }
        grace.cancel()
        for event in inbox.close() {
            switch event {
            case .tasks(let batch), .commands(let batch): giveBack(batch)
            case .finished, .written, .conditions, .news, .late, .abandoned, .stopAll: break
            }
        }
        // A worker that does not end is run again, with the same key.
        giveBack(running.values.map(\.delivery))
        for run in running.values { for timer in run.timers { timer.cancel() } }
        (running, live) = ([:], [:])
        budget.ring()
    }

    private func giveBack(_ batch: [EntryDelivery]) {
        for delivery in batch { delivery.end(as: .back(reason: "The chains do not run.")) }
    }

    func stopAll() {
        for key in running.keys {
            if running[key]?.stop == nil { running[key]?.stop = .budget }
            running[key]?.task.cancel()
        }
    }

    private func take(_ event: ChainsEvent) async {
        switch event {
        case .tasks(let batch): for delivery in batch { await begin(delivery) }
        case .commands(let batch): for delivery in batch { await obey(delivery) }
        case .finished(let key, let result): await finished(key, result)
        case .written(let seq): await written(seq)
        case .conditions(let conditions): await changed(conditions)
        case .news(let news): await heard(news)
        case .late(let key): late(key)
        case .abandoned(let key): await abandon(key)
        case .stopAll: stopAll()
        }
        if running.isEmpty { budget.ring() }
    }

    func stop(_ key: TaskKey, _ reason: ChainStop) {
        guard running[key] != nil else { return }
        if running[key]?.stop == nil { running[key]?.stop = reason }
        running[key]?.task.cancel()
    }

    // MARK: Chains in memory

    /// - Returns: nil if the number is unknown.
    /// - Throws: `ChainRow.Broken` if it cannot be read; what the journal throws.
    func chain(_ seq: Int64) async throws -> LiveChain? {
        uses += 1
        if let chain = live[seq] {
            chain.lastUse = uses
            return chain
        }
        guard let (row, tasks) = try await journal.read({ try ChainReading.load(seq, $0) }) else {
            return nil
        }
        let plan = Result {
            try ChainPlan.of(row, definitions[row.definition]) { registry?[$0] != nil }
        }
        if case .failure(let error as ChainRow.Broken) = plan { throw error }
        let chain = LiveChain(row: row, tasks: tasks, plan: plan)
        if chain.rebuilt != nil, let version = definitions[row.definition]?.version {
            chain.rebuilt?.version = version
        }
        chain.lastUse = uses
        evict()
        live[seq] = chain
        return chain
    }

    private func evict() {
        guard live.count >= ChainsLimits.idleChains * 2 else { return }
        let idle = live.values.filter(\.isIdle).sorted { $0.lastUse < $1.lastUse }
        for chain in idle.prefix(max(0, live.count - ChainsLimits.idleChains)) {
            live[chain.row.seq] = nil
        }
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
            await release(chain.row.id, chain.tasks[place].name)
        }
        if chain.machine.state.isEnd, chain.isIdle { live[seq] = nil }
    }
}

/// Abandoned tasks: their workers clean up outside the journal.
extension ChainsEngine {
    struct LostWork: Sendable {
        let place: Int
        let isCompensation: Bool
        let key: String
        let onAbandon: WorkerRegistry.GiveUp
    }

    /// Tasks that these writes end without success, and that may have left something.
    func lostWork(_ writes: ChainWrites) -> [LostWork] {
        writes.changes.compactMap { place, change in
            guard let chain = live[writes.chain], chain.tasks.indices.contains(place),
                let task = chain.plan?.tasks[place]
            else { return nil }
            let key = { chain.key(of: place, isCompensation: $0) }
            switch change {
            case .ended(.failed, _, _, _, _), .ended(.cancelled, _, _, _, _):
                guard chain.tasks[place].hasInput, let worker = task.worker else { return nil }
                return registry?.onAbandon(worker).map {
                    LostWork(place: place, isCompensation: false, key: key(false), onAbandon: $0)
                }
            case .compensated(.failed, _):
                guard let worker = task.compensation?.worker else { return nil }
                return registry?.onAbandon(worker).map {
                    LostWork(place: place, isCompensation: true, key: key(true), onAbandon: $0)
                }
            case .ended, .compensated, .held, .failure, .reset: return nil
            }
        }
    }

    /// Called once the outcome is durable.
    nonisolated func onAbandon(_ lost: [LostWork], of chain: Int64) async {
        for work in lost {
            let found = try? await journal.read { db in
                try ChainReading.work(chain, work.place, isCompensation: work.isCompensation, db)
            }
            guard let input = found?.input else { continue }
            await work.onAbandon(input, work.key)
        }
    }
}

/// Quarantine of chains that can never continue.
extension ChainsEngine {
    /// Quarantines an unreadable chain; other chains continue.
    func quarantine(_ seq: Int64, _ why: String, _ delivery: EntryDelivery) {
        live[seq] = nil
        for key in running.keys where key.chain == seq { stop(key, .machine) }
        let retention = configuration.retention
        let name = Mutex<String?>(nil)
        delivery.end(
            as: .ended(.dead, reason: "corrupt: \(why)"),
            alongside: { [journal] db in
                let now = journal.now
                let id = try String.fetchOne(
                    db, sql: "SELECT id FROM chain WHERE seq = ?", arguments: [seq])
                name.withLock { $0 = id }
                try db.execute(
                    sql: """
                        UPDATE chain SET state = 13, reason = ?, endedAt = ?, leaves = ?
                        WHERE seq = ? AND state IS NOT 13
                        """,
                    arguments: [
                        "corrupt: \(why)".limited(to: ChainsLimits.errorBytes), now.milliseconds,
                        now.advanced(by: retention).milliseconds, seq,
                    ])
            },
            written: { [watchers] in
                guard let id = name.withLock({ $0 }) else { return }
                watchers.announce(id, ChainProgress(state: .quarantined, done: 0, total: 0))
            })
    }
}
