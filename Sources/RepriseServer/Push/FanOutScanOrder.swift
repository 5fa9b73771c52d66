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

    private var noted: [ChannelName: [Slot]] = [:]
    /// The channels in the order in which their slots began.
    private var order: [ChannelName] = []
    private var orderStart = 0
    private var ready: [ChannelName] = []
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
        guard order.count - orderStart < PushLimits.notedSlots else { return false }
        noted[channel, default: []].append(Slot(began: now, seq: seq))
        order.append(channel)
        return true
    }

    /// When the next message's grace period ends.
    var due: Duration? {
        guard orderStart < order.count, let slot = noted[order[orderStart]]?.first else {
            return nil
        }
        return slot.began + PushLimits.grace + PushLimits.slot
    }

    /// Marks channels as ready whose grace period is over.
    mutating func takeDue(_ now: Duration) {
        while let due, due <= now {
            let channel = order[orderStart]
            guard let slot = noted[channel]?.first else { preconditionFailure("a slot is lost") }
            orderStart += 1
            noted[channel]?.removeFirst()
            if noted[channel]?.isEmpty == true { noted[channel] = nil }
            if target[channel] == nil { ready.append(channel) }
            target[channel] = max(target[channel] ?? 0, slot.seq)
        }
        guard orderStart > 1_024, orderStart * 2 > order.count else { return }
        order.removeFirst(orderStart)
        orderStart = 0
    }

    /// The next scan, of at most ``PushLimits/scans`` at a time.
    mutating func next() -> (channel: ChannelName, through: Int64)? {
        while walking.count < PushLimits.scans, !ready.isEmpty {
            let channel = ready.removeFirst()
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
