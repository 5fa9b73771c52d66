import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal

/// Tasks: begun, finished, given up.
extension SimulatedChains {
    // MARK: Beginning

    func begin(_ delivery: SimulatedDelivery) {
        guard
            let payload = try? JSONDecoder().decode(
                IntentPayload.self, from: Data(delivery.entry.payload))
        else { return delivery.end(.failed(DispatchFailure.permanent("malformed")), nil) }
        do {
            guard let chain = try chain(payload.chain) else {
                return delivery.end(.ended(.superseded, reason: "The chain is gone."), nil)
            }
            if mutation == .chainDroppedNotSuspended, chain.trouble != nil,
                !chain.machine.state.isEnd
            {
                return delivery.end(.ended(.superseded, reason: "dropped"), nil)
            }
            switch ChainDecision.begin(payload, attempt: delivery.entry.attempt, of: chain, facts) {
            case .decided(let decision): carryOut(decision, delivery)
            case .run: start(payload, of: chain, delivery)
            }
        } catch let error as ChainRow.Broken {
            quarantine(payload.chain, error.description, delivery)
        } catch {
            checker.violated(.recorded, "a chain cannot be read: \(error)")
        }
    }

    private func start(_ payload: IntentPayload, of chain: LiveChain, _ delivery: SimulatedDelivery)
    {
        guard process.survives("starting a worker") else { return }
        let (place, seq) = (payload.place, chain.row.seq)
        let row = chain.tasks[place]
        let key = Key(
            chain: seq, place: place, round: payload.round, isCompensation: payload.isCompensation)
        let attempts =
            chain.attempts(of: place, isCompensation: payload.isCompensation)
            + delivery.entry.attempt
        let kept = try? journal.read {
            try ChainReading.work(
                seq, place, isCompensation: payload.isCompensation, shipping($0).db)
        }
        guard chain.inputs.removeValue(forKey: place) ?? kept?.input != nil else {
            return checker.violated(.recorded, "the input of \(row.name) is missing")
        }
        guard isOpen(Chains.budgetReadiness) else {
            return carryOut(.outOfTime(payload, of: chain, facts), delivery)
        }
        if process === app.device.process, !app.isFormer {
            app.device.system?.begins("\(row.name) of \(chain.row.id)")
        }
        var name = chain.key(of: place, isCompensation: payload.isCompensation)
        if mutation == .chainKeyPerAttempt { name += "/\(attempts)" }
        let work = SimulatedWork(
            self, key, chain: chain.row.id, task: row.name, workKey: name)
        running[key] = Running(
            delivery: delivery, work: work, started: clock.wall(), attempts: attempts)
        checker.began(running.values.count { $0.stop == nil })
        work.begin()
        if payload.isCompensation {
            alarm(.late(key), after: Self.compensationDeadline, work)
        } else if let deadline = row.deadline {
            alarm(.late(key), after: clock.wall().duration(to: deadline), work)
        }
    }

    private static let compensationDeadline: Duration = .seconds(600)
    private static let cancelGrace: Duration = .seconds(10)

    /// For a worker that runs then.
    private func alarm(_ event: Event, after wait: Duration, _ work: SimulatedWork) {
        simulation.after(max(wait, .zero), on: process) { [self] in
            guard running[work.key]?.work === work else { return }
            put(event)
        }
    }

    func late(_ key: Key) {
        guard let run = running[key], run.stop == nil else { return }
        stop(key, .late)
        alarm(.abandoned(key), after: Self.cancelGrace, run.work)
    }

    func stopForMachine(_ place: Int, of chain: LiveChain) {
        for key in running.keys.sorted() where key.chain == chain.row.seq && key.place == place {
            stop(key, .machine)
            guard chain.machine.state == .cancelling || chain.machine.state == .failing,
                let work = running[key]?.work
            else { continue }
            alarm(.abandoned(key), after: Self.cancelGrace, work)
        }
    }

    // MARK: Ending

    func finished(_ key: Key, _ result: Result<Output, any Error>) {
        guard let run = running.removeValue(forKey: key) else { return }  // it was given up
        if mutation == .chainInterruptedEnds, run.stop == .budget, case .failure = result {
            return run.delivery.end(.ended(.superseded, reason: "There was no time."), nil)
        }
        guard let chain = live[key.chain] else {
            return run.delivery.end(.ended(.dead, reason: "corrupt"), nil)
        }
        switch result {
        case .success(let done):
            if mutation == .chainStepAfterAny, !key.isCompensation {
                endOthers(key.place, of: chain)
            }
            carryOut(
                .succeeded(
                    key.payload, of: chain, done.bytes, done.stored, run.attempt, facts),
                run.delivery, isSuccess: true)
        case .failure(let error): failed(key, chain, error, run)
        }
    }

    /// The mutation `chainStepAfterAny`.
    private func endOthers(_ place: Int, of chain: LiveChain) {
        for other in chain.machine.currentPlaces where other != place {
            _ = chain.machine.ended(other, as: .succeeded)
        }
    }

    private func failed(_ key: Key, _ chain: LiveChain, _ error: any Error, _ run: Running) {
        let former = chain.tasks[key.place].failures
        // What fails in a former owner's process, nobody can write down.
        if !app.isFormer, run.stop == nil, (error as? DispatchFailure)?.advice != .notReady,
            let task = chain.plan?.tasks[key.place]
        {
            checker.failed(chain.row.id, task.name, key.isCompensation, most: task.attempts)
        }
        var decision = ChainDecision.failed(key.payload, of: chain, error, run.attempt, facts)
        if mutation == .chainRetryForgetsFailures, case .again = decision.ending {
            chain.tasks[key.place].failures = former
            decision.writes.changes.removeAll {
                guard case .failure = $0.1 else { return false }
                return true
            }
        }
        carryOut(decision, run.delivery)
    }

    /// It was told to stop and did not: what it says later counts no more.
    func abandon(_ key: Key) {
        guard let run = running.removeValue(forKey: key), let chain = live[key.chain] else {
            return
        }
        carryOut(.abandoned(key.payload, of: chain, run.attempt, facts), run.delivery)
        guard mutation == .chainAbandonedCounts, !key.isCompensation else { return }
        run.work.whenFinished = { [self] in
            var writes = ChainWrites(chain: key.chain, id: chain.row.id, name: nil)
            writes.changes.append(
                (
                    key.place,
                    .ended(.succeeded, output: nil, attempts: 1, started: nil, error: nil)
                ))
            let late = writes
            journal.write(
                { [checker] transaction in
                    let shipping = try shipping(transaction)
                    try late.perform(in: shipping.db, shipping.journal, retention: .zero)
                    checker.touched.insert(late.chain)
                }, then: { (_: Result<Void, any Error>) in })
        }
    }
}
