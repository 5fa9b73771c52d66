import RepriseCore
import RepriseJournal

/// Decides the result of an intent or of a task's run: an outcome, another attempt, or a later
/// time.
extension ChainDecision {
    package enum Beginning {
        case run(worker: String)
        case decided(ChainDecision)
    }

    /// An intent was dispatched.
    package static func begin(
        _ payload: IntentPayload, attempt: Int, of chain: LiveChain, _ facts: ChainFacts
    ) -> Beginning {
        let (place, isCompensation) = (payload.place, payload.isCompensation)
        // A task held now has not used an attempt.
        let attempt = max(attempt - 1, 0)
        // Each of its intents is held, not the first alone: the others would be lost with their
        // entries.
        if chain.trouble != nil, !chain.machine.state.isEnd, chain.machine.state != .paused {
            return .decided(suspend(chain, facts, holding: payload, attempt: attempt))
        }
        guard chain.tasks.indices.contains(place), chain.tasks[place].round == payload.round
        else { return .decided(look(chain, facts)) }
        func hold(_ why: String) -> Beginning {
            .decided(self.hold(payload, of: chain, why, attempt: attempt, facts))
        }
        switch chain.machine.dispatched(place, isCompensation: isCompensation) {
        case .stale: return .decided(look(chain, facts))
        case .hold(let why): return hold(why)
        case .run: break
        }
        guard chain.row.constraints.areMet(by: facts.conditions) else { return hold("conditions") }
        if let deadline = chain.tasks[place].deadline, !isCompensation, deadline <= facts.now(),
            facts.mayExpire()
        {
            let reason = "timedOut: It was not done in time."
            return .decided(fail(payload, of: chain, reason, nil, facts))
        }
        guard let task = chain.plan?.tasks[place],
            let name = isCompensation ? task.compensation?.worker : task.worker,
            facts.hasWorker(name)
        else { return hold("parked") }
        return .run(worker: name)
    }

    /// Its worker has done it.
    package static func succeeded(
        _ payload: IntentPayload, of chain: LiveChain, _ bytes: [UInt8], _ output: StoredOutput,
        _ attempt: ChainAttempt, _ facts: ChainFacts
    ) -> ChainDecision {
        var decision = ChainDecision(chain, .applied, facts)
        let place = payload.place
        if payload.isCompensation {
            decision.writes.changes.append((place, .compensated(.compensated, error: nil)))
            decision.add(chain.machine.compensated(place, .compensated))
        } else {
            chain.keep(bytes, of: place)
            chain.recent[place] = output
            chain.tasks[place].outputBytes = output.count
            decision.end(
                place, .succeeded, output: output, attempts: attempt.attempts,
                started: attempt.started)
            decision.add(chain.machine.ended(place, as: .succeeded))
        }
        return decision
    }

    /// Its worker has failed or was cancelled.
    package static func failed(
        _ payload: IntentPayload, of chain: LiveChain, _ error: any Error,
        _ attempt: ChainAttempt, _ facts: ChainFacts
    ) -> ChainDecision {
        func hold(_ why: String) -> ChainDecision {
            self.hold(payload, of: chain, why, attempt: attempt.ofEntry, facts)
        }
        switch attempt.stop {
        case .late where payload.isCompensation:
            let error = RepriseError(.timedOut, "Its effect was not taken back in time.")
            return tryAgain(payload, of: chain, error, attempt, facts)
        case .late:
            return fail(payload, of: chain, "timedOut: It was not done in time.", attempt, facts)
        case .budget: return back(payload, of: chain, facts)
        case .conditions:
            return chain.row.constraints.areMet(by: facts.conditions)
                ? back(payload, of: chain, facts) : hold("conditions")
        case .machine:
            switch chain.machine.state {
            case .paused: return hold("paused")
            case .suspended: return hold("parked")
            case .failing, .cancelling:
                return cancelled(payload, of: chain, attempt, "It was told to stop.", facts)
            case .queued, .running, .succeeded, .failed, .cancelled, .quarantined:
                return back(payload, of: chain, facts)
            }
        case nil: return tryAgain(payload, of: chain, error, attempt, facts)
        }
    }

    /// It was cancelled and did not end: its later results are ignored.
    package static func abandoned(
        _ payload: IntentPayload, of chain: LiveChain, _ attempt: ChainAttempt, _ facts: ChainFacts
    ) -> ChainDecision {
        guard attempt.stop != .late else {
            return failed(payload, of: chain, CancellationError(), attempt, facts)
        }
        let reason = "It did not stop in time, and was given up."
        return cancelled(payload, of: chain, attempt, reason, facts)
    }

    /// The time was over between its dispatch and its beginning.
    ///
    /// It goes back: nobody would interrupt it any more.
    package static func outOfTime(
        _ payload: IntentPayload, of chain: LiveChain, _ facts: ChainFacts
    ) -> ChainDecision {
        back(payload, of: chain, facts)
    }

