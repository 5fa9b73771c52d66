import RepriseWire

/// A subscribed channel: its machine, and its part of the current batch.
struct Subscription: Sendable {
    let channel: ChannelName
    var machine: SubscriptionMachine
    /// Whether a frame of the current batch was for it.
    var isTouched = false
    var tally = SubscriptionTally()
    /// The changes staged since the last cut.
    private var segment: StagedBatch.Segment
    private var isStaged = false

    init(channel: ChannelName, machine: SubscriptionMachine) {
        self.channel = channel
        self.machine = machine
        segment = StagedBatch.Segment(channel: channel)
    }

    /// Changes the staged segment.
    mutating func stage(_ change: (inout StagedBatch.Segment) -> Void) {
        isStaged = true
        change(&segment)
    }

    /// Stages an event or a duplicate: the hot path.
    mutating func receive(_ event: ServerFrame.Event) {
        switch machine.eventReceived(after: event.prev, seq: event.seq) {
        case .store:
            isStaged = true
            segment.events.append(event)
            tally.received += 1
        case .ignoreDuplicate:
            isStaged = true
            segment.duplicates += 1
            tally.duplicates += 1
        case .leave: break
        }
    }

    /// Ends the segment with the resulting coverage.
    mutating func cut(into batch: inout StagedBatch) {
        guard isStaged else { return }
        segment.coverage = machine.coverage
        segment.of = machine.epoch
        segment.head = machine.knownHead
        batch.segments.append(segment)
        drop()
    }

    /// Drops the staged changes.
    mutating func drop() {
        segment = StagedBatch.Segment(channel: channel)
        isStaged = false
    }
}
