import RepriseCore
import RepriseJournal

/// What handlers are given, and what becomes of what they say.
extension SimulatedJournal {
    func start(_ taken: SimulatedTurn.Taken) {
        guard process.state == .running, process.life == life,
            case .effect(let isApplied, let body)? = handlers[taken.entry.kind],
            process.survives("handing over \(taken.entry.id)")
        else { return }
        if taken.entry.mayHaveTakenEffect, let isApplied, isApplied(taken.entry.id) {
            return settle(taken, .appliedBefore)
        }
        simulation.trace(
            process.name, "hands over \(taken.entry.id), attempt \(taken.entry.attempt)")
        running.insert(taken.seq)
        body(taken.entry) { [unowned self] error in
            guard process.life == life, running.remove(taken.seq) != nil else { return }
            settle(taken, verdict(taken, error))
        }
    }

    /// Gives the handlers of batches what is theirs.
    func lend(_ taken: [SimulatedTurn.Taken]) {
        for kind in handlers.keys.sorted() {
            guard case .batch(let body)? = handlers[kind] else { continue }
            let batch = taken.filter { families.leader(of: $0.entry.kind) == kind }
            guard !batch.isEmpty, process.state == .running, process.life == life,
                process.survives("handing over \(batch.count) of \(kind)")
            else { continue }
            body(batch.map(loan))
        }
    }

    private func loan(_ taken: SimulatedTurn.Taken) -> SimulatedLent {
        lent[taken.seq] = taken.entry.attempt
        return SimulatedLent(
            entry: taken.entry, isReleased: !machine.gate.isOpen(kind: taken.entry.kind),
            whenWritten: { [unowned self] in written[taken.seq] = $0 }
        ) { [unowned self] ending, job in
            guard process.life == life, process.state != .dead,
                lent[taken.seq] == taken.entry.attempt
            else { return }
            lent[taken.seq] = nil
            switch ending {
            case .applied: returned(taken, .applied, job)
            case .failed(let error): returned(taken, verdict(taken, error), nil)
            case .ended(let outcome, let reason):
                returned(taken, .ended(outcome, reason: reason), job)
            case .back(let reason, let isInDoubt):
                returned(taken, .back(reason: reason, isInDoubt: isInDoubt), nil)
            case .again(let wait, let reason):
                returned(taken, .retry(after: wait, countsAsFailure: true, reason: reason), job)
            case .postponed(let wait, let reason):
                returned(taken, .retry(after: wait, countsAsFailure: false, reason: reason), nil)
            }
        }
    }

    private func returned(
        _ taken: SimulatedTurn.Taken, _ verdict: Settlement.Verdict, _ job: StoreJob?
    ) {
        alongside[taken.seq] = job
        settle(taken, verdict)
    }

    private func verdict(_ taken: SimulatedTurn.Taken, _ error: (any Error)?)
        -> Settlement.Verdict
    {
        guard let error else { return .applied }
        guard let kind = kinds[taken.entry.kind] else { return .notStarted }
        return .after(error, kind: kind, failures: taken.failures, jitter: random.fraction())
    }

    private func settle(_ taken: SimulatedTurn.Taken, _ verdict: Settlement.Verdict) {
        happened { $0.handlerEnded(settlement(taken, verdict)) }
    }

    func settlement(_ taken: SimulatedTurn.Taken, _ verdict: Settlement.Verdict)
        -> Settlement
    {
        Settlement(
            seq: taken.seq, kind: taken.entry.kind, lane: taken.entry.lane, verdict: verdict)
    }
}
