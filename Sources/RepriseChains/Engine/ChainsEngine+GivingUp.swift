import RepriseCore
import RepriseJournal

/// Abandoned tasks: their workers clean up outside the journal.
extension ChainsEngine {
    struct LostWork: Sendable {
        let place: Int
        let isUndo: Bool
        let key: String
        let giveUp: WorkerRegistry.GiveUp
    }

    /// Tasks that these writes end without success, and that may have left something.
    func lostWork(_ writes: ChainWrites) -> [LostWork] {
        writes.changes.compactMap { place, change in
            guard let chain = live[writes.chain], chain.tasks.indices.contains(place),
                let task = chain.plan?.tasks[place]
            else { return nil }
            let key = { chain.key(of: place, isUndo: $0) }
            switch change {
            case .ended(.failed, _, _, _, _), .ended(.cancelled, _, _, _, _):
                guard chain.tasks[place].hasInput, let worker = task.worker else { return nil }
                return registry?.giveUp(worker).map {
                    LostWork(place: place, isUndo: false, key: key(false), giveUp: $0)
                }
            case .undone(.failed, _):
                guard let worker = task.undo?.worker else { return nil }
                return registry?.giveUp(worker).map {
                    LostWork(place: place, isUndo: true, key: key(true), giveUp: $0)
                }
            case .ended, .undone, .held, .failure, .reset: return nil
            }
        }
    }

    /// Called once the outcome is durable.
    nonisolated func giveUp(_ lost: [LostWork], of chain: Int64) async {
        for work in lost {
            let found = try? await journal.read { db in
                try ChainReading.work(chain, work.place, isUndo: work.isUndo, db)
            }
            guard let input = found?.input else { continue }
            await work.giveUp(input, work.key)
        }
    }
}