    // MARK: Outcomes

    private static func back(
        _ payload: IntentPayload, of chain: LiveChain, _ facts: ChainFacts
    ) -> ChainDecision {
        let reason = "There was no time."
        let actions = chain.machine.requeued(payload.place)
        guard !actions.isEmpty else {
            return ChainDecision(chain, .back(reason: reason), facts, isBare: true)
        }
        // Decisions made meanwhile waited for this one: they are written with its return.
        var decision = ChainDecision(chain, .again(after: .zero, reason: reason), facts)
        decision.add(actions)
        return decision
    }

    private static func tryAgain(
        _ payload: IntentPayload, of chain: LiveChain, _ error: any Error,
        _ attempt: ChainAttempt, _ facts: ChainFacts
    ) -> ChainDecision {
        guard let task = chain.plan?.tasks[payload.place] else {
            return back(payload, of: chain, facts)
        }
        let (place, reason) = (payload.place, "\(error)")
        let failures = chain.tasks[place].failures + 1
        var wait = task.backoff.delay(failures: failures, jitter: facts.jitter())
        switch (error as? DispatchFailure)?.advice {
        case .permanent: return fail(payload, of: chain, reason, attempt, facts)
        case .notReady:
            var decision = ChainDecision(chain, .again(after: wait, reason: reason), facts)
            decision.add(chain.machine.requeued(place))
            return decision
        case .retry(let asked): wait = max(asked, .zero)
        case nil: break
        }
        guard failures < task.attempts else {
            return fail(payload, of: chain, reason, attempt, facts)
        }
        if let deadline = chain.tasks[place].deadline, !payload.isCompensation {
            wait = min(wait, max(facts.wall().duration(to: deadline), .zero))
        }
        chain.tasks[place].failures = failures
        var decision = ChainDecision(chain, .again(after: wait, reason: reason), facts)
        decision.writes.changes.append(
            (
                place,
                .failure(count: failures, error: reason, isCompensation: payload.isCompensation)
            ))
        decision.add(chain.machine.requeued(place))
        return decision
    }

    /// For good.
    private static func fail(
        _ payload: IntentPayload, of chain: LiveChain, _ reason: String,
        _ attempt: ChainAttempt?, _ facts: ChainFacts
    ) -> ChainDecision {
        var decision = ChainDecision(chain, .ended(.dead, reason: reason), facts)
        let place = payload.place
        if attempt != nil {
            chain.tasks[place].failures += 1
            decision.writes.changes.append(
                (
                    place,
                    .failure(
                        count: chain.tasks[place].failures, error: reason,
                        isCompensation: payload.isCompensation)
                ))
        }
        if payload.isCompensation {
            decision.writes.changes.append((place, .compensated(.failed, error: "undo: \(reason)")))
            decision.writes.log.append((place, "Its effect could not be taken back: \(reason)"))
            decision.add(chain.machine.compensated(place, .failed))
        } else {
            decision.end(
                place, .failed, attempts: attempt?.attempts, started: attempt?.started,
                error: reason)
            decision.writes.reason = "\(chain.tasks[place].name): \(reason)"
            decision.add(chain.machine.ended(place, as: .failed))
        }
        return decision
    }

    private static func cancelled(
        _ payload: IntentPayload, of chain: LiveChain, _ attempt: ChainAttempt, _ reason: String,
        _ facts: ChainFacts
    ) -> ChainDecision {
        var decision = ChainDecision(chain, .ended(.superseded, reason: "cancelled"), facts)
        decision.end(
            payload.place, .cancelled, attempts: attempt.attempts, started: attempt.started,
            error: reason)
        decision.add(chain.machine.ended(payload.place, as: .cancelled))
        return decision
    }

    /// Holds a task that cannot continue now.
    private static func hold(
        _ payload: IntentPayload, of chain: LiveChain, _ why: String, attempt: Int,
        _ facts: ChainFacts
    ) -> ChainDecision {
        let place = payload.place
        var decision = ChainDecision(chain, .ended(.superseded, reason: "held: \(why)"), facts)
        decision.hold(payload, why, attempt: attempt)
        if why == "conditions", !payload.isCompensation { decision.remindOfDeadline(place) }
        decision.add(chain.machine.held(place, isCompensation: payload.isCompensation))
        return decision
    }

    /// The intent ends with its entry; its attempts so far are kept.
    mutating func hold(_ payload: IntentPayload, _ why: String, attempt: Int) {
        let (place, isCompensation) = (payload.place, payload.isCompensation)
        let count = isCompensation ? \TaskRow.compensationAttempts : \TaskRow.attempts
        chain.tasks[place][keyPath: count] += attempt
        chain.tasks[place].hold = why
        let attempts = chain.tasks[place][keyPath: count]
        writes.changes.append(
            (place, .held(why, isCompensation: isCompensation, attempts: attempts, deadline: nil)))
    }
}
