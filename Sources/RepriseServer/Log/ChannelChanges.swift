import DequeModule
package import RepriseWire

/// A log's changes after a number.
package struct LogChanges: Hashable, Sendable {
    /// The number of the last change, for the next call.
    package var through: Int64
    /// The requested channels that have changed; nil if that is no longer known.
    package var channels: [ChannelName]?
}

/// Remembers which channels of a log have changed, numbered in order, up to a limit.
///
/// Read the number before the data: then no change is missed.
///
/// ```swift
/// let number = changes.last
/// let count = try await read()  // includes all changes up to `number`, perhaps later ones
/// let again = changes.since(number, among: counted.keys)
/// ```
package struct ChannelChanges: Sendable {
    private struct Entry {
        let number: Int64
        let channel: ChannelName
    }

    /// The last change.
    package private(set) var last: Int64 = 0
    private let limit: Int
    /// The number of each channel's last change.
    private var numbers: [ChannelName: Int64] = [:]
    /// Sorted by number; entries that are no longer their channel's last are skipped.
    private var order: Deque<Entry> = []
    /// Changes up to this one may be forgotten.
    private var forgotten: Int64 = 0

    /// - Parameter limit: the most channels remembered.
    package init(limit: Int = PushLimits.notedSlots) { self.limit = max(limit, 1) }

    /// A channel has changed.
    package mutating func note(_ channel: ChannelName) {
        last += 1
        numbers[channel] = last
        order.append(Entry(number: last, channel: channel))
        while numbers.count > limit { forgetOldest() }
        guard order.count > 2 * limit + 1_024 else { return }
        order.removeAll { numbers[$0.channel] != $0.number }
    }

    private mutating func forgetOldest() {
        let entry = order.removeFirst()
        forgotten = entry.number
        if numbers[entry.channel] == entry.number { numbers[entry.channel] = nil }
    }

    /// The channels of a list that have changed after a number; nil if that is no longer known.
    ///
    /// Linear in the channels or in the changes since, whichever are fewer.
    package func since(
        _ number: Int64, among names: Dictionary<ChannelName, Int64>.Keys
    ) -> [ChannelName]? {
        guard number >= forgotten else { return nil }
        if number >= last { return [] }
        if last - number > names.count {
            return names.filter { numbers[$0].map { $0 > number } ?? false }
        }
        var found: [ChannelName] = []
        for entry in order.reversed() {
            guard entry.number > number else { break }
            guard numbers[entry.channel] == entry.number, names.contains(entry.channel) else {
                continue
            }
            found.append(entry.channel)
        }
        return found
    }
}
