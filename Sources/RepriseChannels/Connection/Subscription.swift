import RepriseWire

/// A channel that is subscribed to: its machine, and what of the batch under way belongs to it.
struct Subscription: Sendable {
    let channel: ChannelName
    var machine: SubscriptionMachine
    /// Whether a frame of the batch being read was for it.
    var isTouched = false
    var tally = SubscriptionTally()
    /// What is staged since the last cut.
    private var segment: StagedBatch.Segment
    private var isStaged = false

    init(channel: ChannelName, machine: SubscriptionMachine) {
        self.channel = channel
        self.machine = machine
        segment = StagedBatch.Segment(channel: channel)
    }

    /// Changes what is staged.
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

    /// Ends the segment with the coverage that it leads to.
    mutating func cut(into batch: inout StagedBatch) {
        guard isStaged else { return }
        segment.coverage = machine.coverage
        segment.of = machine.epoch
        segment.head = machine.knownHead
        batch.segments.append(segment)
        drop()
    }

    /// Forgets what is staged.
    mutating func drop() {
        segment = StagedBatch.Segment(channel: channel)
        isStaged = false
    }
}
