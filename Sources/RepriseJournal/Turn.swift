package import RepriseCore

/// One round of the hand-over: what is written in one transaction.
package struct Turn: Hashable, Sendable {
    /// How entries of a kind are handled.
    package enum Work: Hashable, Sendable {
        /// By a handler outside of the transaction.
        case effect
        /// By a handler whose effect is in the transaction.
        case transaction
    }

    /// A request for entries of one kind.
    package struct Take: Hashable, Sendable {
        package var kind: String
        package var work: Work
        package var limit: Int
        /// The gate is closed: only what its bound has released.
        package var onlyReleased: Bool

        package init(kind: String, work: Work, limit: Int, onlyReleased: Bool) {
            self.kind = kind
            self.work = work
            self.limit = limit
            self.onlyReleased = onlyReleased
        }
    }

    /// What handlers reported since the last turn.
    package var settlements: [Settlement]
    /// Whether to look at what is due.
    package var looksAtDue: Bool
    package var takes: [Take]

    package init(settlements: [Settlement] = [], looksAtDue: Bool = false, takes: [Take] = []) {
        self.settlements = settlements
        self.looksAtDue = looksAtDue
        self.takes = takes
    }

    package var isEmpty: Bool { settlements.isEmpty && takes.isEmpty && !looksAtDue }
}

/// What becomes of an entry that was in hand.
package struct Settlement: Hashable, Sendable {
    package enum Verdict: Hashable, Sendable {
        case applied
        /// Its effect was found in the app's store: it was not handed over again after all.
        case appliedBefore
        /// The journal was closed before its handler was started.
        case notStarted
        case dead(reason: String)
        /// The door that it belongs to says how it ended, and why.
        case ended(Outcome, reason: String)
        /// What it was handed to is gone: it can be taken again at once.
        case back(reason: String, isInDoubt: Bool)
        case retry(after: Duration, countsAsFailure: Bool, reason: String)
        /// It comes again when it is its turn in its lane, and only after `unless` if the one
        /// before it is in hand.
        case backInLane(unless: Duration, reason: String)
    }

    package var seq: Int64
    package var kind: String
    package var lane: String?
    package var verdict: Verdict

    package init(seq: Int64, kind: String, lane: String?, verdict: Verdict) {
        self.seq = seq
        self.kind = kind
        self.lane = lane
        self.verdict = verdict
    }
}

extension Settlement.Verdict {
    /// Whether the entry ends by it.
    var isEnd: Bool {
        switch self {
        case .applied, .appliedBefore, .dead, .ended: true
        case .notStarted, .retry, .backInLane, .back: false
        }
    }

    /// Whether the entry can be taken again in the turn that writes this.
    var isReadyAtOnce: Bool {
        switch self {
        case .notStarted, .back: true
        case .applied, .appliedBefore, .dead, .ended, .retry, .backInLane: false
        }
    }

    /// What becomes of an entry whose handler threw after `failures` earlier ones; `jitter`, in
    /// 0..<1, is drawn by the driver.
    package static func after(
        _ error: any Error, kind: EntryKind, failures: Int, jitter: Double
    ) -> Self {
        let wait = kind.backoff.delay(failures: failures + 1, jitter: jitter)
        if let back = error as? BackInLane {
            return .backInLane(unless: wait, reason: back.description)
        }
        let failure = error as? HandOverFailure
        let reason = failure?.reason ?? "\(error)"
        switch failure?.advice {
        case .permanent:
            return .dead(reason: reason)
        case .notReady:
            return .retry(after: wait, countsAsFailure: false, reason: reason)
        case .retry(let asked) where failures + 1 < kind.attemptLimit:
            return .retry(after: max(asked, .zero), countsAsFailure: true, reason: reason)
        case nil where error is CancellationError:
            return .retry(after: wait, countsAsFailure: false, reason: "The handler was cancelled.")
        case nil where failures + 1 < kind.attemptLimit:
            return .retry(after: wait, countsAsFailure: true, reason: reason)
        case .retry, nil:
            return .dead(reason: reason)
        }
    }
}

/// What a turn found, once it is durable.
package struct TurnResult: Hashable, Sendable {
    /// How many of each kind are now with their handlers.
    package var taken: [String: Int]
    /// Kinds of which there may be more.
    package var more: Set<String>
    /// When something is due next; nil: nothing is.
    package var soonest: Duration?
    /// Whether more is due now than one turn does.
    package var isMoreDue: Bool

    package init(
        taken: [String: Int] = [:], more: Set<String> = [], soonest: Duration? = nil,
        isMoreDue: Bool = false
    ) {
        self.taken = taken
        self.more = more
        self.soonest = soonest
        self.isMoreDue = isMoreDue
    }
}
