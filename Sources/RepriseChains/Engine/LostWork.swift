import RepriseJournal

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
