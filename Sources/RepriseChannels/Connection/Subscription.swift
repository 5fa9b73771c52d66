import RepriseWire

/// A channel that is subscribed to: its machine, and what of the batch under way belongs to it.
///
/// Confined to the driver.
final class Subscription {
    let channel: ChannelName
    let states: Announcer<ChannelState>
    var machine: SubscriptionMachine
    /// What is staged since the last cut.
    private var segment: StagedBatch.Segment
    private var isStaged = false
    var isTouched = false

    init(channel: ChannelName, machine: SubscriptionMachine, states: Announcer<ChannelState>) {
        self.channel = channel
        self.machine = machine
        self.states = states
        segment = StagedBatch.Segment(channel: channel)
    }

    /// Changes what is staged.
    func stage(_ change: (inout StagedBatch.Segment) -> Void) {
        isStaged = true
        change(&segment)
    }

    /// Ends the segment with the coverage that it leads to.
    func cut(into batch: inout StagedBatch) {
        guard isStaged else { return }
        segment.coverage = machine.coverage
        segment.head = machine.knownHead
        batch.segments.append(segment)
        drop()
    }

    /// Forgets what is staged.
    func drop() {
        segment = StagedBatch.Segment(channel: channel)
        isStaged = false
    }
}
