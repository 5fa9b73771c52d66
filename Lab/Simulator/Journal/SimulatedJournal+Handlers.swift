import RepriseCore
import RepriseJournal

/// What handlers are given, and what becomes of what they say.
extension SimulatedJournal {
    func start(_ taken: SimulatedBatch.Taken) {
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
    func deliver(_ taken: [SimulatedBatch.Taken]) {
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

    func acknowledgement(_ taken: SimulatedBatch.Taken, _ disposition: Acknowledgement.Disposition)
        -> Acknowledgement
    {
        Acknowledgement(
            seq: taken.seq, kind: taken.entry.kind, partitionKey: taken.entry.partitionKey,
            disposition: disposition)
    }
}
