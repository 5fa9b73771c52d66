import NIOCore
package import RepriseWire
import Synchronization

/// Hands what was committed to those who listen: one `Shard` for each event loop.
package final class Hub: Sendable {
    let shards: [Shard]
    private let byLoop: [ObjectIdentifier: Shard]
    /// How many shards listen to each channel.
    private let interest = Mutex<[ChannelName: Int]>([:])

    init(loops: some Sequence<any EventLoop>, limits: ServerLimits) {
        shards = loops.map { Shard(loop: $0, limits: limits) }
        byLoop = Dictionary(
            shards.map { (ObjectIdentifier($0.loop), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The shard of an event loop of the group that the hub was made for.
    func shard(of loop: any EventLoop) -> Shard? { byLoop[ObjectIdentifier(loop)] }

    /// Hands durable events over; called in commit order, by one task.
    ///
    /// Whether anybody listens is asked after the commit, and a subscriber is entered before it
    /// asks the log where the channel stands. So an event that is skipped here is in the answer
    /// that the subscriber gets.
    package func committed(_ events: [ServerFrame.Event]) {
        let wanted = interest.withLock { interest in
            var wanted: Set<ChannelName> = []
            guard !interest.isEmpty else { return wanted }
            for event in events where interest[event.channel] != nil {
                wanted.insert(event.channel)
            }
            return wanted
        }
        guard !wanted.isEmpty else { return }
        let runs = LiveRun.encode(events, of: wanted)
        for shard in shards { shard.post(runs) }
    }

    /// Nobody knows what was stored in these channels: whoever listens asks the log.
    package func storingFailed(in channels: Set<ChannelName>) {
        for shard in shards { shard.post(uncertain: channels) }
    }

    /// What a user may do in a channel has changed; or, for nil, what all may.
    package func accessChanged(_ channel: ChannelName, _ user: UserID?) {
        for shard in shards { shard.post(.accessChanged(channel, user)) }
    }

    /// A user's positions have moved, by a receipt of a connection; or, for 0, by another way.
    package func moved(by connection: UInt64 = 0, _ telling: PositionNews.Telling) {
        for shard in shards { shard.post(.moved(by: connection, telling)) }
    }

    /// A user begins, goes on, or has stopped to type.
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
