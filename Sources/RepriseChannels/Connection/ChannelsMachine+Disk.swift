import RepriseCore
package import RepriseWire

/// From memory to the disk, and back on failure.
extension ChannelsMachine {
    /// The current batch goes first; the next one is read while it is written.
    mutating func submit(_ batch: StagedBatch) {
        guard !batch.isEmpty, fatal == nil else { return }
        guard case .idle = disk else {
            behind = batch
            return
        }
        let channels = batch.channels
        disk = .writing(channels: channels, revisions: batch.revisions)
        var written: [ChannelName: LogPosition] = [:]
        for channel in channels { written[channel] = positions[channel] }
        emit(.commit(batch, at: written))
    }

    /// The batch is durable; `moved` holds the new positions of its logs.
    package mutating func committed(
        _ moved: [ChannelName: LogPosition], at now: Duration, jitter: Double
    ) -> [Action] {
        guard case .writing(let channels, let revisions) = disk else {
            preconditionFailure("driver bug: committed in \(disk)")
        }
        if failedCommits > 0, connection.isReady { emit(.announce(.connected)) }
        failedCommits = 0
        positions.merge(moved.filter { places[$0.key] != nil }) { $1 }
        emit(.signalReaders(channels))
        for revision in revisions {
            guard let place = places[revision.channel] else { continue }
            perform(
                subscriptions[place].machine.committed(
                    revision: revision.number, at: now, jitter: jitter),
                of: place)
        }
        flush()
        disk = .idle
        if let next = behind {
            behind = nil
            submit(next)
        }
        finishEnding(at: now, jitter: jitter)
        return take()
    }

    /// Nothing of the batch was written, or that is unknown.
    ///
    /// The disk is the truth: memory returns to it, and lost frames are requested again. Nothing is
    /// read from the network meanwhile, so nothing piles up.
    package mutating func commitFailed(_ error: any Error, at now: Duration, jitter: Double)
        -> [Action]
    {
        guard case .writing = disk else {
            preconditionFailure("driver bug: commitFailed in \(disk)")
        }
        behind = nil
        isStale = true
        failedCommits += 1
        recover(from: error, at: now, jitter: jitter)
        return take()
    }

    private mutating func recover(from error: any Error, at now: Duration, jitter: Double) {
        disk = .idle
        guard Self.isWorthWaiting(error) else {
            fatal = error
            emit(.close(.normal))
            return finishEnding(at: now, jitter: jitter)
        }
        guard ending == nil else { return finishEnding(at: now, jitter: jitter) }
        emit(.announce(.stuck(Self.described(error))))
        disk = .pausing
        schedule(.reload, at: now + Self.pause.delay(failures: failedCommits, jitter: jitter))
    }

    private static let pause = Backoff(base: .milliseconds(100), longest: .seconds(30))

    /// A journal that another process has taken over, or that was closed, accepts no more writes.
    private static func isWorthWaiting(_ error: any Error) -> Bool {
        guard let error = error as? RepriseError else { return true }
        switch error.code {
        case .ownershipLost, .closed, .corrupt: return false
        default: return true
        }
    }

    /// Reads the positions again.
    mutating func reload() {
        disk = .reloading
        emit(.reload(subscriptions.map(\.channel)))
    }

    /// The journal's state of the requested channels; nil: none.
    package mutating func reloaded(
        _ found: [ChannelName: ChannelStore.Stored?], at now: Duration, jitter: Double
    ) -> [Action] {
        isStale = false
        disk = .idle
        for place in subscriptions.indices {
            // A channel subscribed to meanwhile already has the journal's state.
            guard let stored = found[subscriptions[place].channel] else { continue }
            subscriptions[place].drop()
            positions[subscriptions[place].channel] = stored?.position
            perform(
                subscriptions[place].machine.commitFailed(
                    epoch: stored?.epoch, coverage: stored?.coverage ?? Coverage(),
                    head: stored?.head ?? 0, snapshot: stored?.snapshot, at: now),
                of: place)
        }
        if dialsAfterReload {
            dialsAfterReload = false
            fetchToken(at: now)
        }
        flush()
        finishEnding(at: now, jitter: jitter)
        return take()
    }

    package mutating func reloadFailed(_ error: any Error, at now: Duration, jitter: Double)
        -> [Action]
    {
        disk = .idle
        guard !dialsAfterReload else {
            dialsAfterReload = false
            disconnection = Disconnection(error: Self.described(error))
            perform(connection.dialFailed(at: now, jitter: jitter), at: now)
            return take()
        }
        failedCommits += 1
        recover(from: error, at: now, jitter: jitter)
        return take()
    }

    // MARK: Subscriptions

    /// A caller wants a channel; `stored` is its state in the journal, read while ``mayLoad(_:)``.
    package mutating func subscribed(
        _ channel: ChannelName, stored: ChannelStore.Stored?, at now: Duration
    ) -> [Action] {
        add(channel, stored: stored, at: now)
        flush()
        return take()
    }

    /// A caller wants many channels: they are requested together.
    package mutating func subscribed(
        _ channels: [(name: ChannelName, stored: ChannelStore.Stored?)], at now: Duration
    ) -> [Action] {
        for channel in channels { add(channel.name, stored: channel.stored, at: now) }
        flush()
        return take()
    }

    private mutating func add(
        _ channel: ChannelName, stored: ChannelStore.Stored?, at now: Duration
    ) {
        guard places[channel] == nil else { return }
        var machine = SubscriptionMachine(
            epoch: stored?.epoch, coverage: stored?.coverage ?? Coverage(), head: stored?.head ?? 0,
            snapshot: stored?.snapshot, settings: settings.subscription)
        if snapshotChannels.contains(channel) { _ = machine.snapshotsWanted() }
        let place = subscriptions.count
        subscriptions.append(Subscription(channel: channel, machine: machine))
        places[channel] = place
        positions[channel] = stored?.position
        if connection.isReady {
            perform(subscriptions[place].machine.connected(at: now), of: place)
        } else {
            perform(subscriptions[place].machine.disconnected(), of: place)
        }
    }

    package mutating func unsubscribed(_ channel: ChannelName) -> [Action] {
        guard let place = places[channel] else { return [] }
        subscriptions.remove(at: place)
        places = [:]
        for (place, subscription) in subscriptions.enumerated() {
            places[subscription.channel] = place
        }
        positions[channel] = nil
        // Staged changes that wait for the disk have no position any more, and one refused segment
        // fails the whole batch.
        behind?.remove(channel)
        if behind?.isEmpty == true { behind = nil }
        asks.removeAll { $0.channel == channel }
        timers.cancel(.channel(channel))
        emit(.enter(channel, .closed))
        emit(.send([ClientFrame.unsubscribe([channel]).encoded()]))
        return take()
    }

    package func isSubscribed(_ channel: ChannelName) -> Bool { places[channel] != nil }

    /// Memory's state of a channel, to check it against the disk.
    package func machine(of channel: ChannelName) -> SubscriptionMachine? {
        places[channel].map { subscriptions[$0].machine }
    }
}
