import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal

/// Tasks: begun, finished, given up. Transcribed of `ChainsEngine+Work.swift`.
extension SimulatedChains {
    // MARK: Beginning

    func begin(_ lent: SimulatedLent) {
        guard
            let payload = try? JSONDecoder().decode(
                IntentPayload.self, from: Data(lent.entry.payload))
        else { return lent.end(.failed(HandOverFailure.permanent("malformed")), nil) }
        do {
            guard let chain = try chain(payload.chain) else {
                return lent.end(.ended(.superseded, reason: "The chain is gone."), nil)
            }
            begin(payload, of: chain, lent)
        } catch {
            witness.violated(.recorded, "a chain cannot be read: \(error)")
        }
    }

    private func begin(_ payload: IntentPayload, of chain: LiveChain, _ lent: SimulatedLent) {
        let (place, isUndo) = (payload.place, payload.isUndo)
        if chain.trouble != nil, !chain.machine.state.isEnd, chain.machine.state != .parked {
            if mutation == .chainParkedSilently {
                return lent.end(.ended(.superseded, reason: "parked"), nil)
            }
            return park(chain, lent, holding: payload)
        }
        guard chain.tasks.indices.contains(place), chain.tasks[place].round == payload.round,
            let plan = chain.plan
        else { return look(chain, lent) }
        let task = plan.tasks[place]
        switch chain.machine.handedOver(place, isUndo: isUndo) {
        case .stale: return look(chain, lent)
        case .hold(let why): return hold(payload, of: chain, why, lent)
        case .run: break
        }
        guard chain.row.constraints.areMet(by: conditions) else {
            return hold(payload, of: chain, "conditions", lent)
        }
        if let deadline = chain.tasks[place].deadline, !isUndo, isLate(deadline) {
            return fail(payload, of: chain, "timedOut", lent, attempts: 0)
        }
        guard let name = isUndo ? task.undo?.worker : task.worker, app.workers.contains(name)
        else { return hold(payload, of: chain, "parked", lent) }
        start(payload, of: chain, lent)
    }

    private func isLate(_ deadline: WallTime) -> Bool {
        let answer = try? journal.read { transaction in
            let journal = try shipping(transaction).journal
            return deadline <= journal.now && journal.mayExpire
        }
        return answer ?? false
    }

    private func start(_ payload: IntentPayload, of chain: LiveChain, _ lent: SimulatedLent) {
        guard process.survives("starting a worker") else { return }
        let (place, seq) = (payload.place, chain.row.seq)
        let row = chain.tasks[place]
        let key = Key(chain: seq, place: place, round: payload.round, isUndo: payload.isUndo)
        let attempts = row.attempts + lent.entry.attempt
        let kept = try? journal.read { try ChainReading.work(seq, place, shipping($0).db) }
        guard chain.inputs.removeValue(forKey: place) ?? kept?.input != nil else {
            return witness.violated(.recorded, "the input of \(row.name) is missing")
        }
        var name = "\(chain.row.id)/\(row.name)\(payload.isUndo ? "/undo" : "")"
        if mutation == .chainKeyPerAttempt { name += "/\(attempts)" }
        let work = SimulatedWork(
            self, key, chain: chain.row.id, task: row.name, workKey: name)
        running[key] = Running(
            lent: lent, work: work, started: clock.wall(), attempts: attempts)
        witness.began(running.values.count { $0.stop == nil })
        work.begin()
        if let deadline = row.deadline, !payload.isUndo {
            alarm(.late(key), after: clock.wall().duration(to: deadline), work)
        }
    }

    /// For a worker that runs then.
    private func alarm(_ event: Event, after wait: Duration, _ work: SimulatedWork) {
        simulation.after(max(wait, .zero), on: process) { [self] in
            guard running[work.key]?.work === work else { return }
            put(event)
        }
    }

