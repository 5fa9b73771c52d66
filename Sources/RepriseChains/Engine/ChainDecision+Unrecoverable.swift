import RepriseCore
import RepriseJournal

/// Decisions about chains that should end while this version of the app lacks their definition.
///
/// Such a chain stays suspended with that reason, and compensates once an app knows it; a second
/// `cancel` leaves its effects.
extension ChainDecision {
    /// - Returns: nil if that is not the question.
    static func suspendUnrecoverable(
        _ command: ChainCommand, _ chain: LiveChain, _ facts: ChainFacts
    ) -> ChainDecision? {
        guard chain.isUnrecoverable, [.running, .paused, .suspended].contains(chain.machine.state)
        else {
            return nil
        }
        switch command.command {
        case .cancel:
            return chain.machine.state == .suspended && chain.machine.isToTakeBack
                ? leave(chain, facts) : suspendUnrecoverable(chain, facts, isLate: false)
        case .late where command.task == nil:
            return chain.machine.isToTakeBack
                ? suspend(chain, facts) : suspendUnrecoverable(chain, facts, isLate: true)
        case .late, .pause, .resume, .retry, .begin, .look, .release, .delete, .clear,
            .unschedule, .scheduled:
            return nil
        }
    }

    private static func suspendUnrecoverable(
        _ chain: LiveChain, _ facts: ChainFacts, isLate: Bool
    ) -> ChainDecision {
        var decision = ChainDecision(chain, .applied, facts)
        let open = chain.machine.currentPlaces.first { !chain.machine.slots[$0].state.isEnd }
        if isLate, let open {
            // A task has failed: that is how its rows say that it was late, and not cancelled.
            let error = "timedOut: The chain was not done in time."
            decision.end(open, .failed, error: error)
            decision.writes.withdrawn += chain.entries(of: open)
            decision.add(chain.machine.suspended() + chain.machine.ended(open, as: .failed))
        }
        decision.add(chain.machine.unrecoverable())
        decision.writes.state = .suspended
        decision.writes.reason = chain.suspendedReason
        decision.writes.log.append((nil, "Suspended: \(chain.suspendedReason ?? "")"))
        return decision
    }

    /// A second cancel does not wait for a version that knows the chain.
    private static func leave(_ chain: LiveChain, _ facts: ChainFacts) -> ChainDecision {
        var decision = ChainDecision(chain, .applied, facts)
        let why = "Nothing more is taken back of what it did: \(chain.trouble ?? "")"
        for place in chain.tasks.indices {
            guard [.intended, .held].contains(chain.machine.slots[place].compensation) else {
                continue
            }
            decision.writes.changes.append((place, .compensated(.failed, error: "undo: \(why)")))
            decision.writes.withdrawn += chain.entries(of: place)
            decision.add(chain.machine.compensated(place, .failed))
        }
        decision.writes.reason = "\(LiveChain.leftReason) \(why)"
        decision.writes.log.append((nil, why))
        decision.add(chain.machine.cancelled())
        return decision
    }
}

extension LiveChain {
    package static let leftReason = "It was cancelled twice."

    /// It may have effects, and this version of the app lacks their compensations.
    var isUnrecoverable: Bool {
        trouble != nil
            && tasks.indices.contains {
                let slot = machine.slots[$0]
                return slot.state == .succeeded && !tasks[$0].isWait && !slot.compensation.isEnd
            }
    }

    /// Why it is suspended, and what follows.
    var suspendedReason: String? {
        guard let trouble, let why = reasonToTakeBack else { return trouble }
        return "\(why) What it did is taken back when the app can: \(trouble) "
            + "Cancelled once more, it ends as it is."
    }

    /// Why a suspended chain compensates instead of continuing.
    var reasonToTakeBack: String? {
        guard machine.isToTakeBack else { return nil }
        let failed = machine.slots.firstIndex { $0.state == .failed }
        return failed.map { "\(tasks[$0].name) has failed." } ?? "It was cancelled."
    }

    func entries(of place: Int) -> [String] {
        [
            ChainWrites.entryID(row.id, place: place, round: tasks[place].round),
            ChainDecision.lateID(self, place),
        ]
    }
}
