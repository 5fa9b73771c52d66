package import RepriseWire

/// Decides what one subscription is sent: `opening → catchingUp → live`, and again from `opening`
/// after it missed something.
///
/// Invariant: each event is sent once, by the catch-up or live. The subscription registers for live
/// events before it reads the channel's state. An event committed before the state was read is at
/// or below the target, and the catch-up sends it; one that arrives live before the state raises
/// the target; a later one is sent live.
///
/// Backpressure *demotes* a subscription: it only counts live events, and the catch-up reads
/// everything missed once the driver reads for it again. The same holds while the user's access is
/// uncertain: nothing is sent until it is known.
package struct ServerSubscriptionMachine: Sendable {
    package enum Action: Equatable, Sendable {
        case sendSubscribed(LogChannelState, reset: Bool)
        /// Messages from before the user joined; they are not read from the log.
        case sendGone(Gone)
        case sendSyncComplete(epoch: Epoch, through: Int64)
        /// The device claims a higher sequence than the log's head.
        case warnBeyondHead(claimed: Int64, head: Int64)
    }

    /// The next read of the log.
    package enum Read: Equatable, Sendable {
        case state
        case page(missing: [SequenceRange])
    }

    /// The log's answer to a read.
    package enum Answer: Equatable, Sendable {
        case state(LogChannelState)
        /// A page that covers everything missing up to `through`.
        case page(through: Int64, epoch: Epoch)
        case failed
    }

    /// The driver's response to an answer, in this order.
    package struct Step: Equatable, Sendable {
        /// Whether the page is sent; a stale or empty one is not.
        package var sendsPage = false
        package var actions: [Action] = []
        /// Whether the next read is delayed, because this one returned nothing.
        package var readsLater = false
    }

    /// The driver's handling of live events.
    package enum Delivery: Equatable, Sendable {
        case send
        /// Sends only those beyond this sequence.
        case sendAfter(Int64)
        case skip
    }

    private enum Claim: Sendable {
        /// The device's own claim.
        case device(epoch: Epoch?, coverage: Coverage)
        /// Everything up to `through` was sent.
        case sent
    }

    private enum Phase: Sendable {
        case opening(Claim)
        case catchingUp(missing: [SequenceRange], target: Int64)
        case live
    }

    private var phase: Phase
    private var epoch: Epoch?
    /// Everything up to here was sent, or is covered by the catch-up.
    private var through: Int64 = 0
    /// The newest sequence known to be committed.
    private var seen: Int64 = 0
    private var isReading = false
    /// Whether it is queued for a read.
    private var isQueued = false
    /// The log may hold events that were never sent live.
    private var isUncertain = false
    /// Whether the user's read access is uncertain.
    package private(set) var isHeld = false
    /// Messages at or below it precede the user's membership; 0 if the user may read everything.
    private var joined: Int64
    /// Identifies the current request; answers to reads of an earlier one are dropped.
    package private(set) var ticket: UInt32 = 0

    /// - Parameters:
    ///   - epoch: the epoch of the coverage.
    ///   - coverage: what the device has.
    ///   - joined: the head when the user joined, if earlier messages are hidden from the user.
    package init(epoch: Epoch?, coverage: Coverage, joined: Int64 = 0) {
        phase = .opening(.device(epoch: epoch, coverage: coverage))
        self.joined = joined
    }

    /// The device requests (again) what it is missing.
    package mutating func asked(epoch: Epoch?, coverage: Coverage) {
        open(.device(epoch: epoch, coverage: coverage))
    }

    /// The user's access is uncertain: nothing is sent, including pages already read.
    package mutating func accessBecameUncertain() {
        isHeld = true
        switch phase {
        case .opening(let claim): open(claim)
        case .live: open(.sent)
        case .catchingUp(let missing, _):
            open(.device(epoch: epoch, coverage: sentCoverage(without: missing)))
        }
    }

    /// The user may read beyond `joined`; events missed meanwhile are read from the log.
    package mutating func accessWasGranted(joined: Int64) {
        isHeld = false
        self.joined = joined
    }

    /// A commit has failed, or something else may have been stored without being sent live.
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

    /// Whether the channel's state has not been sent since the request, or since the restart.
    package var isOpening: Bool { if case .opening = phase { true } else { false } }

    /// Whether the catch-up is complete.
    package var isLive: Bool { if case .live = phase { true } else { false } }

    /// How many sequences, in how many ranges, the catch-up has still to send.
    package var backlog: (sequences: Int64, holes: Int) {
        guard case .catchingUp(let missing, _) = phase else { return (0, 0) }
        return (missing.reduce(0) { $0 + $1.count }, missing.count)
    }

    /// The head for a heartbeat; nil while events below it are still to be sent.
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

    /// Queues for a read, if there are unsent events.
    ///
    /// - Returns: whether the driver adds it to the queue; false while it is already queued.
    package mutating func asksForTurn() -> Bool {
        guard wantsRead, !isQueued else { return false }
        isQueued = true
        return true
    }

    /// The next read; its answer carries the current ``ticket``.
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

    /// The log has answered a read with this ``ticket``.
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

    /// The log has returned the channel's state.
    package mutating func stateRead(_ state: LogChannelState, ticket: UInt32) -> [Action] {
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
            // Positions of another epoch are void here, and so are positions without an epoch.
            let isVoid = epoch == nil && !coverage.isEmpty
            return start(state, missing: Self.everything(of: state), reset: isVoid)
        }
    }

    /// A page was read that covers everything missing up to `answered`.
    ///
    /// - Returns: nil if the page is stale or empty and must not be sent; otherwise the actions
    ///   after it was sent.
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

    /// A read has failed; the driver calls ``nextRead()`` again later.
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
        _ state: LogChannelState, missing: [SequenceRange], reset: Bool = false
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

    /// The device's coverage once everything in flight arrives.
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

    /// The device claims more than the log has, or another log's positions: they are void.
    private mutating func startAgain(
        _ state: LogChannelState, claimed: Int64, isSameEpoch: Bool
    ) -> [Action] {
        let actions = start(state, missing: Self.everything(of: state), reset: isSameEpoch)
        guard isSameEpoch else { return actions }
        return [.warnBeyondHead(claimed: claimed, head: state.head)] + actions
    }

    private static func everything(of state: LogChannelState) -> [SequenceRange] {
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
