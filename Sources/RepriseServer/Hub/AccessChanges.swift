package import RepriseWire

/// Remembers of which channels the grants of all users have changed, for an event loop.
///
/// A connection compares a grant with it when it uses the grant, so that a change costs the same
/// however many connections there are. It is bounded: at the limit the channels are forgotten, and
/// every grant from before counts as changed.
package struct AccessChanges {
    /// The most channels that are remembered.
    package static let limit = 16_384

    private let limit: Int
    private var newest: [ChannelName: Int] = [:]
    /// The changes that every channel may have had.
    private var forgotten = 0
    /// The number of changes so far.
    package private(set) var count = 0

    package init(limit: Int = Self.limit) { self.limit = limit }

    /// The grants of all users in a channel have changed.
    package mutating func changed(_ channel: ChannelName) {
        count += 1
        if newest[channel] == nil, newest.count >= limit {
            newest = [:]
            forgotten = count
        }
        newest[channel] = count
    }

    /// Whether a grant that was asked for after so many changes may have changed since.
    package func includes(_ channel: ChannelName, since asked: Int) -> Bool {
        asked < count && asked < max(forgotten, newest[channel] ?? 0)
    }
}
