package import RepriseCore
package import RepriseWire

/// Decides when channels are walked for whom to push, which pushes are under way, and what becomes
/// of each.
///
/// One for each service, so that one that is down holds up no other. It knows messages that were
/// stored a few seconds ago, pushes that were read from the disk, and devices that were pushed
/// lately: nothing for a device that is idle.
package struct PushMachine: Sendable {
    package enum Action: Hashable, Sendable {
        /// Look through all channels for what was stored and not walked.
        case recover
        /// Take the next step of a walk over the channel's members, about messages up to `through`.
        case walk(ChannelName, through: Int64)
        /// Read pushes that are due from the disk, at most so many and none of ``inHand``.
        case load(Int)
        /// Send the push of this row.
        case send(Int64)
        /// Forget the pushes of these rows: they have waited so long that what was known of them
        /// may be wrong, and will be read again.
        case release([Int64])
        /// Leave the push of this row for later: the device has had enough for now.
        case postpone(Int64, Duration)
    }

    /// What is to be written down about a push.
    package enum Settlement: Hashable, Sendable {
        case pushed
        case dropped(PushDrop)
        /// The address is not to be used again, if the device has not named it since the moment.
        case dead(since: WallTime?)
        case again(after: Duration, isAttempt: Bool)
    }

    /// A push that was read from the disk.
    package struct Row: Hashable, Sendable {
        package var number: Int64
        package var target: PushEntry.Target
        /// Who takes it: see ``PushAddress/lane``.
        package var lane: String

        package init(number: Int64, target: PushEntry.Target, lane: String = "") {
            self.number = number
            self.target = target
            self.lane = lane
        }
    }

    private struct Meanwhile {
        var hasMore = false
        var nextDue: Duration?
        /// Rows that were settled: what is being read may still have them.
        var settled: Set<Int64> = []
    }

    package let concurrency: Int
    private var walks = PushWalkOrder()
    private var mustRecover = true
    private var isRecovering = false

    /// How many rows the queue has.
    package private(set) var queued = 0
    private var isLoading = false
    private var mayHaveMore = true
    /// When the soonest row on the disk is due.
    private var nextDue: Duration?
    private var waiting: [Row] = []
    private var waitingStart = 0
    private var waitingSince: Duration = .zero
    /// What has happened to the queue since a load began, and so is not in what it read.
    private var meanwhile = Meanwhile()
    /// Rows that are in memory, until what became of them is written down.
    private var held: Set<Int64> = []
    package private(set) var underWay = 0
    private var rates = PushRates()
    /// The circuits of the lanes that have failed lately.
    private var circuits: [String: PushCircuit] = [:]
    private var pausedUntil: Duration?

    package init(concurrency: Int) {
        self.concurrency = max(concurrency, 1)
    }

    /// How many of those that take pushes are taken to be down.
    package var downCount: Int { circuits.values.count { $0.isDown } }

    // MARK: What happened

    /// The store was asked how much waits.
    package mutating func started(queued: Int) { self.queued = queued }

    /// A message is durable.
    package mutating func stored(_ seq: Int64, in channel: ChannelName, now: Duration) {
        if !walks.note(seq, in: channel, now: now) { mustRecover = true }
    }

    /// More was noted than could be kept: all channels are to be looked through.
    package mutating func overflowed() { mustRecover = true }

    /// All channels were looked through; what was found has been told by ``stored(_:in:now:)``.
    package mutating func recovered(succeeded: Bool, now: Duration) {
        isRecovering = false
        guard !succeeded else { return }
        mustRecover = true
        pausedUntil = now + PushLimits.afterFailure
    }

    /// A step of a walk has queued so many pushes.
    ///
    /// - Parameters:
    ///   - channel: whose members were walked.
    ///   - added: how many pushes were queued.
    ///   - through: the message up to which the walk is done; nil if there are members left.
    package mutating func walked(_ channel: ChannelName, added: Int, through: Int64?) {
        queued += added
        if added > 0 {
            mayHaveMore = true
            meanwhile.hasMore = true
        }
        walks.ended(channel, through: through)
    }

    /// A step of a walk has failed: it is taken again.
    package mutating func walkFailed(_ channel: ChannelName, now: Duration) {
        walks.failed(channel)
        pausedUntil = now + PushLimits.afterFailure
    }

    /// Rows were queued by somebody else, due after so long; they do not count for
    /// ``PushLimits/queued``.
    package mutating func othersQueued(dueAfter delay: Duration, now: Duration) {
        dueAgain(now + delay)
    }

    private mutating func dueAgain(_ moment: Duration) {
        nextDue = min(nextDue ?? moment, moment)
        meanwhile.nextDue = min(meanwhile.nextDue ?? moment, moment)
    }

    /// Pushes were read; those that the machine holds already are passed over.
    ///
    /// - Parameters:
    ///   - rows: those that are to be sent, in their order.
    ///   - isAll: whether there are no more that are due.
    ///   - next: when the soonest of the others is due.
    ///   - now: the uptime.
    package mutating func loaded(
        _ rows: [Row], isAll: Bool, next: Duration?, now: Duration
    ) {
        mayHaveMore = !isAll || meanwhile.hasMore
        nextDue = [next, meanwhile.nextDue].compactMap(\.self).min()
        if waitingStart == waiting.count { waitingSince = now }
        for row in rows where held.insert(row.number).inserted { waiting.append(row) }
        loadEnded()
    }

    private mutating func loadEnded() {
        isLoading = false
        held.subtract(meanwhile.settled)
        meanwhile = Meanwhile()
    }

    /// Whether a row is in the machine's hands already.
    package func holds(_ number: Int64) -> Bool { held.contains(number) }

    /// All of them.
    package var inHand: Set<Int64> { held }

    /// Rows were read that are not to be sent; they are held until that is written down.
    package mutating func dropped(_ number: Int64) { held.insert(number) }

    /// Reading has failed.
    package mutating func loadFailed(now: Duration) {
        loadEnded()
        mayHaveMore = true
        pausedUntil = now + PushLimits.afterFailure
    }

    /// The provider has said what became of a push.
    ///
    /// - Parameters:
    ///   - outcome: what it said.
    ///   - lane: who said it.
    ///   - attempts: how often the push was tried before.
    ///   - now: the uptime.
    ///   - jitter: drawn by the driver, 0..<1.
    /// - Returns: what is to be written down.
    package mutating func answered(
        _ outcome: PushOutcome, lane: String = "", attempts: Int, now: Duration, jitter: Double
    ) -> Settlement {
        underWay -= 1
        switch outcome {
        case .accepted:
            circuits[lane] = nil
            return .pushed
        case .refused:
            circuits[lane] = nil
            return .dropped(.refused)
        case .dead(let since):
            circuits[lane] = nil
            return .dead(since: since)
        case .later(let wait, _):
            circuits[lane] = nil
            guard attempts + 1 < PushLimits.attempts else { return .dropped(.exhausted) }
            return .again(after: Self.wait(wait, attempts, jitter), isAttempt: true)
        case .unavailable(let wait, _, let again):
            return laneFailed(lane, retryAfter: wait, again: again, attempts, now, jitter)
        case .unauthorized:
            let wait = PushLimits.circuitLongest
            return laneFailed(lane, retryAfter: wait, again: .zero, attempts, now, jitter)
        }
    }

    /// It is not the push's fault, so it is no attempt of its own; while the circuit keeps all
    /// others back, it needs no wait of its own.
    private mutating func laneFailed(
        _ lane: String, retryAfter: Duration?, again: Duration, _ attempts: Int, _ now: Duration,
        _ jitter: Double
    ) -> Settlement {
        if circuits.count >= PushLimits.lanes, circuits[lane] == nil { circuits.removeAll() }
        circuits[lane, default: PushCircuit()]
            .failed(retryAfter: retryAfter, now: now, jitter: jitter)
        let isDown = circuits[lane]?.isDown ?? false
        let wait = isDown ? .zero : Self.wait(nil, attempts, jitter)
        return .again(after: max(again, wait), isAttempt: false)
    }

    private static func wait(
        _ asked: Duration?, _ attempts: Int, _ jitter: Double
    ) -> Duration {
        let own = Backoff(base: PushLimits.retryBase, longest: PushLimits.retryLongest)
            .delay(failures: attempts + 1, jitter: jitter)
        return max(min(asked ?? .zero, PushLimits.retryAfterLongest), own)
    }

    /// What became of rows is written down.
    ///
    /// - Parameters:
    ///   - numbers: the rows.
    ///   - removed: how many of them have left the queue.
    ///   - next: when the soonest of those that stay is due again.
    package mutating func settled(_ numbers: [Int64], removed: Int, next: Duration?) {
        if isLoading {
            meanwhile.settled.formUnion(numbers)
        } else {
            held.subtract(numbers)
        }
        queued = max(0, queued - removed)
        if let next { dueAgain(next) }
    }

    // MARK: What is to be done

    /// What is to be done now.
    package mutating func next(now: Duration) -> [Action] {
        if let pause = pausedUntil {
            guard pause <= now else { return [] }
            pausedUntil = nil
        }
        var actions: [Action] = []
        if mustRecover, !isRecovering {
            mustRecover = false
            isRecovering = true
            actions.append(.recover)
        }
        walks.takeDue(now)
        while queued < PushLimits.queued, let walk = walks.next() {
            actions.append(.walk(walk.channel, through: walk.through))
        }
        send(&actions, now)
        release(&actions, now)
        load(&actions, now)
        return actions
    }

    /// When to look again if nothing happens.
    package func wake(now: Duration) -> Duration? {
        var moments: [Duration] = []
        if let pausedUntil { return pausedUntil }
        if waitingStart < waiting.count {
            moments.append(waitingSince + PushLimits.waitsInMemory)
        }
        if let due = walks.due { moments.append(due) }
        if case .none(let until)? = circuits[""]?.permission(now: now) {
            if let until { moments.append(until) }
        } else if let nextDue, !isLoading, !isFull {
            moments.append(nextDue)
        }
        return moments.min()
    }

    private mutating func send(_ actions: inout [Action], _ now: Duration) {
        while waitingStart < waiting.count, underWay < concurrency {
            let row = waiting[waitingStart]
            if let wait = circuits[row.lane]?.wait(now: now) {
                // Who waits for the one provider there is waits here; the others must not wait
                // behind it.
                guard !row.lane.isEmpty else { return }
                waitingStart += 1
                actions.append(.postpone(row.number, wait))
                continue
            }
            waitingStart += 1
            if let wait = rates.take(row.target, now: now) {
                actions.append(.postpone(row.number, wait))
            } else {
                circuits[row.lane]?.tried()
                underWay += 1
                actions.append(.send(row.number))
            }
        }
        guard waitingStart == waiting.count else { return }
        waiting.removeAll(keepingCapacity: true)
        waitingStart = 0
    }

    /// What waits for a provider that is slow or down does so on the disk.
    private mutating func release(_ actions: inout [Action], _ now: Duration) {
        guard waitingStart < waiting.count else { return }
        guard now - waitingSince >= PushLimits.waitsInMemory || circuits[""]?.isDown == true
        else { return }
        let numbers = waiting[waitingStart...].map(\.number)
        held.subtract(numbers)
        waiting.removeAll(keepingCapacity: true)
        waitingStart = 0
        mayHaveMore = true
        actions.append(.release(numbers))
    }

    /// Whether enough is in memory for now.
    private var isFull: Bool { waiting.count - waitingStart >= concurrency }

    private mutating func load(_ actions: inout [Action], _ now: Duration) {
        guard !isLoading, !isFull else { return }
        if circuits[""]?.wait(now: now) != nil { return }
        let isDue = nextDue.map { $0 <= now } ?? false
        guard mayHaveMore || isDue else { return }
        isLoading = true
        meanwhile = Meanwhile()
        actions.append(.load(PushLimits.page))
    }
}
