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

    struct CatchUp: Hashable {
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

    enum Mode: Hashable {
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

    package internal(set) var epoch: Epoch?
    package internal(set) var coverage: Coverage
    /// The newest sequence known.
    package internal(set) var knownHead: Int64
    /// Counts the changes that must become durable.
    package internal(set) var revision = 0

    let settings: Settings
    var mode = Mode.offline
    /// Whether `subscribed` has arrived on this connection; the epoch of an earlier event is
    /// unknown.
    var isAttached = false
    var durableRevision = 0
    var timerDue: Duration?
    var lastActivity: Duration = .zero
    var lastProgress: Duration = .zero
    var sawActivity = false
    /// How much was missing below the target at the last look.
    var lastMissing: Int64 = 0
    /// How much was missing below the target when the answer to the last request began.
    var missingWhenAnswered: Int64?
    /// The log's end as the server last reported it, beyond which everything arrived live; nil
    /// before the first report.
    var newestTarget: Int64?
    /// The floor of retention as the server last reported it.
    var newestFloor: Int64 = 0
    /// Requests in a row that brought nothing.
    var fruitless = 0
    /// Lost to retention on this connection.
    var lostToRetention: Int64 = 0
    var shown = ChannelState.closed
    /// Whether the app loads a snapshot when messages are lost.
    package internal(set) var takesSnapshots = false
    /// The one that it has not finished loading.
    package internal(set) var snapshot: Snapshot?
    /// The revision with which that is durable.
    var snapshotRevision = 0
    /// Whether the app has been asked for it.
    var isSnapshotRequested = false
    /// Whether the server was asked if the snapshot is still of its log.
    var isAskingForEpoch = false

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
        self.epoch = epoch
        self.coverage = coverage
        self.snapshot = snapshot
        self.settings = settings
        knownHead = max(head, coverage.top)
    }

    package var state: ChannelState { shown }

    package var isLive: Bool { mode == .live }

    // MARK: The hot path

    /// An event that continues the only range is applied in constant time and without an
    /// allocation.
    package mutating func eventReceived(after prev: Int64, seq: Int64) -> Disposition {
        guard isAttached else { return .leave }
        sawActivity = true
        if seq <= coverage.top, coverage.contains(seq) { return .ignoreDuplicate }
        knownHead = max(knownHead, seq)
        switch coverage.insert(after: prev, through: seq) {
        case .added:
            revision += 1
            return .store
        case .duplicate: return .ignoreDuplicate
        case .full: return .leave  // at the bound of ranges; the hole stays visible
        }
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
            return hasHole ? ask(.repairing(missing: missing), at: now) : []
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
            guard isAskingForEpoch else { return [] }
            isAskingForEpoch = false
            guard subscribed.epoch != epoch || subscribed.reset else { return [.unsubscribe] }
        case .catchingUp(let open): isRepair = open.isRepair
        case .live, .resting: break  // it was demoted, or asked for by an earlier request
        }
        var actions: [Action] = []
        if subscribed.epoch != epoch || subscribed.reset {
            let former = epoch
            let missing = hasHole ? coverage.complement(through: knownHead) : []
            actions.append(start(subscribed.epoch))
            if takesSnapshots, former != nil {
                let snapshot = Snapshot(position: subscribed.head, lost: missing, reason: .epoch)
                return actions + beginLoading(snapshot)
            }
            lastProgress = now
            isRepair = false
        }
        isAttached = true
        knownHead = max(subscribed.head, coverage.top)
        lastActivity = now
        var catchUp = CatchUp(isRepair: isRepair, isAnswered: true, target: subscribed.head)
        newestTarget = subscribed.head
        newestFloor = subscribed.floor
        catchUp.total = missing(through: subscribed.head)
        lastMissing = catchUp.total
        if missingWhenAnswered == nil { missingWhenAnswered = catchUp.total }
        if mode == .live { lastProgress = now }
        mode = .catchingUp(catchUp)
        return actions + show(progress(of: catchUp)) + arm()
    }

    package mutating func goneReceived(_ gone: Gone) -> [Action] {
        guard isAttached else { return [] }
        sawActivity = true
        let news = coverage.complement(through: gone.range.through).compactMap {
            SequenceRange(after: max($0.after, gone.range.after), through: $0.through)
        }
        guard !news.isEmpty, coverage.insert(gone.range) == .added else { return [] }
        revision += 1
        knownHead = max(knownHead, gone.range.through)
        guard gone.reason.countsAsLost else { return [] }
        let loss = Action.recordLoss(news, gone.reason)
        guard gone.reason == .retention else { return [loss] }
        lostToRetention += news.reduce(0) { $0 + $1.count }
        // Even during a request: the rest of an answer may come behind its `sync_complete`.
        if takesSnapshots { return [loss] + beginSnapshot(lost: news, told: gone.range) }
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
        knownHead = max(knownHead, complete.through)
        mode = .catchingUp(catchUp)
        return settle(at: now, jitter: jitter)
    }

    /// A head comes after the events that it counts, so outside of a catch-up a greater one proves
    /// a hole.
    package mutating func heartbeatReceived(head: Int64, at now: Duration) -> [Action] {
        guard mode == .live, !coverage.isComplete(through: head) else { return [] }
        knownHead = max(knownHead, head)
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
        if isAskingForEpoch, refused.code.isTemporary {
            isAskingForEpoch = false  // asked again with the next failure
            return []
        }
        guard refused.code.isTemporary else {
            mode = .refused
            isAttached = false
            return show(.refused(refused.code, message: refused.message))
        }
        fruitless += 1
        let wait = settings.askAgain.delay(failures: fruitless, jitter: jitter)
        mode = .resting(until: now + max(wait, refused.retryAfter ?? .zero), wasRefused: true)
        return show(.stalled(missing: missing)) + arm()
    }
}
