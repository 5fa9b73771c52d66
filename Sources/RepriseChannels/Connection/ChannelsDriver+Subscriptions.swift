import RepriseCore
import RepriseWire

/// The app's requests for single channels.
extension ChannelsDriver {
    struct PendingSubscription {
        var channel: ChannelName
        var states: StateBroadcaster<ChannelState>
        var answer: CheckedContinuation<Void, any Error>
    }

    /// Concurrent callers are answered together by the next read of the journal, and requested in
    /// one frame.
    func subscribe(_ channel: ChannelName, states: StateBroadcaster<ChannelState>) async throws {
        guard !machine.isSubscribed(channel) else {
            return await perform(machine.subscribedAgain(channel, at: now))
        }
        try await withCheckedThrowingContinuation { answer in
            pendingSubscriptions.append(
                PendingSubscription(channel: channel, states: states, answer: answer))
            guard !isReadingPendingSubscriptions else { return }
            isReadingPendingSubscriptions = true
            Task { await readPendingSubscriptions() }
        }
    }

    private func readPendingSubscriptions() async {
        while !pendingSubscriptions.isEmpty {
            await changes.wait {
                self.pendingSubscriptions.allSatisfy { machine.mayLoad($0.channel) }
            }
            let pendingSubscriptions = pendingSubscriptions
            self.pendingSubscriptions = []
            do {
                let stored = try await store.stored(pendingSubscriptions.map(\.channel))
                for pendingSubscription in pendingSubscriptions {
                    states[pendingSubscription.channel] = pendingSubscription.states
                }
                await perform(
                    machine.subscribed(
                        pendingSubscriptions.map { ($0.channel, stored[$0.channel] ?? nil) },
                        at: now))
                for pendingSubscription in pendingSubscriptions {
                    pendingSubscription.answer.resume()
                }
            } catch {
                for pendingSubscription in pendingSubscriptions {
                    pendingSubscription.answer.resume(throwing: error)
                }
            }
        }
        isReadingPendingSubscriptions = false
    }

    func appeared(_ channel: ChannelName) async {
        await perform(machine.appeared(channel, at: now))
    }

    func disappeared(_ channel: ChannelName) { machine.disappeared(channel) }

    // MARK: Snapshots

    func takeSnapshots(_ channel: ChannelName, with handler: @escaping Channel.SnapshotHandler)
        async
    {
        snapshotHandlers[channel] = handler
        await perform(machine.snapshotsWanted(channel))
    }

    /// Calls the app's loader until it succeeds; then the subscription continues.
    func load(_ snapshot: SubscriptionMachine.Snapshot, of channel: ChannelName) {
        guard let handler = snapshotHandlers[channel],
            let epoch = machine.machine(of: channel)?.epoch
        else { return }
        stopLoadingSnapshot(of: channel)
        let configuration = configuration
        snapshotTasks[channel] = Task {
            var failures = 0
            while !Task.isCancelled {
                do {
                    try await handler(
                        SnapshotRequest(
                            channel: channel, epoch: epoch, position: snapshot.position,
                            lost: snapshot.lost, reason: snapshot.reason, attempt: failures + 1))
                    return await taken(snapshot, of: channel)
                } catch {
                    failures += 1
                    await perform(machine.snapshotFailed(error, of: channel))
                    let wait = configuration.snapshotAgain.delay(
                        failures: failures, jitter: configuration.jitter())
                    try? await configuration.timekeeper.sleep(for: wait)
                }
            }
        }
    }

    private func taken(_ snapshot: SubscriptionMachine.Snapshot, of channel: ChannelName) async {
        await changes.wait(isCancellable: true) { machine.mayRead || machine.isFatal }
        guard machine.mayRead, !Task.isCancelled else { return }
        snapshotTasks[channel] = nil
        await perform(machine.snapshotTaken(snapshot, of: channel, at: now))
    }

    /// An unfinished snapshot is in the journal, and requested again.
    func stopLoadingSnapshot(of channel: ChannelName) {
        snapshotTasks.removeValue(forKey: channel)?.cancel()
    }

    // MARK: Insight

    func diagnostics(of channel: ChannelName) -> ChannelDiagnostics? {
        machine.diagnostics(of: channel, at: now)
    }

    func channelDiagnostics() -> [ChannelName: ChannelDiagnostics] {
        let now = now
        return Dictionary(
            uniqueKeysWithValues: machine.channelNames.compactMap { name in
                machine.diagnostics(of: name, at: now).map { (name, $0) }
            })
    }

    func diagnostics() -> ConnectionDiagnostics {
        machine.diagnostics(
            state: connectionStates.value, at: now, wall: configuration.timekeeper.wall())
    }
}