    func stopForMachine(_ place: Int, of chain: LiveChain) {
        for key in running.keys.sorted() where key.chain == chain.row.seq && key.place == place {
            stop(key, .machine)
            guard chain.machine.state == .cancelling || chain.machine.state == .failing,
                let work = running[key]?.work
            else { continue }
            alarm(.abandoned(key), after: .seconds(10), work)
        }
    }

    // MARK: Ending

    func finished(_ key: Key, _ result: Result<[UInt8], any Error>) {
        guard let run = running.removeValue(forKey: key) else { return }  // it was given up
        guard let chain = live[key.chain] else {
            return run.lent.end(.ended(.dead, reason: "corrupt"), nil)
        }
        let payload = IntentPayload(
            chain: key.chain, place: key.place, isUndo: key.isUndo, round: key.round)
        switch result {
        case .success(let bytes): succeeded(payload, of: chain, bytes, run)
        case .failure(let error): failed(payload, of: chain, error, run)
        }
    }

    private func succeeded(
        _ payload: IntentPayload, of chain: LiveChain, _ bytes: [UInt8], _ run: Running
    ) {
        var writes = chain.writes()
        let place = payload.place
        var actions: [ChainMachine.Action]
        if payload.isUndo {
            writes.changes.append((place, .undone(.undone, error: nil)))
            actions = chain.machine.undone(place, .undone)
        } else {
            let output = StoredOutput(bytes)
            chain.keep(bytes, of: place)
            chain.recent[place] = output
            chain.tasks[place].outputBytes = output.count
            writes.changes.append(
                (
                    place,
                    .ended(
                        .succeeded, output: output, attempts: run.attempts, started: run.started,
                        error: nil)
                ))
            actions = []
            if mutation == .chainStepAfterAny {
                for other in chain.machine.currentPlaces where other != place {
                    actions += chain.machine.ended(other, as: .succeeded)
                }
            }
            actions += chain.machine.ended(place, as: .succeeded)
        }
        carryOut(actions, of: chain, into: &writes)
        if mutation == .chainStepBeforeOutcome {
            for intent in writes.intents where !intent.isUndo { startEarly(intent, of: chain) }
        }
        settle(run.lent, as: .applied, writes)
    }

    /// The mutation `chainStepBeforeOutcome`.
    private func startEarly(_ intent: ChainWrites.Intent, of chain: LiveChain) {
        let name = chain.tasks[intent.place].name
        SimulatedWork(
            self,
            Key(chain: chain.row.seq, place: intent.place, round: intent.round, isUndo: false),
            chain: chain.row.id, task: name, workKey: "\(chain.row.id)/\(name)"
        ).takeEffect()
    }

    private func failed(
        _ payload: IntentPayload, of chain: LiveChain, _ error: any Error, _ run: Running
    ) {
        let place = payload.place
        switch run.stop {
        case .late:
            fail(
                payload, of: chain, "timedOut", run.lent, attempts: run.attempts,
                started: run.started)
        case .conditions:
            chain.row.constraints.areMet(by: conditions)
                ? back(payload, of: chain, run) : hold(payload, of: chain, "conditions", run.lent)
        case .machine:
            switch chain.machine.state {
            case .paused: hold(payload, of: chain, "paused", run.lent)
            case .parked: hold(payload, of: chain, "parked", run.lent)
            case .failing, .cancelling: cancelled(place, of: chain, run)
            case .queued, .running, .succeeded, .failed, .cancelled, .quarantined:
                back(payload, of: chain, run)
            }
        case nil: tryAgain(payload, of: chain, error, run)
        }
    }

    private func back(_ payload: IntentPayload, of chain: LiveChain, _ run: Running) {
        let actions = chain.machine.handedBack(payload.place)
        guard !actions.isEmpty else {
            return run.lent.end(.back(reason: "There was no time."), nil)
        }
        var writes = chain.writes()
        carryOut(actions, of: chain, into: &writes)
        settle(run.lent, as: .again(after: .zero, reason: "There was no time."), writes)
    }

