package import RepriseWire

/// What has changed in a log since a moment.
package struct LogChanges: Hashable, Sendable {
    /// The number of the last change; with it one asks again.
    package var through: Int64
    /// Which of the channels that were asked about have changed; nil if that is not known any more.
    package var channels: [ChannelName]?

    package init(through: Int64, channels: [ChannelName]?) {
        self.through = through
        self.channels = channels
    }
}

/// Remembers which channels of a log have changed, numbered in order, as far back as there is room.
///
/// It says nothing of what a channel holds: whoever counts messages asks it first and reads
/// afterwards, and so misses nothing.
///
/// ```swift
/// let number = changes.last
/// let count = try await read()  // holds all changes up to `number`, perhaps later ones
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
    /// Of each channel the number of its last change.
    private var numbers: [ChannelName: Int64] = [:]
    /// In the order of their numbers; one that is not its channel's last any more is passed over.
    private var order: [Entry] = []
    private var start = 0
    /// Changes up to this one may be forgotten.
    private var forgotten: Int64 = 0

    /// - Parameter limit: how many channels are remembered.
    package init(limit: Int = PushLimits.notedSlots) { self.limit = max(limit, 1) }

    /// A channel has changed.
    package mutating func note(_ channel: ChannelName) {
        last += 1
        numbers[channel] = last
        order.append(Entry(number: last, channel: channel))
        while numbers.count > limit { forgetOldest() }
        guard start > limit || order.count - start > 2 * limit + 1_024 else { return }
        order = order[start...].filter { numbers[$0.channel] == $0.number }
        start = 0
    }

    private mutating func forgetOldest() {
        let entry = order[start]
        start += 1
        forgotten = entry.number
        if numbers[entry.channel] == entry.number { numbers[entry.channel] = nil }
    }

    /// Which of some channels have changed after a number; nil if that is not known any more.
    ///
    /// It takes as long as there are channels, or changes since then, whichever are fewer.
    package func since(
        _ number: Int64, among names: Dictionary<ChannelName, Int64>.Keys
    ) -> [ChannelName]? {
        guard number >= forgotten else { return nil }
        if number >= last { return [] }
        if last - number > names.count {
            return names.filter { numbers[$0].map { $0 > number } ?? false }
        }
        var found: [ChannelName] = []
        for entry in order[start...].reversed() {
            guard entry.number > number else { break }
            guard numbers[entry.channel] == entry.number, names.contains(entry.channel) else {
                continue
            }
            found.append(entry.channel)
        }
        return found
    }
}
