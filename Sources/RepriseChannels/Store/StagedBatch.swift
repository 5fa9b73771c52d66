package import RepriseWire

/// The changes of a batch of frames: written in one transaction, or not at all.
package struct StagedBatch: Sendable {
    /// The changes in one log.
    ///
    /// A new epoch begins a new segment.
    package struct Segment: Sendable {
        package struct Loss: Sendable {
            package var ranges: [SequenceRange]
            package var reason: Gone.Reason
        }

        /// The change of the snapshot that the app has to load.
        package enum SnapshotChange: Hashable, Sendable {
            case wanted(SubscriptionMachine.Snapshot)
            case taken
        }

        package var channel: ChannelName
        /// Set if a new log begins here.
        package var epoch: Epoch?
        /// The known missing part of the previous log; nil if it had none.
        package var formerMissing: [SequenceRange]?
        package var events: [ServerFrame.Event] = []
        package var losses: [Loss] = []
        package var duplicates: Int64 = 0
        package var snapshot: SnapshotChange?
        /// The log's coverage and head once all this is stored.
        package var coverage = Coverage()
        /// The epoch that the coverage belongs to.
        package var of: Epoch?
        package var head: Int64 = 0

        package init(channel: ChannelName) { self.channel = channel }
    }

    /// The counters of a channel's machine when the batch was cut.
    package struct Revision: Hashable, Sendable {
        package var channel: ChannelName
        package var number: Int

        package init(channel: ChannelName, number: Int) {
            (self.channel, self.number) = (channel, number)
        }
    }

    package var segments: [Segment] = []
    package var revisions: [Revision] = []

    package init() {}

    package var isEmpty: Bool { segments.isEmpty }

    /// The channels that it changes, each once, in the order of its segments.
    package var channels: [ChannelName] {
        var seen: Set<ChannelName> = []
        return segments.map(\.channel).filter { seen.insert($0).inserted }
    }

    /// Removes a channel.
    mutating func remove(_ channel: ChannelName) {
        segments.removeAll { $0.channel == channel }
        revisions.removeAll { $0.channel == channel }
    }
}

/// Memory's position of a channel's current log; checked against the disk at each write.
package struct LogPosition: Hashable, Sendable {
    package var log: Int64
    package var version: Int64
    package var accepted: Int64
    /// Whether earlier epochs exist, so that ids have to be compared.
    package var hasFormer: Bool

    package init(log: Int64, version: Int64, accepted: Int64, hasFormer: Bool) {
        self.log = log
        self.version = version
        self.accepted = accepted
        self.hasFormer = hasFormer
    }
}
