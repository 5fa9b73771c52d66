package import RepriseWire

/// Decides what one subscription is sent: `opening → catchingUp → live`, and again from `opening`
/// when it missed something.
///
/// Why there is no gap: it is registered for live events before the log is asked where the channel
/// stands. An event committed before the answer is at or below the target, and the catch-up has it;
/// one that comes live before the answer raises the target; one that comes after is sent live. So
/// every event is in exactly one of the two.
///
/// A subscription that may not be written to (too much is unsent) is *demoted*: live events are
/// only counted, and everything missed is answered from the log once the driver reads for it again.
/// The same happens while it is in question whether the user may read the channel at all: nothing
/// is sent until the answer is there.
package struct SubscriptionMachine: Sendable {
    package enum Action: Equatable, Sendable {
        case sendSubscribed(ChannelState, reset: Bool)
        /// What was before the user joined; the log isn't asked for it.
        case sendGone(Gone)
        case sendSyncComplete(epoch: Epoch, through: Int64)
        /// The device claims more than the log has.
        case warnBeyondHead(claimed: Int64, head: Int64)
    }

    /// What is to be asked of the log.
    package enum Read: Equatable, Sendable {
        case state
        case page(missing: [SequenceRange])
    }

    /// What the log said to a read.
    package enum Answer: Equatable, Sendable {
        case state(ChannelState)
        /// A page that answers everything missing up to `through`.
        case page(through: Int64, epoch: Epoch)
        case failed
    }

    /// What to do about an answer, in this order.
    package struct Step: Equatable, Sendable {
        /// Whether the page is sent; one that is stale, or answers nothing, is not.
        package var sendsPage = false
        package var actions: [Action] = []
        /// Whether the next read waits a while, because this one brought nothing.
        package var readsLater = false
    }

    /// What becomes of live events.
    package enum Delivery: Equatable, Sendable {
        case send
        /// Only those beyond this sequence.
        case sendAfter(Int64)
        case skip
    }

    private enum Claim: Sendable {
        /// What the device says it has.
        case device(epoch: Epoch?, coverage: Coverage)
        /// It has been sent everything up to `through`.
        case sent
    }

    private enum Phase: Sendable {
        case opening(Claim)
        case catchingUp(missing: [SequenceRange], target: Int64)
        case live
    }

    private var phase: Phase
    private var epoch: Epoch?
    /// Everything up to here was sent, or is what the catch-up answers.
    private var through: Int64 = 0
    /// The newest sequence known to be committed.
    private var seen: Int64 = 0
    private var isReading = false
    /// Whether it waits for its turn to read.
    private var isQueued = false
    /// The log may hold events that were never handed over live.
    private var isUncertain = false
    /// Whether it is in question that the user may read.
    package private(set) var isHeld = false
    /// What is at or below it was before the user joined; 0 if the user may see everything.
    private var joined: Int64
    /// Tells the answers to reads of an earlier request from those of this one.
    package private(set) var ticket: UInt32 = 0

    /// - Parameters:
    ///   - epoch: to which the coverage belongs.
    ///   - coverage: what the device has.
    ///   - joined: the head when the user joined, where what was before it is not for the user.
    package init(epoch: Epoch?, coverage: Coverage, joined: Int64 = 0) {
        phase = .opening(.device(epoch: epoch, coverage: coverage))
        self.joined = joined
    }

    /// The device asks (again) for what it is missing.
    package mutating func asked(epoch: Epoch?, coverage: Coverage) {
        open(.device(epoch: epoch, coverage: coverage))
    }

    /// It is in question whether the user may read: nothing is sent, also of what was read already.
    package mutating func accessBecameUncertain() {
        isHeld = true
        switch phase {
        case .opening(let claim): open(claim)
        case .live: open(.sent)
        case .catchingUp(let missing, _):
            open(.device(epoch: epoch, coverage: sentCoverage(without: missing)))
        }
    }

    /// The user may read what is beyond `joined`; what was missed meanwhile is read from the log.
    package mutating func accessWasGranted(joined: Int64) {
        isHeld = false
        self.joined = joined
    }

    /// A commit has failed, or something else may have been stored without being handed over.
    package mutating func logBecameUncertain() { isUncertain = true }

    /// Events (prev, seq] of the channel were committed.
    package mutating func committed(
        after prev: Int64, through seq: Int64, mayWrite: Bool
    ) -> Delivery {
        defer { seen = max(seen, seq) }
        switch phase {
        case .opening: return .skip
        case .catchingUp, .live: break
        }
        guard !isBehind, seq > through else { return .skip }
        guard prev <= through else {
            isUncertain = true  // (through, prev] is in the log, but never came live
            return .skip
        }
        guard mayWrite else { return .skip }
        let sent = through
        through = seq
        return prev == sent ? .send : .sendAfter(sent)
    }

    /// Whether it has not been told yet where the channel stands, since it asked or since it had to
    /// ask again.
    package var isOpening: Bool { if case .opening = phase { true } else { false } }

    /// Whether nothing is missing but what comes.
    package var isLive: Bool { if case .live = phase { true } else { false } }

    /// The head to tell in a heartbeat; nil while the device still waits for events below it.
    package var headToTell: Int64? {
        guard case .live = phase, !isBehind else { return nil }
        return through
    }

    /// Whether ``nextRead()`` would return something.
    package var wantsRead: Bool {
        guard !isReading, !isHeld else { return false }
        switch phase {
        case .opening, .catchingUp: return true
        case .live: return isBehind
        }
    }

    /// Asks for a turn to read, if there is something it has not been sent.
    ///
    /// - Returns: whether it is to be queued: not a second time while it waits for its turn.
    package mutating func asksForTurn() -> Bool {
        guard wantsRead, !isQueued else { return false }
        isQueued = true
        return true
    }

    /// What to read now; the answer is to come with the ``ticket`` of this moment.
    package mutating func nextRead() -> Read? {
        isQueued = false
        guard wantsRead else { return nil }
        if case .live = phase { open(.sent) }
        isReading = true
        switch phase {
        case .catchingUp(let missing, _): return .page(missing: missing)
        case .opening, .live:
            isUncertain = false  // what is read now is newer than the doubt
            return .state
        }
    }

    /// The log has answered a read of this ``ticket``.
    package mutating func readAnswered(_ answer: Answer, ticket: UInt32) -> Step {
        switch answer {
        case .state(let state): return Step(actions: stateRead(state, ticket: ticket))
        case .page(let through, let epoch):
            guard let actions = pageRead(through: through, epoch: epoch, ticket: ticket) else {
                return Step(readsLater: true)
            }
            return Step(sendsPage: true, actions: actions)
        case .failed:
            readFailed(ticket: ticket)
            return Step(readsLater: true)
        }
    }

    /// The log has said where the channel stands.
    package mutating func stateRead(_ state: ChannelState, ticket: UInt32) -> [Action] {
        guard ticket == self.ticket, case .opening(let claim) = phase else { return [] }
        isReading = false
        var state = state
        state.head = max(state.head, seen)
        seen = state.head
        switch claim {
        case .sent where epoch == state.epoch && through == state.head:
            phase = .live
            return []
        case .sent where epoch == state.epoch && through < state.head:
            let missing = SequenceRange(after: through, through: state.head)
            return start(state, missing: missing.map { [$0] } ?? [])
        case .sent:
            return startAgain(state, claimed: through, isSameEpoch: epoch == state.epoch)
        case .device(let epoch, let coverage) where epoch == state.epoch:
            guard coverage.top <= state.head else {
                return startAgain(state, claimed: coverage.top, isSameEpoch: true)
            }
            return start(state, missing: coverage.complement(through: state.head))
        case .device(let epoch, let coverage):
            // Positions of another epoch mean nothing here. Positions without an epoch must be
            // called void.
            let isVoid = epoch == nil && !coverage.isEmpty
            return start(state, missing: Self.everything(of: state), reset: isVoid)
        }
    }

    /// A page was read that answers everything missing up to `answered`.
    ///
    /// - Returns: nil if the page is stale, or answers nothing, and must not be sent; otherwise
    ///   what to do after it was sent.
    package mutating func pageRead(
        through answered: Int64, epoch: Epoch, ticket: UInt32
    ) -> [Action]? {
        guard ticket == self.ticket, case .catchingUp(let missing, let target) = phase else {
            return nil
        }
        isReading = false
        guard epoch == self.epoch else {
            open(.device(epoch: self.epoch, coverage: Coverage(through: through)))
            return nil
        }
        let rest = Self.drop(through: answered, from: missing)
        guard rest != missing else { return nil }
        guard rest.isEmpty else {
            phase = .catchingUp(missing: rest, target: target)
            return []
        }
        phase = .live
        return [.sendSyncComplete(epoch: epoch, through: target)]
    }

    /// A read has failed; the driver asks ``nextRead()`` again later.
    package mutating func readFailed(ticket: UInt32) {
        if ticket == self.ticket { isReading = false }
    }

    // MARK: -

    private var isBehind: Bool { isUncertain || seen > through }

    private mutating func open(_ claim: Claim) {
        ticket &+= 1
        isReading = false
        phase = .opening(claim)
    }

    private mutating func start(
        _ state: ChannelState, missing: [SequenceRange], reset: Bool = false
    ) -> [Action] {
        epoch = state.epoch
        through = state.head
        let told =
            [.sendSubscribed(state, reset: reset)] + beforeJoin(missing).map(Action.sendGone)
        let missing = Self.drop(through: joined, from: missing)
        guard missing.isEmpty else {
            phase = .catchingUp(missing: missing, target: state.head)
            return told
        }
        phase = .live
        return told + [.sendSyncComplete(epoch: state.epoch, through: state.head)]
    }

    private func beforeJoin(_ missing: [SequenceRange]) -> [Gone] {
        missing.compactMap {
            SequenceRange(after: $0.after, through: min($0.through, joined))
                .map { Gone(range: $0, reason: .beforeJoin) }
        }
    }

    /// What the device has been sent, if everything on the way arrives.
    private func sentCoverage(without missing: [SequenceRange]) -> Coverage {
        var coverage = Coverage()
        var position: Int64 = 0
        for range in missing {
            if let sent = SequenceRange(after: position, through: range.after) {
                coverage.insert(sent)
            }
            position = range.through
        }
        if let sent = SequenceRange(after: position, through: through) { coverage.insert(sent) }
        return coverage
    }

    /// What the device has is more than there is, or of another log: its positions are void.
    private mutating func startAgain(
        _ state: ChannelState, claimed: Int64, isSameEpoch: Bool
    ) -> [Action] {
        let actions = start(state, missing: Self.everything(of: state), reset: isSameEpoch)
        guard isSameEpoch else { return actions }
        return [.warnBeyondHead(claimed: claimed, head: state.head)] + actions
    }

    private static func everything(of state: ChannelState) -> [SequenceRange] {
        SequenceRange(after: 0, through: state.head).map { [$0] } ?? []
    }

    private static func drop(
        through answered: Int64, from missing: [SequenceRange]
    ) -> [SequenceRange] {
        missing.compactMap {
            SequenceRange(after: max($0.after, answered), through: max($0.through, answered))
        }
    }
}
