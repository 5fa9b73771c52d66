import RepriseChannels
import RepriseCore
import RepriseWire

/// Readers that go by sequence in the model: what `ReaderRows` does with rows.
extension ChannelsModel {
    func orderedPage(_ reader: ReaderRows, after cursor: Int64) -> [Arrived] {
        let places = logs(of: reader.channel)
        for (rank, place) in places.enumerated() where rank >= OrderedPosition.rank(of: cursor) {
            let after = OrderedPosition.seq(of: cursor, inRank: rank)
            let isCurrent = place == places.last && !readsBeyondHoles
            let end = isCurrent ? logs[place].coverage.watermark : .max
            let next = logs[place].messages.filter { $0.seq > after && $0.seq <= end }
                .sorted { $0.seq < $1.seq }
            var page: [Arrived] = []
            var bytes = 0
            for message in next.prefix(ReaderStore.pageLimit) where bytes < ReaderStore.pageBytes {
                bytes += message.body.count
                page.append(
                    arrived(
                        message, in: reader.channel, attempt: 1,
                        position: OrderedPosition.position(rank: rank, seq: message.seq)))
            }
            guard page.isEmpty else { return page }
        }
        return []
    }

    /// What was with a handler when its process died.
    func sequences(of channel: ChannelName, after cursor: Int64, through dispatching: Int64)
        -> [Stored]
    {
        let rank = OrderedPosition.rank(of: dispatching)
        let places = logs(of: channel)
        guard places.indices.contains(rank) else { return [] }
        let after = OrderedPosition.seq(of: cursor, inRank: rank)
        let end = OrderedPosition.seq(of: dispatching)
        return logs[places[rank]].messages.filter { $0.seq > after && $0.seq <= end }
    }

    /// The one that the reader stands at, if it has failed.
    func orderedDue(_ reader: ReaderRows, _ waiting: [Exception], now: WallTime)
        -> ReaderStore.Due
    {
        let first = waiting.compactMap { exception in
            message(exception.arrival).map { (exception, $0) }
        }.min { left, right in
            (left.1.arrival >> Self.arrivalBits, left.1.seq)
                < (right.1.arrival >> Self.arrivalBits, right.1.seq)
        }
        guard let (exception, message) = first else { return .init(messages: [], next: nil) }
        guard exception.due <= now else { return .init(messages: [], next: exception.due) }
        let exceptional = ReaderStore.Exceptional(
            arrived: arrived(message, in: reader.channel, attempt: exception.attempts + 1),
            attempts: exception.attempts, failures: exception.failures)
        return .init(messages: [exceptional], next: exception.due)
    }

    /// How far all readers of a log are, those by arrival and those by sequence.
    func reached(_ place: Int, _ log: Log, _ readers: [Reader]) -> (arrival: Int64, seq: Int64) {
        guard !readers.isEmpty else { return (0, .max) }
        let arrival = readers.lazy.filter { !$0.isOrdered }.map(\.cursor).min() ?? .max
        guard let cursor = readers.lazy.filter(\.isOrdered).map(\.cursor).min() else {
            return (arrival, .max)
        }
        let rank = logs(of: log.channel).firstIndex(of: place) ?? 0
        return (arrival, OrderedPosition.seq(of: cursor, inRank: rank))
    }
}
