import Foundation
import GRDB
import RepriseCore
import RepriseJournal

/// Tasks: begun, finished, given up.
extension ChainsEngine {
    // MARK: Beginning

    func begin(_ lent: Lent) async {
        guard let payload = try? ChainJSON.decode(IntentPayload.self, from: lent.entry.payload)
        else {
            return lent.end(HandOverFailure.permanent("malformed: It names no task."))
        }
        do {
            guard let chain = try await chain(payload.chain) else {
                return lent.end(as: .ended(.superseded, reason: "The chain is gone."))
            }
            await begin(payload, of: chain, lent)
        } catch let error as ChainRow.Broken {
            quarantine(payload.chain, error.description, lent)
        } catch {
            note(error)
            lent.end(HandOverFailure.notReady("The chain cannot be read: \(error)"))
        }
    }

    private func begin(_ payload: IntentPayload, of chain: LiveChain, _ lent: Lent) async {
        let (place, isUndo) = (payload.place, payload.isUndo)
        if chain.trouble != nil, !chain.machine.state.isEnd, chain.machine.state != .parked {
            return await park(chain, lent, holding: payload)
        }
        guard chain.tasks.indices.contains(place), chain.tasks[place].round == payload.round,
            let plan = chain.plan
        else {
            return await look(chain, lent)
        }
        let task = plan.tasks[place]
        let verdict = chain.machine.handedOver(place, isUndo: isUndo)
        switch verdict {
        case .stale: return await look(chain, lent)
        case .hold(let why): return await hold(payload, of: chain, why, lent)
        case .run: break
        }
        guard chain.row.constraints.areMet(by: conditions) else {
            return await hold(payload, of: chain, "conditions", lent)
        }
        if let deadline = chain.tasks[place].deadline, !isUndo, deadline <= journal.now,
            journal.mayExpire
        {
            return await fail(
                payload, of: chain, "timedOut: It was not done in time.", lent, attempts: 0)
        }
        guard let name = isUndo ? task.undo?.worker : task.worker, let worker = registry?[name]
        else { return await hold(payload, of: chain, "parked", lent) }
        await start(payload, of: chain, task, worker, lent)
    }

    private func start(
        _ payload: IntentPayload, of chain: LiveChain, _ task: PlannedTask,
        _ worker: @escaping WorkerRegistry.Run, _ lent: Lent
    ) async {
        let (place, seq) = (payload.place, chain.row.seq)
        let row = chain.tasks[place]
        let key = TaskKey(chain: seq, place: place, round: payload.round, isUndo: payload.isUndo)
        let attempts = row.attempts + lent.entry.attempt
        var kept = chain.inputs.removeValue(forKey: place)
        var checkpoint: [UInt8]?
        if kept == nil || attempts > 1 {
            do {
                let found = try await journal.read { try ChainReading.work(seq, place, $0) }
                (kept, checkpoint) = (kept ?? found.input, found.checkpoint)
            } catch {
                note(error)
                _ = chain.machine.handedBack(place)
                return lent.end(HandOverFailure.notReady("The task cannot be read: \(error)"))
            }
        }
        guard let input = kept else {
            _ = chain.machine.handedBack(place)
            return quarantine(seq, "the input of \(row.name) is missing", lent)
        }
        let deadline = [row.deadline, chain.row.deadline].compactMap { $0 }.min()
        let context = WorkContext(
            key: "\(chain.row.id)/\(row.name)\(payload.isUndo ? "/undo" : "")", attempt: attempts,
            deadline: payload.isUndo ? nil : deadline, saved: checkpoint,
            hooks: hooks(for: key, entry: lent.entry.id.text, name: row.name, id: chain.row.id))
        let work = Task.detached { [inbox, files] in
            do {
                let bytes = try await worker(input, context)
                let done = WorkDone(bytes: bytes, output: try files.store(bytes))
                inbox.put(.finished(key, .success(done)))
            } catch {
                inbox.put(.finished(key, .failure(error)))
            }
        }
        running[key] = Running(lent: lent, task: work, started: clock.wall(), attempts: attempts)
        if let deadline = row.deadline, !payload.isUndo {
            alarm(.late(key), after: clock.wall().duration(to: deadline), for: key)
        }
    }

    private func alarm(_ event: ChainsEvent, after wait: Duration, for key: TaskKey) {
        let timer = Task { [inbox, clock] in
            do { try await clock.sleep(for: max(wait, .zero)) } catch { return }
            inbox.put(event)
        }
        running[key]?.timers.append(timer)
    }

    func stopForMachine(_ place: Int, of chain: LiveChain) {
        for key in running.keys where key.chain == chain.row.seq && key.place == place {
            stop(key, .machine)
            if chain.machine.state == .cancelling || chain.machine.state == .failing {
                alarm(.abandoned(key), after: configuration.cancelGrace, for: key)
            }
        }
    }

    // MARK: Ending

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
        _ = chain.machine.handedBack(payload.place)
        run.lent.end(as: .back(reason: "There was no time."))
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
            _ = chain.machine.handedBack(place)
            return run.lent.end(as: .again(after: wait, reason: "\(error)"))
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
        await cancelled(key.place, of: chain, run, "It did not stop in time, and was given up.")
    }

    func hold(
        _ payload: IntentPayload, of chain: LiveChain, _ why: String, _ lent: Lent
    ) async {
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
        await carryOut(
            chain.machine.held(place, isUndo: payload.isUndo), of: chain, into: &writes)
        settle(lent, as: .ended(.superseded, reason: "held: \(why)"), writes)
    }

    /// Takes what cannot be read out of everybody's way; other chains go on.
    func quarantine(_ seq: Int64, _ why: String, _ lent: Lent) {
        live[seq] = nil
        for key in running.keys where key.chain == seq { stop(key, .machine) }
        let retention = configuration.retention
        lent.end(
            as: .ended(.dead, reason: "corrupt: \(why)"),
            alongside: { [journal] db in
                let now = journal.now
                try db.execute(
                    sql: """
                        UPDATE chain SET state = 13, reason = ?, endedAt = ?, leaves = ?
                        WHERE seq = ? AND state IS NOT 13
                        """,
                    arguments: [
                        "corrupt: \(why)".limited(to: ChainsLimits.errorBytes), now.milliseconds,
                        now.advanced(by: retention).milliseconds, seq,
                    ])
            })
    }
}

extension ChainState {
    /// What a task of a chain in this state is held for.
    fileprivate var hold: String { self == .parked ? "parked" : "paused" }
}
