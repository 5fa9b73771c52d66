package import RepriseCore

/// Decides which entries are dispatched when.
///
/// One batch after the other: each writes the handlers' acknowledgements and takes the next entries
/// to dispatch, in one transaction.
///
/// `idle → committing → idle | paused | stopped`, `paused → idle` in time; `stopped` is terminal.
/// Memory holds one number a kind and the entries in flight, never a backlog. The rows keep the
/// order of partition keys and the times: an entry behind another or ahead of its time is not
/// ready.
package struct DispatchMachine: Sendable {
    package enum Action: Hashable, Sendable {
        case perform(DispatchBatch)
        /// Nothing to do before this moment of the uptime clock.
        case wait(until: Duration)
        case none
    }

    private enum Phase: Hashable {
        case idle
        case committing(DispatchBatch)
        case paused(until: Duration)
        case stopped
    }

    private struct Kind {
        let rules: EntryKind
        var work: DispatchBatch.Work?
        var inFlight = 0
        /// Whether to look for entries of this kind.
        var mayBeReady = true
        /// How often its gate has closed.
        var closings = 0
        /// The same when the newest take was planned; nil: the gate was closed.
        var planned: Int?
    }

    /// The most entries that one batch takes of a kind, and the most that it handles in its own
    /// transaction.
    private static let takeLimit = 64
    private static let transactionLimit = 256
    /// The longest timer, so that the clocks are read now and then.
    package static let longestSleep: Duration = .seconds(3_600)
    /// The waits after a failed transaction.
    private static let backoff = Backoff(base: .milliseconds(250), longest: .seconds(30))

    package private(set) var gate: GateMachine
    private var kinds: [String: Kind] = [:]
    private let names: [String]
    private let families: KindFamilies
    private var phase: Phase = .idle
    private var acknowledgements: [Acknowledgement] = []
    /// When to look at due entries, by the uptime clock.
    private var look: Duration = .zero
    private var failedBatches = 0
    package private(set) var isClosing = false

    package init(kinds: [EntryKind]) {
        gate = GateMachine(kinds: kinds)
        let families = KindFamilies(kinds)
        self.families = families
        let leaders = kinds.filter { families.leader(of: $0.name) == $0.name }
        names = leaders.map(\.name).sorted()
        for kind in leaders { self.kinds[kind.name] = Kind(rules: kind) }
    }

    /// How many entries are in flight, including those not yet acknowledged on the disk.
    package var inFlight: Int { kinds.values.reduce(0) { $0 + $1.inFlight } }

    /// Whether nothing is in flight and nothing is on its way to the disk.
    package var isQuiet: Bool {
        switch phase {
        case .committing: false
        case .stopped: true
        case .idle, .paused: acknowledgements.isEmpty && inFlight == 0
        }
    }

    // MARK: Events

    package mutating func handlerRegistered(kind: String, work: DispatchBatch.Work) {
        kinds[kind]?.work = work
        kinds[kind]?.mayBeReady = true
    }

    package mutating func readinessOpened(_ condition: Readiness) {
        for case .open(let kind) in gate.readinessOpened(condition) {
            kinds[families.leader(of: kind)]?.mayBeReady = true
        }
    }

    package mutating func readinessClosed(_ condition: Readiness) {
        for case .close(let kind) in gate.readinessClosed(condition) { kinds[kind]?.closings += 1 }
    }

    /// A commit may have made entries ready, or due at `soonest`.
    package mutating func workArrived(kinds arrived: Set<String>, soonest: Duration?) {
        for kind in arrived { kinds[families.leader(of: kind)]?.mayBeReady = true }
        if let soonest { look = min(look, soonest) }
    }

    package mutating func handlerEnded(_ acknowledgement: Acknowledgement) {
        switch phase {
        case .stopped: return  // the entry is no longer ours
        case .idle, .committing, .paused: acknowledgements.append(acknowledgement)
        }
        // The next of its partition key, or the entry itself, can be taken in the batch that ends
        // this one.
        if acknowledgement.partitionKey != nil || acknowledgement.disposition.isReadyAtOnce {
            kinds[families.leader(of: acknowledgement.kind)]?.mayBeReady = true
        }
    }

    package mutating func batchCommitted(_ result: DispatchBatchResult, now: Duration) {
        guard case .committing(let batch) = phase else {
            if phase == .stopped { return }  // close() won the race
            preconditionFailure("driver bug: batchCommitted in \(phase)")
        }
        phase = .idle
        failedBatches = 0
        for acknowledgement in batch.acknowledgements {
            kinds[families.leader(of: acknowledgement.kind)]?.inFlight -= 1
        }
        for (kind, count) in result.taken { kinds[kind]?.inFlight += count }
        for kind in result.more { kinds[kind]?.mayBeReady = true }
        if batch.looksAtDue {
            let next = result.isMoreDue ? now : result.soonest ?? now + Self.longestSleep
            look = min(look, next, now + Self.longestSleep)
        }
    }

    /// Whether an entry whose batch is durable may still go to its handler.
    ///
    /// Its gate may have closed while the batch was on its way to the disk. If it has reopened
    /// since, earlier entries in flight are requeued and come first: entries taken before the
    /// reopening are taken again, with them and in order.
    package func mayStart(kind: String, isReleased: Bool) -> Bool {
        guard phase != .stopped, !isClosing else { return false }
        guard gate.isOpen(kind: kind) else { return isReleased }
        return kinds[families.leader(of: kind)].map { $0.planned == $0.closings } ?? true
    }

    /// Which opening of its gate an entry of this kind is dispatched in; nil: the gate is closed.
    package func opening(of kind: String) -> Int? {
        guard gate.isOpen(kind: kind) else { return nil }
        return kinds[families.leader(of: kind)]?.closings
    }

    /// Whether entries recorded before one that was dispatched in `opening` may still wait.
    ///
    /// Its bound released it alone, behind a closed gate; or the gate has closed since, and what
    /// was requeued then is behind it.
    package func mayOvertake(kind: String, dispatchedIn opening: Int?) -> Bool {
        guard let opening else { return true }
        return kinds[families.leader(of: kind)].map { $0.closings != opening } ?? true
    }

    /// Whether the ownership is lost, so that a retry is useless.
    package static func isFinal(_ error: any Error) -> Bool { error.isEndOfJournal }

    /// Nothing of the batch was written.
    ///
    /// `isFinal` says that the ownership is lost; the driver draws `jitter`, in 0..<1.
    package mutating func batchFailed(isFinal: Bool, now: Duration, jitter: Double) {
        guard case .committing(let batch) = phase else {
            if phase == .stopped { return }
            preconditionFailure("driver bug: batchFailed in \(phase)")
        }
        guard !isFinal else {
            stop()
            return
        }
        failedBatches += 1
        phase = .paused(until: now + Self.backoff.delay(failures: failedBatches, jitter: jitter))
        acknowledgements = batch.acknowledgements + acknowledgements
        for take in batch.takes { kinds[take.kind]?.mayBeReady = true }
        if batch.looksAtDue { look = now }
    }

    /// Takes nothing more; acknowledgements are still written.
    package mutating func closing() { isClosing = true }

    /// Ends all activity.
    ///
    /// - Returns: acknowledgements that are not written.
    @discardableResult
    package mutating func stop() -> [Acknowledgement] {
        var unwritten = acknowledgements
        if case .committing(let batch) = phase { unwritten = batch.acknowledgements + unwritten }
        phase = .stopped
        acknowledgements = []
        for name in names { kinds[name]?.inFlight = 0 }
        return unwritten
    }

    // MARK: Decision

    /// The next action.
    ///
    /// Called after every event and when the timer fires.
    package mutating func next(now: Duration) -> Action {
        switch phase {
        case .committing, .stopped:
            return .none
        case .paused(let until) where now < until:
            return .wait(until: until)
        case .paused, .idle:
            phase = .idle
            let batch = plan(now: now)
            guard !batch.isEmpty else { return isClosing ? .none : .wait(until: look) }
            phase = .committing(batch)
            return .perform(batch)
        }
    }

    private mutating func plan(now: Duration) -> DispatchBatch {
        var batch = DispatchBatch(acknowledgements: acknowledgements)
        acknowledgements = []
        guard !isClosing else { return batch }
        if now >= look {
            batch.looksAtDue = true
            look = now + Self.longestSleep
        }
        let finishing = Dictionary(
            batch.acknowledgements.map { (families.leader(of: $0.kind), 1) }, uniquingKeysWith: +)
        for name in names {
            guard let take = take(of: name, finishing: finishing[name] ?? 0) else { continue }
            batch.takes.append(take)
            let closings = kinds[name]?.closings
            kinds[name]?.planned = take.onlyReleased ? nil : closings
            // Later arrivals set it again.
            kinds[name]?.mayBeReady = false
        }
        return batch
    }

    private func take(of name: String, finishing: Int) -> DispatchBatch.Take? {
        guard let kind = kinds[name], let work = kind.work, kind.mayBeReady else { return nil }
        let isOpen = gate.isOpen(kind: name)
        guard isOpen || families.mayDeliver(name) else { return nil }
        let limit: Int
        switch work {
        case .effect:
            limit = min(kind.rules.parallel - kind.inFlight + finishing, Self.takeLimit)
        case .transaction:
            limit = Self.transactionLimit
        }
        guard limit > 0 else { return nil }
        return DispatchBatch.Take(kind: name, work: work, limit: limit, onlyReleased: !isOpen)
    }
}
