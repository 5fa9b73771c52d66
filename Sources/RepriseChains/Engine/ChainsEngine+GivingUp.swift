import RepriseCore
import RepriseJournal

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
