import NIOCore
package import RepriseWire
import Synchronization

/// Delivers committed events to subscribers: one `Shard` per event loop.
package final class Hub: Sendable {
    let shards: [Shard]
    private let byLoop: [ObjectIdentifier: Shard]
    /// The number of shards with subscribers, per channel.
    private let interest = Mutex<[ChannelName: Int]>([:])

    init(loops: some Sequence<any EventLoop>, limits: ServerLimits) {
        shards = loops.map { Shard(loop: $0, limits: limits) }
        byLoop = Dictionary(
            shards.map { (ObjectIdentifier($0.loop), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The shard of an event loop of the group that the hub was made for.
    func shard(of loop: any EventLoop) -> Shard? { byLoop[ObjectIdentifier(loop)] }

    /// Delivers durable events; called in commit order, by one task.
    ///
    /// Invariant: subscribers are looked up after the commit, and a subscriber is registered before
    /// it reads the channel's state. So the state read by a subscriber includes an event skipped
    /// here.
    package func committed(_ events: [ServerFrame.Event]) {
        let wanted = interest.withLock { interest in
            var wanted: Set<ChannelName> = []
            guard !interest.isEmpty else { return wanted }
            var last: ChannelName?
            for event in events where event.channel != last {
                last = event.channel
                if interest[event.channel] != nil { wanted.insert(event.channel) }
            }
            return wanted
        }
        guard !wanted.isEmpty else { return }
        let runs = LiveRun.encode(events, of: wanted)
        for shard in shards { shard.post(runs) }
    }

    /// The outcome is unknown in these channels: subscribers read the log.
    package func storingFailed(in channels: Set<ChannelName>) {
        for shard in shards { shard.post(uncertain: channels) }
    }

    /// A user's grant in a channel has changed; for nil, all users' grants.
    package func accessChanged(_ channel: ChannelName, _ user: UserID?) {
        for shard in shards { shard.post(.accessChanged(channel, user)) }
    }

    /// A user's positions have moved, by a connection's receipt; for 0, by other means.
    package func moved(by connection: UInt64 = 0, _ telling: PositionUpdates.Telling) {
        for shard in shards { shard.post(.moved(by: connection, telling)) }
    }

    /// A user starts, continues or stops typing.
    func typing(_ told: TypingBoard.Told) {
        for shard in shards { shard.post(.typing(told)) }
    }

    func interestBegan(in channel: ChannelName) {
        interest.withLock { $0[channel, default: 0] += 1 }
    }

    func interestEnded(in channel: ChannelName) {
        interest.withLock { interest in
            guard let count = interest[channel], count > 1 else {
                interest[channel] = nil
                return
            }
            interest[channel] = count - 1
        }
    }
}
