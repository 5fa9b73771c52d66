import RepriseCore
import RepriseWire

/// From memory to the disk, and back if that fails.
extension ChannelsDriver {
    /// Waits for the commit under way, and begins the next one.
    ///
    /// So one batch is written while one is decoded.
    func submit(_ batch: StagedBatch) async {
        await commit?.value
        guard !batch.isEmpty, batch.generation == generation, fatal == nil else { return }
        commit = Task { [self] in
            await write(batch)
            commit = nil
        }
    }

    private func write(_ batch: StagedBatch) async {
        let channels = Set(batch.segments.map(\.channel))
        do {
            let moved = try await store.write(
                batch, at: positions.filter { channels.contains($0.key) })
            if failedCommits > 0 { connectionStates.announce(.connected) }
            failedCommits = 0
            positions.merge(moved.filter { subscriptions[$0.key] != nil }) { $1 }
            for channel in channels { readers.signal(channel) }
            for (channel, revision) in batch.revisions {
                guard let subscription = subscriptions[channel] else { continue }
                perform(
                    subscription.machine.committed(
                        revision: revision, at: now, jitter: configuration.jitter()),
                    of: subscription)
            }
            await flush()
        } catch {
            await recover(from: error)
        }
    }

    private var pause: Duration {
        Backoff(base: .milliseconds(100), longest: .seconds(30))
            .delay(failures: failedCommits, jitter: configuration.jitter())
    }

    /// The disk is the truth: memory goes back to it, and what was lost on the way is asked for again.
    ///
    /// Nothing is read from the network meanwhile, so nothing piles up.
    private func recover(from error: any Error) async {
        isStale = true
        failedCommits += 1
        var error = error
        while true {
            guard Self.isWorthWaiting(error) else {
                fatal = error
                await socket?.close(code: CloseCode.normal.number)
                return
            }
            connectionStates.announce(.stuck(Self.described(error)))
            do {
                try await configuration.timekeeper.sleep(for: pause)
                try await reload()
                return await flush()
            } catch is CancellationError {
                return  // the connection has ended; the next one begins with `reload`
            } catch let next {
                failedCommits += 1
                error = next
            }
        }
    }

    /// A journal that another process has taken over, or that was closed, will not take anything again.
    private static func isWorthWaiting(_ error: any Error) -> Bool {
        guard let error = error as? RepriseError else { return true }
        switch error.code {
        case .ownershipLost, .closed, .corrupt: return false
        default: return true
        }
    }

    /// Reads the positions again.
    func reload() async throws {
        var found: [ChannelName: ChannelStore.Stored] = [:]
        for channel in subscriptions.keys { found[channel] = try await store.stored(channel) }
        generation += 1
        isStale = false
        for (channel, subscription) in subscriptions {
            let stored = found[channel]
            subscription.drop()
            positions[channel] = stored?.position
            perform(
                subscription.machine.commitFailed(
                    epoch: stored?.epoch, coverage: stored?.coverage ?? Coverage(),
                    head: stored?.head ?? 0, at: now),
                of: subscription)
        }
    }

    // MARK: Subscriptions

    func subscribe(_ channel: ChannelName, states: Announcer<ChannelState>) async throws {
        guard subscriptions[channel] == nil else { return }
        await commit?.value  // it may hold the channel's last messages of an earlier subscription
        let stored = try await store.stored(channel)
        guard subscriptions[channel] == nil else { return }
        let machine = SubscriptionMachine(
            epoch: stored?.epoch, coverage: stored?.coverage ?? Coverage(), head: stored?.head ?? 0,
            settings: configuration.subscription)
        let subscription = Subscription(channel: channel, machine: machine, states: states)
        subscriptions[channel] = subscription
        positions[channel] = stored?.position
        if connection.isReady {
            perform(subscription.machine.connected(at: now), of: subscription)
            await flush()
        } else {
            perform(subscription.machine.disconnected(), of: subscription)
        }
    }

    func unsubscribe(_ channel: ChannelName) async {
        guard let subscription = subscriptions.removeValue(forKey: channel) else { return }
        positions[channel] = nil
        asks.removeAll { $0.channel == channel }
        timers.cancel(.channel(channel))
        subscription.states.announce(.closed)
        await send([ClientFrame.unsubscribe([channel]).encoded()])
    }
}
