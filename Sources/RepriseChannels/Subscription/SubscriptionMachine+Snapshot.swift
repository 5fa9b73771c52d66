package import RepriseWire

extension SubscriptionMachine {
    /// The state that the app has to load, because its messages will never arrive.
    package struct Snapshot: Hashable, Sendable {
        /// The loaded state must contain everything up to here; the subscription continues after
        /// it.
        package var position: Int64
        /// The missing sequences; those of the former log, if that was replaced.
        ///
        /// As many as a row holds: the ledger has all.
        package var lost: [SequenceRange]
        package var reason: Gone.Reason

        package init(position: Int64, lost: [SequenceRange], reason: Gone.Reason) {
            self.position = position
            self.lost = Array(lost.prefix(WireLimits.coverageRanges))
            self.reason = reason
        }

        /// How many messages were lost, as far as is known.
        package var lostCount: Int64 { lost.reduce(0) { $0 + $1.count } }
    }

    /// The app loads a snapshot from now on when messages are lost; and the one that it has not
    /// finished.
    package mutating func snapshotsWanted() -> [Action] {
        takesSnapshots = true
        guard snapshot != nil else { return [] }
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
    mutating func beginSnapshot(lost first: [SequenceRange], told range: SequenceRange) -> [Action]
    {
        let position = max(newestTarget ?? 0, range.through)
        var rest: [SequenceRange] = []
        for range in coverage.complement(through: min(newestFloor, position))
        where coverage.insert(range) == .added { rest.append(range) }
        lostToRetention += rest.reduce(0) { $0 + $1.count }
        let snapshot = Snapshot(position: position, lost: first + rest, reason: .retention)
        return (rest.isEmpty ? [] : [.recordLoss(rest, .retention)]) + beginLoading(snapshot)
    }

    /// Position first: the app is not asked before that is durable.
    mutating func beginLoading(_ snapshot: Snapshot) -> [Action] {
        self.snapshot = snapshot
        revision += 1
        snapshotRevision = revision
        isSnapshotRequested = false
        isAskingForEpoch = false
        isAttached = false
        mode = .awaitingSnapshot
        return [.recordSnapshot(snapshot), .unsubscribe]
            + show(.beyondRetention(lost: snapshot.lostCount))
    }

    mutating func requestSnapshot() -> [Action] {
        guard let snapshot else { return [] }
        let state = show(.beyondRetention(lost: snapshot.lostCount))
        guard !isSnapshotRequested, durableRevision >= snapshotRevision else { return state }
        isSnapshotRequested = true
        return state + [.requestSnapshot(snapshot)]
    }

    /// The app could not load it: perhaps its log no longer exists, which only the server knows.
    ///
    /// The server tells nothing to a device that waits for its app: it has no subscription. So it
    /// asks with its future coverage, to which the server need send nothing but the epoch.
    package mutating func snapshotFailed() -> [Action] {
        guard case .awaitingSnapshot = mode, let snapshot, isSnapshotRequested, !isAskingForEpoch
        else { return [] }
        isAskingForEpoch = true
        var claimed = coverage
        claimed.insert(after: 0, through: snapshot.position)
        return [.subscribe(epoch: epoch, coverage: claimed)]
    }

    /// The app has loaded it and stored it durably: everything before its position is accounted
    /// for, and the rest is requested.
    package mutating func snapshotTaken(_ taken: Snapshot, at now: Duration) -> [Action] {
        guard snapshot == taken else { return [] }  // another has taken its place
        snapshot = nil
        isSnapshotRequested = false
        isAskingForEpoch = false
        coverage.insert(after: 0, through: taken.position)
        knownHead = max(knownHead, coverage.top)
        revision += 1
        guard case .awaitingSnapshot = mode else {
            return [.settleSnapshot] + (mode == .offline ? show(.subscribing) : [])
        }
        lostToRetention = 0
        lastProgress = now
        return [.settleSnapshot] + ask(.subscribing, at: now)
    }

    /// The state shown without a connection.
    var waiting: ChannelState {
        guard takesSnapshots, let snapshot else { return .subscribing }
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
}
