import Foundation
import RepriseCore
import RepriseJournal

/// What becomes of a task that ran: an outcome, another attempt, or another time.
extension ChainsEngine {
    func finished(_ key: TaskKey, _ result: Result<WorkDone, any Error>) async {
        guard let run = running.removeValue(forKey: key) else { return }  // it was given up
        for timer in run.timers { timer.cancel() }
        guard let chain = live[key.chain] else {
            return run.lent.end(as: .ended(.dead, reason: "corrupt: Its chain cannot be read."))
        }
        let payload = IntentPayload(
            chain: key.chain, place: key.place, isUndo: key.isUndo, round: key.round)
        switch result {
        case .success(let done): await succeeded(payload, of: chain, done, run)
        case .failure(let error): await failed(payload, of: chain, error, run)
        }
    }

    private func succeeded(
        _ payload: IntentPayload, of chain: LiveChain, _ done: WorkDone, _ run: Running
    ) async {
        var writes = chain.writes()
        let place = payload.place
        let actions: [ChainMachine.Action]
        if payload.isUndo {
            writes.changes.append((place, .undone(.undone, error: nil)))
            actions = chain.machine.undone(place, .undone)
        } else {
            chain.keep(done.bytes, of: place)
            chain.recent[place] = done.output
            chain.tasks[place].outputBytes = done.output.count
            writes.changes.append(
                (
                    place,
                    .ended(
                        .succeeded, output: done.output, attempts: run.attempts,
                        started: run.started, error: nil)
                ))
            actions = chain.machine.ended(place, as: .succeeded)
        }
        await carryOut(actions, of: chain, into: &writes)
        settle(run.lent, as: .applied, writes)
    }

    private func failed(
        _ payload: IntentPayload, of chain: LiveChain, _ error: any Error, _ run: Running
    ) async {
        let code = (error as? RepriseError)?.code
        if code == .ownershipLost || code == .closed { return note(error) }
        let place = payload.place
        switch run.stop {
        case .late where payload.isUndo:
            let error = RepriseError(.timedOut, "Its effect was not taken back in time.")
            return await tryAgain(payload, of: chain, error, run)
        case .late:
            return await fail(
                payload, of: chain, "timedOut: It was not done in time.", run.lent,
                attempts: run.attempts, started: run.started)
        case .budget: return await back(payload, of: chain, run)
        case .conditions:
            if chain.row.constraints.areMet(by: conditions) {
                return await back(payload, of: chain, run)
            }
            return await hold(payload, of: chain, "conditions", run.lent)
        case .machine:
            switch chain.machine.state {
            case .paused, .parked:
                return await hold(payload, of: chain, chain.machine.state.hold, run.lent)
            case .failing, .cancelling:
                return await cancelled(place, of: chain, run, "It was told to stop.")
            case .queued, .running, .succeeded, .failed, .cancelled, .quarantined:
                return await back(payload, of: chain, run)
            }
        case nil: await tryAgain(payload, of: chain, error, run)
        }
    }

    private func back(_ payload: IntentPayload, of chain: LiveChain, _ run: Running) async {
        let actions = chain.machine.handedBack(payload.place)
        guard !actions.isEmpty else {
            return run.lent.end(as: .back(reason: "There was no time."))
        }
        // What was decided meanwhile waited for this one: it is written with its return.
        var writes = chain.writes()
        await carryOut(actions, of: chain, into: &writes)
        settle(run.lent, as: .again(after: .zero, reason: "There was no time."), writes)
    }

    private func tryAgain(
        _ payload: IntentPayload, of chain: LiveChain, _ error: any Error, _ run: Running
    ) async {
        guard let task = chain.plan?.tasks[payload.place] else {
            return await back(payload, of: chain, run)
        }
        let place = payload.place
        let failures = chain.tasks[place].failures + 1
        var wait = task.backoff.delay(failures: failures, jitter: configuration.jitter())
        switch (error as? HandOverFailure)?.advice {
        case .permanent:
            return await fail(
                payload, of: chain, "\(error)", run.lent, attempts: run.attempts,
                started: run.started)
        case .notReady:
            var writes = chain.writes()
            await carryOut(chain.machine.handedBack(place), of: chain, into: &writes)
            return settle(run.lent, as: .again(after: wait, reason: "\(error)"), writes)
        case .retry(let asked): wait = max(asked, .zero)
        case nil: break
        }
        guard failures < task.attempts else {
            return await fail(
                payload, of: chain, "\(error)", run.lent, attempts: run.attempts,
                started: run.started)
        }
        if let deadline = chain.tasks[place].deadline, !payload.isUndo {
            wait = min(wait, max(clock.wall().duration(to: deadline), .zero))
        }
        chain.tasks[place].failures = failures
        var writes = chain.writes()
        writes.changes.append(
            (place, .failure(count: failures, error: "\(error)", isUndo: payload.isUndo)))
        await carryOut(chain.machine.handedBack(place), of: chain, into: &writes)
        settle(run.lent, as: .again(after: wait, reason: "\(error)"), writes)
    }

    /// For good.
    func fail(
        _ payload: IntentPayload, of chain: LiveChain, _ reason: String, _ lent: Lent,
        attempts: Int, started: WallTime? = nil
    ) async {
        var writes = chain.writes()
        let place = payload.place
        let actions: [ChainMachine.Action]
        if payload.isUndo {
            writes.changes.append((place, .undone(.failed, error: "undo: \(reason)")))
            writes.log.append((place, "Its effect could not be taken back: \(reason)"))
            actions = chain.machine.undone(place, .failed)
        } else {
            writes.changes.append(
                (
                    place,
                    .ended(
                        .failed, output: nil, attempts: attempts, started: started, error: reason)
                ))
            writes.reason = "\(chain.tasks[place].name): \(reason)"
            actions = chain.machine.ended(place, as: .failed)
        }
        await carryOut(actions, of: chain, into: &writes)
        settle(lent, as: .ended(.dead, reason: reason), writes)
    }

    private func cancelled(_ place: Int, of chain: LiveChain, _ run: Running, _ reason: String)
        async
    {
        var writes = chain.writes()
        writes.changes.append(
            (
                place,
                .ended(
                    .cancelled, output: nil, attempts: run.attempts, started: run.started,
                    error: reason)
            ))
        await carryOut(chain.machine.ended(place, as: .cancelled), of: chain, into: &writes)
        settle(run.lent, as: .ended(.superseded, reason: "cancelled"), writes)
    }

    /// It was told to stop and did not: what it says later counts no more.
    func abandon(_ key: TaskKey) async {
        guard let run = running.removeValue(forKey: key), let chain = live[key.chain] else {
            return
        }
        for timer in run.timers { timer.cancel() }
        guard run.stop == .late else {
            return await cancelled(
                key.place, of: chain, run, "It did not stop in time, and was given up.")
        }
        let payload = IntentPayload(
            chain: key.chain, place: key.place, isUndo: key.isUndo, round: key.round)
        await failed(payload, of: chain, CancellationError(), run)
    }
}

extension ChainState {
    /// What a task of a chain in this state is held for.
    fileprivate var hold: String { self == .parked ? "parked" : "paused" }
}
