package import RepriseCore
package import RepriseWire

/// The device's side of one channel: what is requested, what is stored, and when the device has
/// everything.
///
/// `offline → catchingUp → live`, and back to `catchingUp` whenever a hole is found. An event is
/// checked against the coverage alone, so any order of delivery is right. Only the server's
/// `sync_complete` together with a coverage that reaches its target, both durable, leads to `live`;
/// time only leads to another request.
package struct SubscriptionMachine: Sendable {
    package struct Settings: Hashable, Sendable {
        package var inactivity: Duration = .seconds(30)
        package var noProgress: Duration = .seconds(60)
        package var askAgain: Backoff = Backoff(base: .seconds(1), longest: .seconds(30))
    }

    /// What to do with an event.
    package enum Disposition: Hashable, Sendable {
        /// Store it together with the coverage that now holds it.
        case store
        /// It is a duplicate.
        case ignoreDuplicate
        /// It cannot be applied now; the coverage excludes it, so it will be requested again.
        case leave
    }

    package enum Action: Hashable, Sendable {
        /// Request everything outside the coverage.
        case subscribe(epoch: Epoch?, coverage: Coverage)
        /// Positions of the previous epoch are void: a new log begins here. `missing` is the known
        /// missing part of the former log, nil if it had none.
        case startEpoch(Epoch, missing: [SequenceRange]?)
        /// These will never arrive, and the device should have got them.
        case recordLoss([SequenceRange], Gone.Reason)
        /// Store, with the rest of this batch, that the app has to load a snapshot.
        case recordSnapshot(Snapshot)
        /// Have the app load it: the request is durable. Answered by `snapshotTaken`.
        case requestSnapshot(Snapshot)
        /// Store, with the rest of this batch, that it is loaded.
        case settleSnapshot
        /// Nothing more of the channel is wanted for now.
        case unsubscribe
        case scheduleTimer(at: Duration)
        case reconnect
        case enter(ChannelState)
    }

    private struct CatchUp: Hashable {
        /// Whether it repairs a hole in a complete log.
        var isRepair: Bool
        /// Whether the server's `subscribed` has arrived.
        var isAnswered = false
        /// Whether `sync_complete` has arrived for the target.
        var isComplete = false
        /// The head up to which the server answers.
        var target: Int64 = 0
        /// How many sequences were missing at the start.
        var total: Int64 = 0
        /// The revision since which nothing is missing, once that is so.
        var reachedBy: Int?
    }

    private enum Mode: Hashable {
        case offline
        case catchingUp(CatchUp)
        case live
        /// Waits before another request, because the last answer brought nothing or was a temporary
        /// refusal.
        case resting(until: Duration, wasRefused: Bool)
        /// The app loads a snapshot; the subscription continues from its position.
        case awaitingSnapshot
        /// The server refused, and would refuse again.
        case refused
    }

    private let settings: Settings
    private var log: LogCoverage
    private var snapshots: SnapshotLoading
    private var mode = Mode.offline
    /// Whether `subscribed` has arrived on this connection; the epoch of an earlier event is
    /// unknown.
    private var isAttached = false
    private var timerDue: Duration?
    private var lastActivity: Duration = .zero
    private var lastProgress: Duration = .zero
    private var sawActivity = false
    /// How much was missing below the target at the last look.
    private var lastMissing: Int64 = 0
    /// How much was missing below the target when the answer to the last request began.
    private var missingWhenAnswered: Int64?
    /// The log's end as the server last reported it, beyond which everything arrived live; nil
    /// before the first report.
    private var newestTarget: Int64?
    /// The floor of retention as the server last reported it.
    private var newestFloor: Int64 = 0
    /// Requests in a row that brought nothing.
    private var fruitless = 0
    /// Lost to retention on this connection.
    private var lostToRetention: Int64 = 0
    private var shown = ChannelState.closed

    /// - Parameters:
    ///   - epoch: the epoch of the newest log in the journal.
    ///   - coverage: its durable part.
    ///   - head: the newest sequence known.
    ///   - snapshot: the snapshot that the app has not finished loading.
    ///   - settings: durations.
    package init(
        epoch: Epoch? = nil, coverage: Coverage = Coverage(), head: Int64 = 0,
        snapshot: Snapshot? = nil, settings: Settings = Settings()
    ) {
        self.settings = settings
        log = LogCoverage(epoch: epoch, coverage: coverage, head: head)
        snapshots = SnapshotLoading(stored: snapshot)
    }

    package var epoch: Epoch? { log.epoch }
    package var coverage: Coverage { log.coverage }
    /// The newest sequence known.
    package var knownHead: Int64 { log.head }
    /// Counts the changes that must become durable.
    package var revision: Int { log.revision }
    /// How many sequences are known to be missing.
    package var missing: Int64 { log.missing }

    /// The one that the app has not finished loading.
    package var snapshot: Snapshot? { snapshots.current }

    package var state: ChannelState { shown }

    package var isLive: Bool { mode == .live }

    var flow: NoticeFlow {
        NoticeFlow(
            liveAfter: newestTarget, isCatchingUp: isCatchingUp && missing > 0,
            isRefused: mode == .refused)
    }

    // MARK: The hot path

    /// An event that continues the only range is applied in constant time and without an
    /// allocation.
    package mutating func eventReceived(after prev: Int64, seq: Int64) -> Disposition {
        guard isAttached else { return .leave }
        sawActivity = true
        return log.received(after: prev, seq: seq)
    }

    /// All arrived frames have been read; evaluates them together.
    ///
    /// Holes are looked for here and not at each event: frames that arrive together in the wrong
    /// order leave none.
    package mutating func batchRead(at now: Duration, jitter: Double) -> [Action] {
        guard sawActivity else { return [] }
        sawActivity = false
        lastActivity = now
        switch mode {
        case .live:
            return log.hasHole ? ask(.repairing(missing: missing), at: now) : []
        case .catchingUp(let catchUp):
            noteProgress(at: now)
            // After `sync_complete` nothing that could fill a hole is on its way.
            if catchUp.isComplete { return settle(at: now, jitter: jitter) }
            return show(progress(of: catchUp))
        case .offline, .resting, .awaitingSnapshot, .refused: return []
        }
    }

    // MARK: The server's frames

    package mutating func subscribedReceived(
        _ subscribed: ServerFrame.Subscribed, at now: Duration
    ) -> [Action] {
        var isRepair = false
        switch mode {
        case .offline, .refused: return []
        case .awaitingSnapshot:
            guard snapshots.answered() else { return [] }
            guard subscribed.epoch != epoch || subscribed.reset else { return [.unsubscribe] }
        case .catchingUp(let open): isRepair = open.isRepair
        case .live, .resting: break  // it was demoted, or asked for by an earlier request
        }
        var actions: [Action] = []
        if subscribed.epoch != epoch || subscribed.reset {
            let missing = log.hasHole ? coverage.complement(through: knownHead) : []
            let former = log.start(subscribed.epoch)
            lostToRetention = 0
            actions.append(.startEpoch(subscribed.epoch, missing: former))
            if snapshots.isEnabled, former != nil {
                let snapshot = Snapshot(position: subscribed.head, lost: missing, reason: .epoch)
                return actions + beginLoading(snapshot)
            }
            lastProgress = now
            isRepair = false
        }
        isAttached = true
        log.attached(head: subscribed.head)
        lastActivity = now
        var catchUp = CatchUp(isRepair: isRepair, isAnswered: true, target: subscribed.head)
        newestTarget = subscribed.head
        newestFloor = subscribed.floor
        catchUp.total = log.missing(through: subscribed.head)
        lastMissing = catchUp.total
        if missingWhenAnswered == nil { missingWhenAnswered = catchUp.total }
        if mode == .live { lastProgress = now }
        mode = .catchingUp(catchUp)
        return actions + show(progress(of: catchUp)) + arm()
    }

    package mutating func goneReceived(_ gone: Gone) -> [Action] {
        guard isAttached else { return [] }
        sawActivity = true
        let news = log.gone(gone.range)
        guard !news.isEmpty else { return [] }
        guard gone.reason.countsAsLost else { return [] }
        let loss = Action.recordLoss(news, gone.reason)
        guard gone.reason == .retention else { return [loss] }
        lostToRetention += news.reduce(0) { $0 + $1.count }
        // Even during a request: the rest of an answer may come behind its `sync_complete`.
        if snapshots.isEnabled { return [loss] + beginSnapshot(lost: news, told: gone.range) }
        return [loss] + show(.beyondRetention(lost: lostToRetention))
    }

    package mutating func syncCompleteReceived(
        _ complete: ServerFrame.SyncComplete, at now: Duration, jitter: Double
    ) -> [Action] {
        guard case .catchingUp(var catchUp) = mode, catchUp.isAnswered,
            complete.epoch == epoch,
            complete.through >= catchUp.target  // else it ends an earlier catch-up
        else { return [] }
        lastActivity = now
        noteProgress(at: now)
        catchUp.isComplete = true
        catchUp.target = complete.through
        newestTarget = complete.through
        log.learned(head: complete.through)
        mode = .catchingUp(catchUp)
        return settle(at: now, jitter: jitter)
    }

    /// A head comes after the events that it counts, so outside of a catch-up a greater one proves
    /// a hole.
    package mutating func heartbeatReceived(head: Int64, at now: Duration) -> [Action] {
        guard mode == .live, !coverage.isComplete(through: head) else { return [] }
        log.learned(head: head)
        return ask(.repairing(missing: missing), at: now)
    }

    /// The server refuses the subscription.
    package mutating func refusedReceived(
        _ refused: ServerFrame.Refused, at now: Duration, jitter: Double
    ) -> [Action] {
        switch mode {
        case .offline, .refused: return []
        case .catchingUp, .live, .resting, .awaitingSnapshot: break
        }
        // Asked again with the next failure.
        if refused.code.isTemporary, snapshots.answered() { return [] }
        guard refused.code.isTemporary else {
            mode = .refused
            isAttached = false
            return show(.refused(refused.code, message: refused.message))
        }
        fruitless += 1
        let wait = settings.askAgain.delay(failures: fruitless, jitter: jitter)
        mode = .resting(until: now + max(wait, refused.wait), wasRefused: true)
        return show(.stalled(missing: missing)) + arm()
    }

    // MARK: Connection, clock and disk

    package mutating func connected(at now: Duration) -> [Action] {
        isAttached = false
        snapshots.answered()
        fruitless = 0
        lostToRetention = 0
        lastProgress = now
        guard snapshots.pending != nil else { return ask(.subscribing, at: now) }
        mode = .awaitingSnapshot
        return requestSnapshot()
    }

    /// A caller wants a channel that the server has refused: its answer may differ now.
    package mutating func wantedAgain(at now: Duration) -> [Action] {
        guard case .refused = mode else { return [] }
        return connected(at: now)
    }

    package mutating func disconnected() -> [Action] {
        isAttached = false
        snapshots.answered()
        mode = .offline
        timerDue = nil
        sawActivity = false
        return show(waiting)
    }

    /// The driver has ended, and the app's loader with it.
    package mutating func stopped() { snapshots.abandoned() }

    /// A timer that fires late or early re-arms; only the clock counts.
    package mutating func timerFired(at now: Duration) -> [Action] {
        timerDue = nil
        switch mode {
        case .offline, .live, .awaitingSnapshot, .refused: return []
        case .resting(let until, let wasRefused):
            if !wasRefused, now >= lastProgress + settings.noProgress {
                return giveConnectionUp(at: now)
            }
            guard now >= until else { return arm() }
            if wasRefused { lastProgress = now }  // it was told to wait
            return ask(.repairing(missing: missing), at: now)
        case .catchingUp:
            if now >= lastProgress + settings.noProgress { return giveConnectionUp(at: now) }
            guard now >= lastActivity + settings.inactivity else { return arm() }
            return ask(.stalled(missing: missing), at: now)
        }
    }

    /// Everything up to this revision is on the disk.
    package mutating func committed(revision: Int, at now: Duration, jitter: Double) -> [Action] {
        log.committed(revision)
        if case .awaitingSnapshot = mode { return requestSnapshot() }
        guard case .catchingUp(let catchUp) = mode, catchUp.isComplete else { return [] }
        return settle(at: now, jitter: jitter)
    }

    /// A commit has failed and nothing later was written: the disk is the truth, and the rest is
    /// requested again.
    package mutating func commitFailed(
        epoch: Epoch?, coverage: Coverage, head: Int64, snapshot: Snapshot? = nil,
        at now: Duration
    ) -> [Action] {
        log.restore(epoch: epoch, coverage: coverage, head: head)
        snapshots.restore(snapshot)
        switch mode {
        case .offline, .refused: return []
        case .catchingUp, .live, .resting, .awaitingSnapshot: break
        }
        // The connection may be in an epoch that the disk does not have.
        isAttached = false
        lastProgress = now
        if snapshots.pending != nil {
            mode = .awaitingSnapshot
            return requestSnapshot()
        }
        return ask(.repairing(missing: missing), at: now)
    }

    // MARK: Catching up

    /// Opens a catch-up: requests everything outside the coverage.
    private mutating func ask(_ state: ChannelState, at now: Duration) -> [Action] {
        if mode == .live { lastProgress = now }
        lastActivity = now
        missingWhenAnswered = nil
        mode = .catchingUp(CatchUp(isRepair: state != .subscribing))
        return [.subscribe(epoch: epoch, coverage: coverage)] + show(state) + arm()
    }

    /// `sync_complete` has arrived.
    ///
    /// Live, if it is true; otherwise the holes are requested again.
    private mutating func settle(at now: Duration, jitter: Double) -> [Action] {
        guard case .catchingUp(var catchUp) = mode else { return [] }
        guard log.hasHole else {
            // Traffic continues meanwhile: only the changes up to here must be durable; `committed`
            // calls this again.
            let reachedBy = catchUp.reachedBy ?? revision
            catchUp.reachedBy = reachedBy
            mode = .catchingUp(catchUp)
            guard log.durableRevision >= reachedBy else { return [] }
            fruitless = 0
            missingWhenAnswered = nil
            mode = .live
            return show(.live)
        }
        let below = log.missing(through: catchUp.target)
        guard below > 0, let before = missingWhenAnswered, below >= before else {
            return ask(.repairing(missing: missing), at: now)
        }
        // Requested, answered, and nothing arrived: do not spin.
        fruitless += 1
        let wait = settings.askAgain.delay(failures: fruitless, jitter: jitter)
        mode = .resting(until: now + wait, wasRefused: false)
        return show(.stalled(missing: missing)) + arm()
    }

    private mutating func noteProgress(at now: Duration) {
        guard case .catchingUp(let catchUp) = mode else { return }
        let missing = log.missing(through: catchUp.target)
        if missing < lastMissing {
            lastProgress = now
            fruitless = 0
        }
        lastMissing = missing
    }

    private mutating func giveConnectionUp(at now: Duration) -> [Action] {
        lastProgress = now
        return show(.stalled(missing: missing)) + [.reconnect] + arm()
    }

    // MARK: Snapshots

    /// The app loads a snapshot from now on when messages are lost; and the one that it has not
    /// finished.
    package mutating func snapshotsWanted() -> [Action] {
        snapshots.isEnabled = true
        guard snapshots.pending != nil else { return [] }
        switch mode {
        case .offline, .refused, .awaitingSnapshot: return []
        case .catchingUp, .live, .resting:
            isAttached = false
            mode = .awaitingSnapshot
            return [.unsubscribe] + requestSnapshot()
        }
    }

    /// The first part that retention has removed was reported: then all missing sequences below the
    /// floor are lost.
    private mutating func beginSnapshot(lost first: [SequenceRange], told range: SequenceRange)
        -> [Action]
    {
        let position = max(newestTarget ?? 0, range.through)
        let rest = log.give(upThrough: min(newestFloor, position))
        lostToRetention += rest.reduce(0) { $0 + $1.count }
        let snapshot = Snapshot(position: position, lost: first + rest, reason: .retention)
        return (rest.isEmpty ? [] : [.recordLoss(rest, .retention)]) + beginLoading(snapshot)
    }

    /// Position first: the app is not asked before that is durable.
    private mutating func beginLoading(_ snapshot: Snapshot) -> [Action] {
        log.revise()
        snapshots.begin(snapshot, durableWith: revision)
        isAttached = false
        mode = .awaitingSnapshot
        return [.recordSnapshot(snapshot), .unsubscribe]
            + show(.beyondRetention(lost: snapshot.lostCount))
    }

    private mutating func requestSnapshot() -> [Action] {
        guard let snapshot = snapshots.current else { return [] }
        let state = show(.beyondRetention(lost: snapshot.lostCount))
        guard let due = snapshots.request(durable: log.durableRevision) else { return state }
        return state + [.requestSnapshot(due)]
    }

    /// The app could not load it: perhaps its log no longer exists, which only the server knows.
    ///
    /// The server tells nothing to a device that waits for its app: it has no subscription. So it
    /// asks with its future coverage, to which the server need send nothing but the epoch.
    package mutating func snapshotFailed() -> [Action] {
        guard case .awaitingSnapshot = mode, let snapshot = snapshots.failed() else { return [] }
        var claimed = coverage
        claimed.insert(after: 0, through: snapshot.position)
        return [.subscribe(epoch: epoch, coverage: claimed)]
    }

    /// The app has loaded it and stored it durably: everything before its position is accounted
    /// for, and the rest is requested.
    package mutating func snapshotTaken(_ taken: Snapshot, at now: Duration) -> [Action] {
        guard snapshots.taken(taken) else { return [] }
        log.loaded(through: taken.position)
        guard case .awaitingSnapshot = mode else {
            return [.settleSnapshot] + (mode == .offline ? show(.subscribing) : [])
        }
        lostToRetention = 0
        lastProgress = now
        return [.settleSnapshot] + ask(.subscribing, at: now)
    }

    /// The state shown without a connection.
    private var waiting: ChannelState {
        guard let snapshot = snapshots.pending else { return .subscribing }
        return .beyondRetention(lost: snapshot.lostCount)
    }

    /// Whether missing messages are being sent, or requested.
    var isCatchingUp: Bool {
        if case .catchingUp = mode { true } else { false }
    }

    /// Requests the missing messages again, because another order of channels is wanted.
    mutating func askedAgain(at now: Duration) -> [Action] {
        guard case .catchingUp(let open) = mode else { return [] }
        return ask(open.isRepair ? .repairing(missing: missing) : .subscribing, at: now)
    }

    // MARK: Timer and state

    /// Sets a timer, unless an early enough one is running.
    private mutating func arm() -> [Action] {
        let due: Duration
        switch mode {
        case .offline, .live, .awaitingSnapshot, .refused: return []
        case .resting(let until, let wasRefused):
            due = wasRefused ? until : min(until, lastProgress + settings.noProgress)
        case .catchingUp:
            due = min(lastActivity + settings.inactivity, lastProgress + settings.noProgress)
        }
        if let timerDue, timerDue <= due { return [] }
        timerDue = due
        return [.scheduleTimer(at: due)]
    }

    private func progress(of catchUp: CatchUp) -> ChannelState {
        let missing = log.missing(through: catchUp.target)
        if catchUp.isRepair { return .repairing(missing: missing) }
        return .catchingUp(received: max(0, catchUp.total - missing), total: catchUp.total)
    }

    private mutating func show(_ state: ChannelState) -> [Action] {
        guard state != shown else { return [] }
        shown = state
        return [.enter(state)]
    }
}
