import RepriseChannels
import RepriseCore
import RepriseWire

/// The channels' tables in the model of the store: values, so that a copy is a snapshot.
package struct ChannelsModel: Hashable, Sendable {
    struct Stored: Hashable, Sendable {
        var arrival: Int64
        var seq: Int64
        var prev: Int64
        var id: EntryID
        var time: WallTime
        var from: UserID?
        var change: MessageChange<Int64>?
        var isDeleted: Bool
        var body: [UInt8]

        init(_ event: ServerFrame.Event, arrival: Int64) {
            self.arrival = arrival
            (seq, prev, id, time) = (event.seq, event.prev, event.id, event.time)
            (from, change, isDeleted, body) =
                (event.from, event.change, event.isDeleted, event.body)
        }
    }

    /// The log of one epoch of a channel; its id is its place, counted from 1.
    struct Log: Hashable, Sendable {
        var channel: ChannelName
        var epoch: Epoch
        var coverage = Coverage()
        var head: Int64 = 0
        var version: Int64 = 0
        var accepted: Int64 = 0
        var duplicates: Int64 = 0
        /// What the app has not finished loading.
        var snapshot: SubscriptionMachine.Snapshot?
        /// In the order of their arrival.
        var messages: [Stored] = []
        /// What the edits and deletions among them name.
        var changed: Set<MessageChange<Int64>> = []
        /// Where a message of this log lies that came in a former one, by its sequence here.
        var aliases: [Int64: Int64] = [:]
        /// What the edits and deletions of former logs do here, by their sequences here.
        var formerChanges: [Int64: MessageChange<Int64>] = [:]
    }

    struct Exception: Hashable, Sendable {
        var arrival: Int64
        var attempts: Int
        var failures: Int
        var state: ReaderStore.State
        var due: WallTime
        var reason: String
    }

    /// Its id is its place, counted from 1.
    struct Reader: Hashable, Sendable {
        var channel: ChannelName
        var name: String
        var isOrdered: Bool
        var cursor: Int64 = 0
        var dispatching: Int64 = 0
        /// In the order of their arrival.
        var exceptions: [Exception] = []

        func place(of arrival: Int64) -> Int? {
            exceptions.firstIndex { $0.arrival == arrival }
        }

        mutating func replace(_ exception: Exception) {
            let place = exceptions.firstIndex { $0.arrival >= exception.arrival }
            if let place, exceptions[place].arrival == exception.arrival {
                exceptions[place] = exception
            } else {
                exceptions.insert(exception, at: place ?? exceptions.endIndex)
            }
        }
    }

    struct Loss: Hashable, Sendable {
        var log: Int64
        var after: Int64
        var through: Int64?
        var reason: Gone.Reason
    }

    var logs: [Log] = []
    var readers: [Reader] = []
    var losses: [Loss] = []
    /// Where the messages of former epochs lie, by their ids.
    var former: [ChannelName: [EntryID: Int64]] = [:]

    /// Wrong: a reader in order does not wait at a hole.
    var readsBeyondHoles = false

    package init() {}

    /// The logs of a channel, oldest first.
    func logs(of channel: ChannelName) -> [Int] {
        logs.indices.filter { logs[$0].channel == channel }
    }

    /// The message that arrived so.
    func message(_ arrival: Int64) -> Stored? {
        let log = Int(arrival >> Self.arrivalBits) - 1
        guard logs.indices.contains(log) else { return nil }
        // Nearly always the n-th message is the n-th that arrived.
        let place = Int(arrival & (1 << Self.arrivalBits - 1)) - 1
        let messages = logs[log].messages
        if messages.indices.contains(place), messages[place].arrival == arrival {
            return messages[place]
        }
        return messages.first { $0.arrival == arrival }
    }

    static let arrivalBits: Int64 = 40

    /// The arrival before the first in a log.
    static func base(of log: Int64) -> Int64 { log << arrivalBits }
}

// MARK: Batches

extension ChannelsModel {
    func stored(_ channel: ChannelName) -> ChannelStore.Stored? {
        let places = logs(of: channel)
        guard let place = places.last else { return nil }
        let log = logs[place]
        return ChannelStore.Stored(
            position: LogPosition(
                log: Int64(place + 1), version: log.version, accepted: log.accepted,
                hasFormer: places.count > 1),
            epoch: log.epoch, coverage: log.coverage, head: log.head, snapshot: log.snapshot)
    }

    mutating func write(_ batch: StagedBatch, at positions: [ChannelName: LogPosition]) throws
        -> [ChannelName: LogPosition]
    {
        var positions = positions
        for segment in batch.segments {
            if let epoch = segment.epoch { begin(epoch, segment, &positions) }
            guard var position = positions[segment.channel] else {
                throw RepriseError(.internal, "An event came before its log was begun.")
            }
            try write(segment, at: &position)
            positions[segment.channel] = position
        }
        return positions
    }

    private mutating func begin(
        _ epoch: Epoch, _ segment: StagedBatch.Segment,
        _ positions: inout [ChannelName: LogPosition]
    ) {
        let position = positions[segment.channel]
        if let position, let missing = segment.formerMissing {
            for range in missing { lose(range.after, range.through, .epoch, in: position.log) }
            let old = logs[Int(position.log) - 1]
            lose(old.head, nil, .epoch, in: position.log)
            former[segment.channel, default: [:]].merge(
                old.messages.map { ($0.id, $0.arrival) }
            ) { first, _ in first }
        }
        logs.append(Log(channel: segment.channel, epoch: epoch))
        positions[segment.channel] = LogPosition(
            log: Int64(logs.count), version: 0, accepted: 0, hasFormer: position != nil)
    }

    private static func snapshot(_ change: StagedBatch.Segment.SnapshotChange)
        -> SubscriptionMachine.Snapshot?
    {
        guard case .wanted(var snapshot) = change else { return nil }
        var lost = Coverage()
        for range in snapshot.lost { lost.insert(range) }
        snapshot.lost = lost.ranges
        return snapshot
    }

    private mutating func lose(
        _ after: Int64, _ through: Int64?, _ reason: Gone.Reason, in log: Int64
    ) {
        losses.append(Loss(log: log, after: after, through: through, reason: reason))
    }

    private mutating func write(_ segment: StagedBatch.Segment, at position: inout LogPosition)
        throws
    {
        let place = Int(position.log) - 1
        guard logs.indices.contains(place), logs[place].version == position.version else {
            throw RepriseError(.internal, "The journal moved on without us.")
        }
        var duplicates = segment.duplicates
        for event in segment.events {
            if position.hasFormer, let arrival = former[event.channel]?[event.id] {
                duplicates += 1
                recognise(event, arrival: arrival, in: place)
                continue
            }
            position.accepted += 1
            insert(event, arrival: Self.base(of: position.log) + position.accepted, in: place)
        }
        for loss in segment.losses {
            for range in loss.ranges {
                lose(range.after, range.through, loss.reason, in: position.log)
            }
        }
        if let change = segment.snapshot { logs[place].snapshot = Self.snapshot(change) }
        logs[place].coverage = segment.coverage
        logs[place].head = segment.head
        logs[place].accepted = position.accepted
        logs[place].duplicates += duplicates
        logs[place].version += 1
        position.version += 1
    }
}
