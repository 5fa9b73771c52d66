package import RepriseCore
package import RepriseWire

/// Decides when a channel's members are scanned for pushes, which pushes are in flight, and the
/// disposition of each.
///
/// One machine per service, so that an outage of one delays no other. Memory holds the messages
/// stored in the last seconds, the pushes read from the disk, and the devices pushed lately; an
/// idle device costs nothing.
package struct PushMachine: Sendable {
    package enum Action: Hashable, Sendable {
        /// Scan all channels for messages that were stored but not fanned out.
        case recover
        /// Take the next step of a fan-out scan over the channel's members, for messages up to
        /// `through`.
        case scan(ChannelName, through: Int64)
        /// The same for devices that are not connected, before ``scan(_:through:)``.
        case scanEarly(ChannelName, through: Int64)
        /// Read due pushes from the disk: at most this many, and none of ``inFlight``.
        case load(Int)
        /// Send the push of this row.
        case send(Int64)
        /// Release the pushes of these rows: they waited so long that their data may be stale, and
        /// are read again.
        case release([Int64])
        /// Postpone the push of this row.
        case postpone(Int64, Duration, Postponement)
    }

    package enum Postponement: Hashable, Sendable {
        /// Its push service is down.
        case down
        /// Slow push services, and those that have not answered yet, have their half of the places:
        /// see ``SlowServices``.
        case slow
        /// The device's rate limit is reached.
        case rate
    }

    /// The recorded outcome of a push.
    package enum Acknowledgement: Hashable, Sendable {
        case pushed
        case dropped(PushDrop)
        /// The address is invalid, unless the device has registered it again since this time.
        case dead(since: WallTime?)
        case again(after: Duration, isAttempt: Bool)
    }

    /// A push that was read from the disk.
    package struct Row: Hashable, Sendable {
        package var number: Int64
        package var target: PushEntry.Target
        /// The partition key: see ``PushAddress/partition``.
        package var partition: String

        package init(number: Int64, target: PushEntry.Target, partition: String = "") {
            self.number = number
            self.target = target
            self.partition = partition
        }
    }

    private struct Meanwhile {
        var hasMore = false
        var nextDue: Duration?
        /// Rows settled during a load; its result may still contain them.
        var settled: Set<Int64> = []
    }

    /// What was noted leaves its buffer within it.
    private static let recoveryPause = PushLimits.grace + PushLimits.slot

    package let concurrency: Int
    private var scans: FanOutScanOrder
    private var mustRecover = true
    private var isRecovering = false
    private var recoverAfter: Duration = .zero
    private var recoveredAt: Duration?

    /// The number of alerts in the queue.
    package private(set) var queued = 0
    /// How many of them are delayed: see ``PushLimits/delayedAlerts``.
    private var delayed = 0
    private var isLoading = false
    private var mayHaveMore = true
    /// When the earliest row on the disk is due.
    private var nextDue: Duration?
    private var waiting: [Row] = []
    private var waitingStart = 0
    private var waitingSince: Duration = .zero
    /// Changes to the queue since a load began; its result does not include them.
    private var meanwhile = Meanwhile()
    /// Rows in memory, until their disposition is recorded.
    private var held: Set<Int64> = []
    package private(set) var underWay = 0
    /// Pushes in flight by partition; none of the only provider.
    private var underWayTo: [String: Int] = [:]
    private var slow = SlowServices()
    private var rates = PushRates()
    /// The circuits of partitions that have failed lately.
    private var circuits: [String: PushCircuit] = [:]
    private var pausedUntil: Duration?

    /// Makes a machine.
    ///
    /// - Parameters:
    ///   - concurrency: the most pushes in flight.
    ///   - scansEarly: whether it is known which devices are connected.
    package init(concurrency: Int, scansEarly: Bool = false) {
        self.concurrency = max(concurrency, 1)
        scans = FanOutScanOrder(scansEarly: scansEarly)
    }

    /// How many partitions are considered down.
    package var downCount: Int { circuits.values.count { $0.isDown } }

    // MARK: Events

    /// The store has reported the number of alerts in the queue, and how many of them are delayed.
    package mutating func started(queued: Int, delayed: Int) {
        self.queued = queued
        self.delayed = delayed
    }

    /// A message is durable.
    package mutating func stored(_ seq: Int64, in channel: ChannelName, now: Duration) {
        if !scans.note(seq, in: channel, now: now) { mustRecover = true }
    }

    /// There are messages that were not noted: all channels must be scanned, but not all the time.
    package mutating func overflowed() {
        mustRecover = true
        if let recoveredAt { recoverAfter = max(recoverAfter, recoveredAt + Self.recoveryPause) }
    }

    /// The scan of all channels has ended; its results arrived through ``stored(_:in:now:)``.
    package mutating func recovered(succeeded: Bool, now: Duration) {
        isRecovering = false
        guard !succeeded else {
            recoveredAt = now
            if mustRecover { recoverAfter = now + Self.recoveryPause }
            return
        }
        mustRecover = true
        pausedUntil = now + PushLimits.afterFailure
    }

    /// A step of a fan-out scan has queued pushes.
    ///
    /// - Parameters:
    ///   - channel: the scanned channel.
    ///   - added: the number of pushes queued.
    ///   - through: the message up to which the scan is complete; nil if members remain.
    package mutating func scanned(_ channel: ChannelName, added: Int, through: Int64?) {
        queued(added)
        scans.ended(channel, through: through)
    }

    /// The same of a step of an early scan.
    package mutating func walkedEarly(_ channel: ChannelName, added: Int, through: Int64?) {
        queued(added)
        scans.endedEarly(channel, through: through)
    }

    private mutating func queued(_ added: Int) {
        queued += added
        guard added > 0 else { return }
        mayHaveMore = true
        meanwhile.hasMore = true
    }

    /// A step of a fan-out scan has failed and is repeated.
    package mutating func scanFailed(_ channel: ChannelName, now: Duration) {
        scans.failed(channel)
        pausedUntil = now + PushLimits.afterFailure
    }

    /// Another part has queued rows, due after this delay; they do not count towards
    /// ``PushLimits/queued``.
    package mutating func othersQueued(dueAfter delay: Duration, now: Duration) {
        dueAgain(now + delay)
    }

    private mutating func dueAgain(_ moment: Duration) {
        nextDue = min(nextDue ?? moment, moment)
        meanwhile.nextDue = min(meanwhile.nextDue ?? moment, moment)
    }

    /// Pushes were read; those that the machine already holds are skipped.
    ///
    /// - Parameters:
    ///   - rows: the pushes to send, in order.
    ///   - isAll: whether no other push is due.
    ///   - next: when the earliest of the others is due.
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

    /// Whether the machine already holds a row.
    package func holds(_ number: Int64) -> Bool { held.contains(number) }

    /// All rows that the machine holds.
    package var inFlight: Set<Int64> { held }

    /// A row was read that will not be sent; it is held until that is recorded.
    package mutating func dropped(_ number: Int64) { held.insert(number) }

    /// Reading has failed.
    package mutating func loadFailed(now: Duration) {
        loadEnded()
        mayHaveMore = true
        pausedUntil = now + PushLimits.afterFailure
    }

    /// The provider has answered a push.
    ///
    /// - Parameters:
    ///   - outcome: the answer.
    ///   - partition: the partition that answered.
    ///   - took: how long it took.
    ///   - attempts: the number of earlier attempts.
    ///   - now: the uptime.
    ///   - jitter: drawn by the driver, 0..<1.
    /// - Returns: what to record.
    package mutating func answered(
        _ outcome: PushOutcome, partition: String = "", took: Duration = .zero, attempts: Int,
        now: Duration, jitter: Double
    ) -> Acknowledgement {
        ended(partition)
        if !partition.isEmpty { slow.answered(partition, took: took) }
        switch outcome {
        case .accepted:
            circuits[partition] = nil
            return .pushed
        case .refused:
            circuits[partition] = nil
            return .dropped(.refused)
        case .dead(let since):
            circuits[partition] = nil
            return .dead(since: since)
        case .later(let wait, _):
            circuits[partition] = nil
            return Self.later(wait, attempts, jitter)
        case .unavailable(let wait, _, let again):
            return partitionFailed(partition, retryAfter: wait, again: again, attempts, now, jitter)
        case .unauthorized:
            let wait = PushLimits.circuitLongest
            return partitionFailed(partition, retryAfter: wait, again: .zero, attempts, now, jitter)
        }
    }

    /// A push was not sent: nothing is known of its partition, and another push may probe it.
    ///
    /// - Parameters:
    ///   - partition: the partition that was not asked.
    ///   - attempts: the number of earlier attempts.
    ///   - jitter: drawn by the driver, 0..<1.
    /// - Returns: what to record if it is to be sent later.
    package mutating func notSent(
        partition: String = "", attempts: Int, jitter: Double
    ) -> Acknowledgement {
        ended(partition)
        circuits[partition]?.notTried()
        return Self.later(PushLimits.afterFailure, attempts, jitter)
    }

    private mutating func ended(_ partition: String) {
        underWay -= 1
        guard let count = underWayTo[partition] else { return }
        underWayTo[partition] = count > 1 ? count - 1 : nil
    }

    private static func later(
        _ asked: Duration?, _ attempts: Int, _ jitter: Double
    ) -> Acknowledgement {
        guard attempts + 1 < PushLimits.attempts else { return .dropped(.exhausted) }
        return .again(after: wait(asked, attempts, jitter), isAttempt: true)
    }

    /// The provider's failure is not counted as the push's attempt; the circuit's wait replaces the
    /// push's own.
    private mutating func partitionFailed(
        _ partition: String, retryAfter: Duration?, again: Duration, _ attempts: Int,
        _ now: Duration,
        _ jitter: Double
    ) -> Acknowledgement {
        if circuits.count >= PushLimits.partitions, circuits[partition] == nil {
            circuits.removeAll()
        }
        circuits[partition, default: PushCircuit()]
            .failed(retryAfter: retryAfter, now: now, jitter: jitter)
        let isDown = circuits[partition]?.isDown ?? false
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

    /// The disposition of rows is recorded.
    ///
    /// - Parameters:
    ///   - numbers: the rows.
    ///   - removed: how many alerts have left the queue.
    ///   - delayed: how many more alerts in it are delayed; negative if fewer.
    ///   - next: when the earliest remaining row is due again.
    package mutating func settled(
        _ numbers: [Int64], removed: Int, delayed: Int = 0, next: Duration?
    ) {
        if isLoading {
            meanwhile.settled.formUnion(numbers)
        } else {
            held.subtract(numbers)
        }
        queued = max(0, queued - removed)
        self.delayed = max(0, self.delayed + delayed)
        if let next { dueAgain(next) }
    }

    // MARK: Actions

    /// The actions to perform now.
    package mutating func next(now: Duration) -> [Action] {
        if let pause = pausedUntil {
            guard pause <= now else { return [] }
            pausedUntil = nil
        }
        var actions: [Action] = []
        if mustRecover, !isRecovering, recoverAfter <= now {
            mustRecover = false
            isRecovering = true
            actions.append(.recover)
        }
        scans.takeDue(now)
        while mayScan, let scan = scans.nextEarly() {
            actions.append(.scanEarly(scan.channel, through: scan.through))
        }
        while mayScan, let scan = scans.next() {
            actions.append(.scan(scan.channel, through: scan.through))
        }
        send(&actions, now)
        release(&actions, now)
        load(&actions, now)
        return actions
    }

    private var mayScan: Bool { queued - delayed < PushLimits.queued }

    /// When to call ``next(now:)`` again if nothing happens.
    package func wake(now: Duration) -> Duration? {
        var moments: [Duration] = []
        if let pausedUntil { return pausedUntil }
        if waitingStart < waiting.count {
            moments.append(waitingSince + PushLimits.waitsInMemory)
        }
        if let due = scans.due { moments.append(due) }
        if mustRecover, !isRecovering { moments.append(recoverAfter) }
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
            if let wait = circuits[row.partition]?.wait(now: now) {
                // Pushes of the only provider wait in memory; those of one partition must not block
                // the others.
                guard !row.partition.isEmpty else { return }
                waitingStart += 1
                actions.append(.postpone(row.number, wait, .down))
                continue
            }
            waitingStart += 1
            if !row.partition.isEmpty, let average = slow[row.partition],
                underWayToSlow >= max(concurrency / 2, 1)
            {
                actions.append(.postpone(row.number, average, .slow))
            } else if let wait = rates.take(row.target, now: now) {
                actions.append(.postpone(row.number, wait, .rate))
            } else {
                circuits[row.partition]?.tried()
                underWay += 1
                if !row.partition.isEmpty { underWayTo[row.partition, default: 0] += 1 }
                actions.append(.send(row.number))
            }
        }
        guard waitingStart == waiting.count else { return }
        waiting.removeAll(keepingCapacity: true)
        waitingStart = 0
    }

    private var underWayToSlow: Int {
        underWayTo.reduce(0) { slow[$1.key] == nil ? $0 : $0 + $1.value }
    }

    /// Pushes for a slow or failed provider wait on the disk.
    private mutating func release(_ actions: inout [Action], _ now: Duration) {
        guard waitingStart < waiting.count else { return }
        guard now - waitingSince >= PushLimits.waitsInMemory || circuits[""]?.isDown == true
        else { return }
        let numbers = waiting[waitingStart...].map(\.number)
        held.subtract(numbers)
        waiting.removeAll(keepingCapacity: true)
        waitingStart = 0
        mayHaveMore = true
        meanwhile.hasMore = true
        actions.append(.release(numbers))
    }

    /// Whether memory holds enough pushes for now.
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

extension PushMachine.Acknowledgement {
    /// Its name in the metrics and in the log.
    package var outcome: String {
        switch self {
        case .pushed: "sent"
        case .dropped(let why): why.rawValue
        case .dead: PushDrop.dead.rawValue
        case .again(_, isAttempt: true): "retried"
        case .again(_, isAttempt: false): "waited"
        }
    }
}
