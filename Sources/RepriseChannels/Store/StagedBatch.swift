package import RepriseWire

/// What a batch of frames changes: written in one transaction, or not at all.
package struct StagedBatch: Sendable {
    /// What changes in one log.
    ///
    /// A new epoch begins a new segment.
    package struct Segment: Sendable {
        package struct Loss: Sendable {
            var ranges: [SequenceRange]
            var reason: Gone.Reason
        }

        package var channel: ChannelName
        /// Set if a new log begins here.
        package var epoch: Epoch?
        /// What was known to be missing of the log before; nil if there was none.
        package var formerMissing: [SequenceRange]?
        package var events: [ServerFrame.Event] = []
        package var losses: [Loss] = []
        package var duplicates: Int64 = 0
        /// The log's coverage and head once all this is stored.
        package var coverage = Coverage()
        package var head: Int64 = 0
    }

    package var segments: [Segment] = []
    /// What each machine counted when the batch was cut.
    package var revisions: [ChannelName: Int] = [:]
    /// The state of memory that it was made in; after a failed commit it is void.
    package var generation = 0

    package var isEmpty: Bool { segments.isEmpty }
}

/// What memory believes about the current log of a channel; checked against the disk at each write.
package struct LogPosition: Hashable, Sendable {
    package var log: Int64
    package var version: Int64
    package var accepted: Int64
    /// Whether there were epochs before, so that ids have to be compared.
    package var hasFormer: Bool
}
