import RepriseCore
package import RepriseWire

/// The app's reports about a channel: that it is visible, and that it loads snapshots.
extension ChannelsMachine {
    /// The channel is visible: it is caught up before the others, even during a catch-up.
    package mutating func appeared(_ channel: ChannelName, at now: Duration) -> [Action] {
        guard onScreen.insert(channel).inserted, let place = places[channel] else { return [] }
        let others = subscriptions.indices.contains {
            $0 != place && subscriptions[$0].machine.isCatchingUp
        }
        if others { perform(subscriptions[place].machine.askedAgain(at: now), of: place) }
        flush()
        return take()
    }

    /// A caller wants a subscribed channel: a refused one is requested again, because the user may
    /// be a member now.
    package mutating func subscribedAgain(_ channel: ChannelName, at now: Duration) -> [Action] {
        guard let place = places[channel] else { return [] }
        perform(subscriptions[place].machine.wantedAgain(at: now), of: place)
        flush()
        return take()
    }

    package mutating func disappeared(_ channel: ChannelName) { onScreen.remove(channel) }

    /// The app loads a snapshot of the channel when messages of it are lost.
    package mutating func snapshotsWanted(_ channel: ChannelName) -> [Action] {
        guard snapshotChannels.insert(channel).inserted, let place = places[channel] else {
            return []
        }
        perform(subscriptions[place].machine.snapshotsWanted(), of: place)
        return take()
    }

    /// The app has loaded a snapshot, durably; called only while ``mayRead``.
    package mutating func snapshotTaken(
        _ snapshot: SubscriptionMachine.Snapshot, of channel: ChannelName, at now: Duration
    ) -> [Action] {
        precondition(mayRead, "driver bug: snapshotTaken while \(disk)")
        guard let place = places[channel] else { return [] }
        perform(subscriptions[place].machine.snapshotTaken(snapshot, at: now), of: place)
        var batch = StagedBatch()
        subscriptions[place].cut(into: &batch)
        batch.revisions = [
            .init(channel: channel, number: subscriptions[place].machine.revision)
        ]
        flush()
        submit(batch)
        return take()
    }

    /// The app could not load it; it is asked again, and the server whether it is still current.
    package mutating func snapshotFailed(_ error: any Error, of channel: ChannelName) -> [Action] {
        guard let place = places[channel] else { return [] }
        subscriptions[place].tally.lastError = "\(error)"
        perform(subscriptions[place].machine.snapshotFailed(), of: place)
        flush()
        return take()
    }
}
