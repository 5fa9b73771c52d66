import RepriseCore
package import RepriseWire

/// The events of the connection, the clock and the disk; and the request for a hole.
extension SubscriptionMachine {
    package mutating func connected(at now: Duration) -> [Action] {
        isAttached = false
        isAskingForEpoch = false
        fruitless = 0
        lostToRetention = 0
        lastProgress = now
        guard takesSnapshots, snapshot != nil else { return ask(.subscribing, at: now) }
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
        isAskingForEpoch = false
        mode = .offline
        timerDue = nil
        sawActivity = false
        return show(waiting)
    }

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
        durableRevision = max(durableRevision, revision)
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
        self.epoch = epoch
        self.coverage = coverage
        knownHead = max(head, coverage.top)
        durableRevision = revision
        self.snapshot = snapshot
        snapshotRevision = 0
        switch mode {
        case .offline, .refused: return []
        case .catchingUp, .live, .resting, .awaitingSnapshot: break
        }
        // The connection may be in an epoch that the disk does not have.
        isAttached = false
        isAskingForEpoch = false
        lastProgress = now
        if takesSnapshots, snapshot != nil {
            mode = .awaitingSnapshot
            return requestSnapshot()
        }
        return ask(.repairing(missing: missing), at: now)
    }

    // MARK: Holes

    /// How many sequences are known to be missing.
    package var missing: Int64 { missing(through: max(knownHead, coverage.top)) }

    var hasHole: Bool { !coverage.isComplete(through: max(knownHead, coverage.top)) }

    func missing(through head: Int64) -> Int64 {
        coverage.complement(through: head).reduce(0) { $0 + $1.count }
    }

    /// Opens a catch-up: requests everything outside the coverage.
    mutating func ask(_ state: ChannelState, at now: Duration) -> [Action] {
        if mode == .live { lastProgress = now }
        lastActivity = now
        missingWhenAnswered = nil
        mode = .catchingUp(CatchUp(isRepair: state != .subscribing))
        return [.subscribe(epoch: epoch, coverage: coverage)] + show(state) + arm()
    }

    /// `sync_complete` has arrived.
    ///
    /// Live, if it is true; otherwise the holes are requested again.
    mutating func settle(at now: Duration, jitter: Double) -> [Action] {
        guard case .catchingUp(var catchUp) = mode else { return [] }
        guard hasHole else {
            // Traffic continues meanwhile: only the changes up to here must be durable; `committed`
            // calls this again.
            let reachedBy = catchUp.reachedBy ?? revision
            catchUp.reachedBy = reachedBy
            mode = .catchingUp(catchUp)
            guard durableRevision >= reachedBy else { return [] }
            fruitless = 0
            missingWhenAnswered = nil
            mode = .live
            return show(.live)
        }
        let below = missing(through: catchUp.target)
        guard below > 0, let before = missingWhenAnswered, below >= before else {
            return ask(.repairing(missing: missing), at: now)
        }
        // Requested, answered, and nothing arrived: do not spin.
        fruitless += 1
        let wait = settings.askAgain.delay(failures: fruitless, jitter: jitter)
        mode = .resting(until: now + wait, wasRefused: false)
        return show(.stalled(missing: missing)) + arm()
    }

    mutating func noteProgress(at now: Duration) {
        guard case .catchingUp(let catchUp) = mode else { return }
        let missing = missing(through: catchUp.target)
        if missing < lastMissing {
            lastProgress = now
            fruitless = 0
        }
        lastMissing = missing
    }

    /// Positions of another epoch mean nothing in this one.
    mutating func start(_ newEpoch: Epoch) -> Action {
        let former = epoch.map { _ in coverage.complement(through: max(knownHead, coverage.top)) }
        epoch = newEpoch
        coverage = Coverage()
        knownHead = 0
        lostToRetention = 0
        revision += 1
        return .startEpoch(newEpoch, missing: former)
    }

    private mutating func giveConnectionUp(at now: Duration) -> [Action] {
        lastProgress = now
        return show(.stalled(missing: missing)) + [.reconnect] + arm()
    }

    // MARK: Timer and state

    /// Sets a timer, unless an early enough one is running.
    mutating func arm() -> [Action] {
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

    func progress(of catchUp: CatchUp) -> ChannelState {
        let missing = missing(through: catchUp.target)
        if catchUp.isRepair { return .repairing(missing: missing) }
        return .catchingUp(received: max(0, catchUp.total - missing), total: catchUp.total)
    }

    mutating func show(_ state: ChannelState) -> [Action] {
        guard state != shown else { return [] }
        shown = state
        return [.enter(state)]
    }
}