    private func tryAgain(
        _ payload: IntentPayload, of chain: LiveChain, _ error: any Error, _ run: Running
    ) {
        guard let task = chain.plan?.tasks[payload.place] else {
            return back(payload, of: chain, run)
        }
        let place = payload.place
        let failures = chain.tasks[place].failures + 1
        var wait = task.backoff.delay(failures: failures, jitter: random.fraction())
        let advice = (error as? HandOverFailure)?.advice
        switch advice {
        case .permanent: break
        case .notReady:
            var writes = chain.writes()
            carryOut(chain.machine.handedBack(place), of: chain, into: &writes)
            return settle(run.lent, as: .again(after: wait, reason: "\(error)"), writes)
        case .retry(let asked): wait = max(asked, .zero)
        case nil: break
        }
        witness.failed(chain.row.id, task.name, payload.isUndo, most: task.attempts)
        guard failures < task.attempts, advice != .permanent else {
            return fail(
                payload, of: chain, "\(error)", run.lent, attempts: run.attempts,
                started: run.started)
        }
        if let deadline = chain.tasks[place].deadline, !payload.isUndo {
            wait = min(wait, max(clock.wall().duration(to: deadline), .zero))
        }
        var writes = chain.writes()
        if mutation != .chainRetryForgetsFailures {
            chain.tasks[place].failures = failures
            writes.changes.append(
                (place, .failure(count: failures, error: "\(error)", isUndo: payload.isUndo)))
        }
        carryOut(chain.machine.handedBack(place), of: chain, into: &writes)
        settle(run.lent, as: .again(after: wait, reason: "\(error)"), writes)
    }

    /// For good.
    func fail(
        _ payload: IntentPayload, of chain: LiveChain, _ reason: String, _ lent: SimulatedLent,
        attempts: Int, started: WallTime? = nil
    ) {
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
        carryOut(actions, of: chain, into: &writes)
        settle(lent, as: .ended(.dead, reason: reason), writes)
    }

    private func cancelled(_ place: Int, of chain: LiveChain, _ run: Running) {
        var writes = chain.writes()
        writes.changes.append(
            (
                place,
                .ended(
                    .cancelled, output: nil, attempts: run.attempts, started: run.started,
                    error: "It was told to stop.")
            ))
        carryOut(chain.machine.ended(place, as: .cancelled), of: chain, into: &writes)
        settle(run.lent, as: .ended(.superseded, reason: "cancelled"), writes)
    }

    /// It was told to stop and did not: what it says later counts no more.
    func abandon(_ key: Key) {
        guard let run = running.removeValue(forKey: key), let chain = live[key.chain] else {
            return
        }
        cancelled(key.place, of: chain, run)
        guard mutation == .chainAbandonedCounts else { return }
        run.work.whenFinished = { [self] in
            guard let chain = live[key.chain] else { return }
            var writes = chain.writes()
            writes.changes.append(
                (
                    key.place,
                    .ended(.succeeded, output: nil, attempts: 1, started: nil, error: nil)
                ))
            let late = writes
            journal.write(
                { [witness] transaction in
                    let shipping = try shipping(transaction)
                    try late.perform(in: shipping.db, shipping.journal, retention: .zero)
                    witness.touched.insert(late.chain)
                }, then: { (_: Result<Void, any Error>) in })
        }
    }

    func hold(
        _ payload: IntentPayload, of chain: LiveChain, _ why: String, _ lent: SimulatedLent
    ) {
        let place = payload.place
        chain.tasks[place].attempts += lent.entry.attempt
        chain.tasks[place].hold = why
        var writes = chain.writes()
        writes.changes.append(
            (
                place,
                .held(
                    why, isUndo: payload.isUndo, attempts: chain.tasks[place].attempts,
                    deadline: nil)
            ))
        carryOut(chain.machine.held(place, isUndo: payload.isUndo), of: chain, into: &writes)
        settle(lent, as: .ended(.superseded, reason: "held: \(why)"), writes)
    }
}
