import GRDB
import RepriseCore
package import RepriseJournal

/// An abandoned task: its worker cleans up outside the journal.
struct LostWork: Sendable {
    let place: Int
    let isCompensation: Bool
    let key: String
    let onAbandon: WorkerRegistry.GiveUp

    /// Tasks that these writes end without success, and that may have left something.
    static func of(_ writes: ChainWrites, _ chain: LiveChain?, _ registry: WorkerRegistry?)
        -> [LostWork]
    {
        guard let chain else { return [] }
        return writes.changes.compactMap { place, change in
            guard chain.tasks.indices.contains(place), let task = chain.plan?.tasks[place] else {
                return nil
            }
            func lost(_ worker: String, isCompensation: Bool) -> LostWork? {
                registry?.onAbandon(worker).map {
                    LostWork(
                        place: place, isCompensation: isCompensation,
                        key: chain.key(of: place, isCompensation: isCompensation), onAbandon: $0)
                }
            }
            switch change {
            case .ended(.failed, _, _, _, _), .ended(.cancelled, _, _, _, _):
                guard chain.tasks[place].hasInput, let worker = task.worker else { return nil }
                return lost(worker, isCompensation: false)
            case .compensated(.failed, _):
                return task.compensation.flatMap { lost($0.worker, isCompensation: true) }
            case .ended, .compensated, .held, .failure, .reset, .decided, .expanded: return nil
            }
        }
    }

    /// Called once the outcome is durable.
    func abandon(of chain: Int64, _ journal: Journal) async {
        let found = try? await journal.read { db in
            try ChainReading.work(chain, place, isCompensation: isCompensation, db)
        }
        guard let input = found?.input else { return }
        await onAbandon(input, key)
    }
}

extension LostWork {
    /// By workers, each with its chain.
    fileprivate typealias ByWorker = [String: [(chain: Int64, work: LostWork)]]

    /// Compensations and tasks that have not ended; of the tasks, those begun come first.
    fileprivate static func unended(
        _ definitions: [String: any ChainDefinition], _ registry: WorkerRegistry, _ db: Database
    ) throws -> ByWorker {
        let compensations = try Self.compensations(definitions, registry, db)
        let count = compensations.values.reduce(0) { $0 + $1.count }
        let tasks = try Self.tasks(registry, most: ChainsLimits.leftTasks - count, db)
        return compensations.merging(tasks) { $0 + $1 }
    }

    /// Only its definition names the worker of a compensation: where it is gone, nothing is cleaned
    /// up.
    private static func compensations(
        _ definitions: [String: any ChainDefinition], _ registry: WorkerRegistry, _ db: Database
    ) throws -> ByWorker {
        // A chain has one at a time.
        let chains = try Int64.fetchAll(
            db,
            sql: """
                SELECT DISTINCT chain FROM chainTask
                WHERE undo IN (1, 2) AND undoInput IS NOT NULL LIMIT ?
                """, arguments: [ChainsLimits.leftTasks])
        var found: ByWorker = [:]
        for seq in chains {
            guard let (row, tasks) = try? ChainReading.load(seq, db),
                let plan = try? ChainPlan.of(
                    row, tasks, definitions[row.definition], { _ in true })
            else { continue }
            for (place, task) in tasks.enumerated()
            where [.intended, .held].contains(task.slot.compensation) {
                let planned = plan.tasks.first { $0.name == task.name }
                guard let worker = planned?.compensation?.worker,
                    let onAbandon = registry.onAbandon(worker)
                else { continue }
                let work = LostWork(
                    place: place, isCompensation: true,
                    key: LiveChain.key(of: task, in: row.id, isCompensation: true),
                    onAbandon: onAbandon)
                found[worker, default: []].append((chain: seq, work: work))
            }
        }
        return found
    }

    private static func tasks(
        _ registry: WorkerRegistry, most: Int, _ db: Database
    ) throws -> ByWorker {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT t.chain, t.place, t.name, t.takenBack, t.worker, c.id FROM chainTask AS t
                JOIN chain AS c ON c.seq = t.chain LEFT JOIN entry AS e ON e.id = t.entry
                WHERE t.state < 10 AND t.worker IS NOT NULL AND t.input IS NOT NULL
                ORDER BY t.attempts + COALESCE(e.attempt, 0) > 0 DESC LIMIT ?
                """, arguments: [max(most, 0)])
        var found: ByWorker = [:]
        for row in rows {
            // One that cannot be read is left out: its account is removed in any case.
            guard let worker = try? row.text(4), let onAbandon = registry.onAbandon(worker),
                let (chain, place) = try? (row.integer(0), row.checked(1) as Int),
                let (name, id) = try? (row.text(2), row.text(5)),
                let takenBack = try? row.checked(3) as Int
            else { continue }
            let work = LostWork(
                place: place, isCompensation: false,
                key: LiveChain.key(of: name, in: id, takenBack: takenBack), onAbandon: onAbandon)
            found[worker, default: []].append((chain: chain, work: work))
        }
        return found
    }
}

extension Chains {
    /// Has the workers clean up after all tasks and compensations that have not ended, as a
    /// transfer that the system runs: their account is left.
    ///
    /// It returns after ``ChainsLimits/leaving`` at the latest, and may be repeated.
    ///
    /// - Throws: the journal's errors; `CancellationError`.
    package static func leave(_ journal: Journal, _ configuration: Configuration) async throws {
        let registry = try WorkerRegistry(configuration.workers)
        let definitions = Dictionary(
            configuration.chains.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let left = try await journal.read { db in
            try LostWork.unended(definitions, registry, db)
        }
        guard !left.isEmpty else { return }
        let timeout = CallTimeout(clock: configuration.timekeeper, most: 1)
        do {
            try await timeout.wait(ChainsLimits.leaving, for: "Cleaning up after tasks") {
                await withDiscardingTaskGroup { group in
                    // A worker that hangs keeps no other one waiting.
                    for works in left.values {
                        group.addTask {
                            for (chain, work) in works { await work.abandon(of: chain, journal) }
                        }
                    }
                }
            }
        } catch {
            try Task.checkCancellation()
        }
    }
}
