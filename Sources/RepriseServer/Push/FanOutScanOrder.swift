import DequeModule
import RepriseCore
import RepriseWire

/// Decides which channels are scanned for pushes, and when: after a grace period in which devices
/// receive the message.
struct FanOutScanOrder: Sendable {
    /// Messages of a channel that are scanned for together.
    private struct Slot {
        let began: Duration
        var seq: Int64
    }

    private var noted: [ChannelName: Deque<Slot>] = [:]
    /// The channels in the order in which their slots began.
    private var order: Deque<ChannelName> = []
    private var ready: Deque<ChannelName> = []
    private var target: [ChannelName: Int64] = [:]
    private var walking: Set<ChannelName> = []

    /// A message is durable.
    ///
    /// - Returns: false if the buffer is full: all channels must be scanned.
    mutating func note(_ seq: Int64, in channel: ChannelName, now: Duration) -> Bool {
        if let last = noted[channel]?.indices.last, let slot = noted[channel]?[last],
            now - slot.began < PushLimits.slot
        {
            noted[channel]?[last].seq = max(slot.seq, seq)
            return true
        }
        guard order.count < PushLimits.notedSlots else { return false }
        noted[channel, default: []].append(Slot(began: now, seq: seq))
        order.append(channel)
        return true
    }

    /// When the next message's grace period ends.
    var due: Duration? {
        guard let channel = order.first, let slot = noted[channel]?.first else { return nil }
        return slot.began + PushLimits.grace + PushLimits.slot
    }

    /// Marks channels as ready whose grace period is over.
    mutating func takeDue(_ now: Duration) {
        while let due, due <= now {
            guard let channel = order.popFirst(), let slot = noted[channel]?.popFirst() else {
                preconditionFailure("a slot is lost")
            }
            if noted[channel]?.isEmpty == true { noted[channel] = nil }
            if target[channel] == nil { ready.append(channel) }
            target[channel] = max(target[channel] ?? 0, slot.seq)
        }
    }

    /// The next scan, of at most ``PushLimits/scans`` at a time.
    mutating func next() -> (channel: ChannelName, through: Int64)? {
        while walking.count < PushLimits.scans, let channel = ready.popFirst() {
            guard let through = target[channel], walking.insert(channel).inserted else { continue }
            return (channel, through)
        }
        return nil
    }

    /// A step has ended; the scan continues unless it has reached its target.
    mutating func ended(_ channel: ChannelName, through: Int64?) {
        walking.remove(channel)
        guard let wanted = target[channel] else { return }
        if let through, through >= wanted {
            target[channel] = nil
        } else {
            ready.append(channel)
        }
    }

    /// A step has failed and is repeated.
    mutating func failed(_ channel: ChannelName) {
        walking.remove(channel)
        ready.append(channel)
    }
}
