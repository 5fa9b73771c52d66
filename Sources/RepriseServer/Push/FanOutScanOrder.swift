import DequeModule
import RepriseCore
import RepriseWire

/// Decides which channels are scanned for pushes, and when: at once for devices that are not
/// connected, and after a grace period in which the others receive the message.
struct FanOutScanOrder: Sendable {
    /// Messages of a channel that are scanned for together.
    private struct Slot {
        let began: Duration
        var seq: Int64
    }

    /// Whether it is known which devices are connected.
    private let scansEarly: Bool
    private var noted: [ChannelName: Deque<Slot>] = [:]
    /// The channels in the order in which their slots began.
    private var order: Deque<ChannelName> = []
    private var ready: Deque<ChannelName> = []
    private var target: [ChannelName: Int64] = [:]
    private var scanning: Set<ChannelName> = []

    /// The slots that no early scan has begun for.
    private var fresh: Deque<(channel: ChannelName, began: Duration)> = []
    private var earlyReady: Deque<ChannelName> = []
    private var earlyTarget: [ChannelName: Int64] = [:]
    private var earlyScanning: ChannelName?

    init(scansEarly: Bool) { self.scansEarly = scansEarly }

    /// A message is durable.
    ///
    /// - Returns: false if the buffer is full: all channels must be scanned.
    mutating func note(_ seq: Int64, in channel: ChannelName, now: Duration) -> Bool {
        if let wanted = target[channel], wanted >= seq { return true }
        if let last = noted[channel]?.indices.last, let slot = noted[channel]?[last],
            now - slot.began < PushLimits.slot
        {
            noted[channel]?[last].seq = max(slot.seq, seq)
            return true
        }
        guard order.count < PushLimits.notedSlots else { return false }
        noted[channel, default: []].append(Slot(began: now, seq: seq))
        order.append(channel)
        if scansEarly { fresh.append((channel, now)) }
        return true
    }

    /// When the next message's slot, or its grace period, ends.
    var due: Duration? {
        var moments: [Duration] = []
        if let slot = fresh.first { moments.append(slot.began + PushLimits.slot) }
        if let grace { moments.append(grace) }
        return moments.min()
    }

    private var grace: Duration? {
        guard let channel = order.first, let slot = noted[channel]?.first else { return nil }
        return slot.began + PushLimits.grace + PushLimits.slot
    }

    /// Marks channels as ready whose slot, or grace period, is over.
    mutating func takeDue(_ now: Duration) {
        while let slot = fresh.first, slot.began + PushLimits.slot <= now {
            fresh.removeFirst()
            // It ends later than its early scan begins.
            guard let seq = noted[slot.channel]?.first(where: { $0.began == slot.began })?.seq
            else { continue }
            if earlyTarget[slot.channel] == nil { earlyReady.append(slot.channel) }
            earlyTarget[slot.channel] = max(earlyTarget[slot.channel] ?? 0, seq)
        }
        while let grace, grace <= now {
            guard let channel = order.popFirst(), let slot = noted[channel]?.popFirst() else {
                preconditionFailure("a slot is lost")
            }
            if noted[channel]?.isEmpty == true { noted[channel] = nil }
            if target[channel] == nil { ready.append(channel) }
            target[channel] = max(target[channel] ?? 0, slot.seq)
        }
    }

    /// The next early scan; one at a time, and none of a channel that is scanned anyway.
    mutating func nextEarly() -> (channel: ChannelName, through: Int64)? {
        while earlyScanning == nil, let channel = earlyReady.popFirst() {
            // ``ended(_:through:)`` comes back to it.
            guard target[channel] == nil, let through = earlyTarget[channel] else { continue }
            earlyScanning = channel
            return (channel, through)
        }
        return nil
    }

    /// The next scan, of at most ``PushLimits/scans`` at a time.
    mutating func next() -> (channel: ChannelName, through: Int64)? {
        while scanning.count < PushLimits.scans, let channel = ready.popFirst() {
            // ``endedEarly(_:through:)`` comes back to it.
            guard channel != earlyScanning, let through = target[channel],
                scanning.insert(channel).inserted
            else { continue }
            return (channel, through)
        }
        return nil
    }

    /// A step has ended; the scan continues unless it has reached its target.
    mutating func ended(_ channel: ChannelName, through: Int64?) {
        scanning.remove(channel)
        guard let wanted = target[channel] else { return }
        guard let through, through >= wanted else { return ready.append(channel) }
        target[channel] = nil
        if earlyTarget[channel] != nil { earlyReady.append(channel) }
    }

    /// A step of an early scan has ended; nil if it goes on.
    ///
    /// One that has failed is done: the other scan follows.
    mutating func endedEarly(_ channel: ChannelName, through: Int64?) {
        earlyScanning = nil
        if let wanted = earlyTarget[channel], let through, through >= wanted {
            earlyTarget[channel] = nil
        }
        if target[channel] != nil {
            ready.append(channel)
        } else if earlyTarget[channel] != nil {
            // One that goes on comes before others: its messages are in memory.
            if through == nil { earlyReady.prepend(channel) } else { earlyReady.append(channel) }
        }
    }

    /// A step has failed and is repeated.
    mutating func failed(_ channel: ChannelName) {
        scanning.remove(channel)
        ready.append(channel)
    }
}
