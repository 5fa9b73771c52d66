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
    /// Tasks that have not ended, by their workers, and the chain of each: those begun come first.
    ///
    /// Without compensations, whose workers only the definitions name.
    fileprivate static func unended(
        _ registry: WorkerRegistry, _ db: Database
    ) throws -> [String: [(chain: Int64, work: LostWork)]] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT t.chain, t.place, t.name, t.takenBack, t.worker, c.id FROM chainTask AS t
                JOIN chain AS c ON c.seq = t.chain LEFT JOIN entry AS e ON e.id = t.entry
                WHERE t.state < 10 AND t.worker IS NOT NULL AND t.input IS NOT NULL
                ORDER BY t.attempts + COALESCE(e.attempt, 0) > 0 DESC LIMIT ?
                """, arguments: [ChainsLimits.leftTasks])
        var found: [String: [(chain: Int64, work: LostWork)]] = [:]
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
    /// Has the workers clean up after all tasks that have not ended, as a transfer that the system
    /// runs: their account is left.
    ///
    /// It returns after ``ChainsLimits/leaving`` at the latest, and may be repeated.
    ///
    /// - Throws: the journal's errors; `CancellationError`.
    package static func leave(_ journal: Journal, _ configuration: Configuration) async throws {
        let registry = try WorkerRegistry(configuration.workers)
        let left = try await journal.read { db in try LostWork.unended(registry, db) }
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
