import RepriseCore
import RepriseJournal

/// Decisions about a chain as a whole: its commands.
extension ChainDecision {
    /// Evaluates the chain's state; the entry only triggers it.
    static func look(_ chain: LiveChain, _ facts: ChainFacts) -> ChainDecision {
        let reason = "It was decided about otherwise."
        var decision = ChainDecision(chain, .ended(.superseded, reason: reason), facts)
        decision.add(chain.machine.decide())
        return decision
    }

    /// Suspends a chain that this version of the app cannot continue; nothing is dropped.
    static func suspend(
        _ chain: LiveChain, _ facts: ChainFacts, holding payload: IntentPayload? = nil,
        attempt: Int = 0
    ) -> ChainDecision {
        var decision = ChainDecision(chain, .ended(.superseded, reason: "parked"), facts)
        if chain.machine.state != .suspended {
            decision.writes.log.append((nil, "Suspended: \(chain.trouble ?? "")"))
        }
        decision.writes.reason = chain.suspendedReason
        decision.add(chain.machine.suspended())
        decision.writes.state = .suspended
        if let payload, chain.tasks.indices.contains(payload.place),
            chain.tasks[payload.place].round == payload.round,
            chain.machine.dispatched(payload.place, isCompensation: payload.isCompensation)
                != .stale
        {
            decision.hold(payload, "parked", attempt: attempt)
            decision.add(chain.machine.held(payload.place, isCompensation: payload.isCompensation))
        }
        return decision
    }

    /// Performs a command of the app, of a tool, or of the feature itself.
    package static func perform(
        _ command: ChainCommand, _ chain: LiveChain, _ facts: ChainFacts
    ) -> ChainDecision {
        let verb = command.command
        // Without its definition the compensations are unknown: it must not end without them.
        if let unrecoverable = suspendUnrecoverable(command, chain, facts) { return unrecoverable }
        let takesBack = [.failing, .cancelling].contains(chain.machine.state)
        if chain.trouble != nil,
            takesBack || [.resume, .retry, .begin, .look, .release].contains(verb),
            !chain.machine.state.isEnd, chain.machine.state != .queued || verb == .begin
        {
            if verb == .release, let place = command.task.flatMap(chain.place(of:)) {
                chain.tasks[place].hold = Self.released
            }
            // Nor does a pause end because the app has changed.
            guard chain.machine.state == .paused, verb == .release || verb == .look else {
                return suspend(chain, facts)
            }
            return ChainDecision(chain, .applied, facts, isBare: true)
        }
        if verb == .retry, chain.plan == nil {
            let failure = DispatchFailure.permanent(chain.trouble ?? "It cannot go on.")
            return ChainDecision(chain, .failed(failure), facts, isBare: true)
        }
        var decision = ChainDecision(chain, .applied, facts)
        decision.perform(command)
        return decision
    }

    private mutating func perform(_ command: ChainCommand) {
        if chain.machine.state == .suspended, chain.trouble == nil {
            writes.reason = chain.reasonToTakeBack
        }
        switch command.command {
        case .pause: add(chain.machine.paused())
        case .resume: add(chain.machine.resumed())
        case .cancel:
            writes.reason = "It was cancelled."
            add(chain.machine.cancelled())
        case .retry: add(chain.machine.retried())
        case .begin: add(chain.machine.begun())
        case .look:
            // The app may now have what a suspended chain needs.
            add(
                chain.machine.state == .suspended ? chain.machine.resumed() : chain.machine.decide()
            )
        case .release: release(command.task)
        case .late: late(command.task)
        // Of what has ended, or of no chain: the engine does them.
        case .delete, .clear, .unschedule, .scheduled: break
        }
    }

    private mutating func release(_ name: String?) {
        guard let name, let place = chain.place(of: name) else { return }
        if chain.plan?.tasks[place].wait != nil, chain.machine.slots[place].state == .held {
            // A pause keeps what has arrived.
            return arrived(place)
        }
        add(chain.machine.released(place))
    }

    private mutating func late(_ name: String?) {
        guard let name else {
            writes.reason = "timedOut: It was not done in time."
            return add(chain.machine.failed())
        }
        // A retry, or a wait that began anew, has a deadline of its own: this is not it.
        guard let place = chain.place(of: name), chain.machine.slots[place].state == .held,
            let deadline = chain.tasks[place].deadline,
            deadline <= facts.now().advanced(by: .seconds(1))
        else { return }
        let reason = "timedOut: What it waits for did not come in time."
        end(place, .failed, error: reason)
        writes.reason = "\(chain.tasks[place].name): \(reason)"
        guard chain.isUnrecoverable, chain.machine.state == .running else {
            return add(chain.machine.ended(place, as: .failed))
        }
        // Suspended first: else its effects would stay for ever.
        add(chain.machine.suspended() + chain.machine.ended(place, as: .failed))
        writes.reason = chain.suspendedReason
    }
}

extension LiveChain {
    /// The name that it must have alone to do this.
    package func nameWanted(for verb: ChainCommand.Verb) -> String? {
        guard verb == .begin || verb == .retry,
            machine.state == .queued || machine.state.isEnd
        else { return nil }
        return row.name
    }

    /// Whether another open chain has this name; its end starts the next, and a retry waits for it
    /// too.
    ///
    /// Checks the rows, and decisions that are not written yet, which exist only in memory.
    package func isTaken(_ name: String, by others: [Int64], _ live: [Int64: LiveChain]) -> Bool {
        others.contains { live[$0]?.machine.state.isEnd != true }
            || live.values.contains {
                $0.row.name == name && $0.row.seq != row.seq && !$0.machine.state.isEnd
                    && $0.machine.state != .queued
            }
    }
}
