import RepriseChannels
import RepriseCore
import RepriseWire

/// Drivers of the device that are wrong on purpose, as far as they change what passes between the
/// machines and the world.
///
/// Nothing here happens in an honest run.
struct DeviceMutations {
    private let mutation: Mutation?
    private var decoder = FrameDecoder()
    /// The mutation `storeDuplicates`: events that are covered.
    private var duplicates: [ServerFrame.Event] = []
    /// The mutation `silenceCompletes`: when frames came last.
    private var heard: Duration = .zero

    init(_ mutation: Mutation?) { self.mutation = mutation }

    /// Asked first where a machine would be copied for nothing.
    var isHonest: Bool { mutation == nil }

    /// What the device sends.
    mutating func outgoing(_ frames: [[UInt8]]) -> [[UInt8]] {
        guard mutation == .subscribeFromHighest else { return frames }
        return frames.map { frame in
            guard case .subscribe(let channels)? = try? decoder.clientFrame(frame) else {
                return frame
            }
            return ClientFrame.subscribe(
                channels.map {
                    .init(
                        channel: $0.channel, epoch: $0.epoch,
                        coverage: Coverage(through: $0.coverage.top))
                }
            ).encoded()
        }
    }

    /// What has arrived.
    mutating func incoming(_ frames: ArraySlice<[UInt8]>, _ machine: ChannelsMachine)
        -> ArraySlice<[UInt8]>
    {
        guard mutation == .ignoreEpoch || mutation == .widenPrev else { return frames }
        return frames.map { frame in
            guard let decoded = try? decoder.serverFrame(frame) else { return frame }
            return changed(decoded, machine)?.encoded() ?? frame
        }[...]
    }

    private func changed(_ frame: ServerFrame, _ machine: ChannelsMachine) -> ServerFrame? {
        switch frame {
        case .subscribed(var subscribed) where mutation == .ignoreEpoch:
            guard let epoch = machine.machine(of: subscribed.channel)?.epoch else { return nil }
            subscribed.epoch = epoch
            subscribed.reset = false
            return .subscribed(subscribed)
        case .syncComplete(var complete) where mutation == .ignoreEpoch:
            guard let epoch = machine.machine(of: complete.channel)?.epoch else { return nil }
            complete.epoch = epoch
            return .syncComplete(complete)
        case .event(var event) where mutation == .widenPrev:
            guard let coverage = machine.machine(of: event.channel)?.coverage,
                event.prev > coverage.watermark
            else { return nil }
            event.prev = coverage.watermark
            return .event(event)
        default: return nil
        }
    }

    /// The machine is about to read these.
    mutating func read(_ frames: ArraySlice<[UInt8]>, _ machine: ChannelsMachine) {
        guard mutation == .storeDuplicates else { return }
        for frame in frames {
            guard case .event(let event)? = try? decoder.serverFrame(frame),
                machine.machine(of: event.channel)?.coverage.contains(event.seq) == true
            else { continue }
            duplicates.append(event)
        }
    }

    /// What is written.
    mutating func staged(_ batch: StagedBatch) -> StagedBatch {
        var batch = batch
        switch mutation {
        case .snapshotUnwritten:
            for index in batch.segments.indices { batch.segments[index].snapshot = nil }
        case .lossesForgotten:
            for index in batch.segments.indices { batch.segments[index].losses = [] }
        case .storeDuplicates:
            for index in batch.segments.indices where batch.segments[index].epoch == nil {
                let channel = batch.segments[index].channel
                batch.segments[index].events += duplicates.filter { $0.channel == channel }
                duplicates.removeAll { $0.channel == channel }
            }
        default: break
        }
        return batch
    }

    /// The mutation `liveBeforeDurable`: states that the commit under way will lead to.
    func early(_ machine: ChannelsMachine, _ batch: StagedBatch, at now: Duration)
        -> [(ChannelName, ChannelState)]
    {
        guard mutation == .liveBeforeDurable else { return [] }
        var ahead = machine
        return ahead.committed([:], at: now, jitter: 0).compactMap {
            if case .enter(let channel, let state) = $0 { (channel, state) } else { nil }
        }
    }

    /// A timer has fired.
    func woke(
        _ machine: inout ChannelsMachine, _ life: DeviceLife, at now: Duration, jitter: Double
    ) -> [ChannelsMachine.Action] {
        let actions = machine.woke(at: now, jitter: jitter)
        guard mutation == .silenceCompletes else { return actions }
        return actions.compactMap { action in
            switch action {
            case .enter(let channel, .stalled): .enter(channel, .live)
            case .send: nil
            default: action
            }
        }
    }

    /// What a reader writes down.
    func written(_ write: ReaderWrite) -> ReaderWrite {
        var write = write
        switch mutation {
        case .cursorBeforeEffect: write.cursor = write.dispatching
        case .dispatchUnmarked: write.dispatching = write.cursor
        default: break
        }
        return write
    }
}

extension StagedBatch {
    /// The mutation `coverageApart`: what is written first.
    var withoutMessages: StagedBatch {
        var batch = self
        for index in batch.segments.indices { batch.segments[index].events = [] }
        return batch
    }

    /// And what is written then: the logs have begun.
    var withoutEpochs: StagedBatch {
        var batch = self
        for index in batch.segments.indices {
            batch.segments[index].epoch = nil
            batch.segments[index].losses = []
            batch.segments[index].duplicates = 0
        }
        return batch
    }
}
