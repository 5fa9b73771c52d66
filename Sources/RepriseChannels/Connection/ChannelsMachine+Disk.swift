import RepriseCore
package import RepriseWire

/// From memory to the disk, and back if that fails.
extension ChannelsMachine {
    /// The one batch under way goes first; the next is read while that is written.
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

    /// The batch is durable; `moved` says where its logs are now.
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

    /// Nothing of the batch was written, or nobody knows.
    ///
    /// The disk is the truth: memory goes back to it, and what was lost on the way is asked for
    /// again. Nothing is read from the network meanwhile, so nothing piles up.
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

    /// A journal that another process has taken over, or that was closed, will not take anything
    /// again.
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

    /// What the journal has of the channels that were asked for; nil: nothing.
    package mutating func reloaded(
        _ found: [ChannelName: ChannelStore.Stored?], at now: Duration, jitter: Double
    ) -> [Action] {
        isStale = false
        disk = .idle
        for place in subscriptions.indices {
            // One that was subscribed to meanwhile has what the journal has.
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

    /// Somebody wants a channel; `stored` is what the journal has of it, read while
    /// ``mayLoad(_:)``.
    package mutating func subscribed(
        _ channel: ChannelName, stored: ChannelStore.Stored?, at now: Duration
    ) -> [Action] {
        add(channel, stored: stored, at: now)
        flush()
        return take()
    }

    /// Somebody wants many channels: they are asked for together.
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
        // What waits for the disk has no position any more, and one refused segment fails the whole
        // batch.
        behind?.remove(channel)
        if behind?.isEmpty == true { behind = nil }
        asks.removeAll { $0.channel == channel }
        timers.cancel(.channel(channel))
        emit(.enter(channel, .closed))
        emit(.send([ClientFrame.unsubscribe([channel]).encoded()]))
        return take()
    }

    package func isSubscribed(_ channel: ChannelName) -> Bool { places[channel] != nil }

    /// What memory believes of a channel; for those who check it against the disk.
    package func machine(of channel: ChannelName) -> SubscriptionMachine? {
        places[channel].map { subscriptions[$0].machine }
    }
}
