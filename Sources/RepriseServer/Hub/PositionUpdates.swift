package import RepriseWire

/// Decides when a channel's subscribers are sent a user's moved positions: at once, then the newest
/// at most once a tick.
///
/// So a reader who scrolls through a thousand messages costs the others a handful of frames.
package struct PositionUpdates: Sendable {
    /// An event and its recipients.
    package struct Telling: Hashable, Sendable {
        package var channel: ChannelName
        package var position: ServerFrame.Position
        /// The connection that already has it, as the answer to its receipt.
        package var except: UInt64?
        /// Whether the channel is too large to notify all: only the user's own connections are.
        package var isPrivate: Bool

        package init(
            channel: ChannelName, position: ServerFrame.Position, except: UInt64?, isPrivate: Bool
        ) {
            self.channel = channel
            self.position = position
            self.except = except
            self.isPrivate = isPrivate
        }
    }

    private struct Key: Hashable, Sendable {
        let channel: ChannelName
        let user: UserID
    }

    private struct Entry: Sendable {
        var told: ServerFrame.Position
        var waiting: Telling?
    }

    /// The most users and channels remembered for a tick.
    package static let limit = 16_384

    private let limit: Int
    private var entries: [Key: Entry] = [:]

    /// - Parameter limit: the most users and channels remembered for a tick; beyond it each move is
    ///   sent at once.
    package init(limit: Int = PositionUpdates.limit) { self.limit = limit }

    /// A move is durable.
    ///
    /// - Returns: the event to send now, if any.
    package mutating func moved(_ telling: Telling) -> Telling? {
        let key = Key(channel: telling.channel, user: telling.position.user)
        guard var entry = entries[key] else {
            if entries.count < limit { entries[key] = Entry(told: telling.position) }
            return telling
        }
        // Moves of two devices are durable in one order and may arrive in another.
        guard !entry.told.covers(telling.position) else { return nil }
        if var waiting = entry.waiting {
            waiting.position = waiting.position.merged(with: telling.position)
            if waiting.except != telling.except { waiting.except = nil }
            entry.waiting = waiting
        } else {
            entry.waiting = telling
        }
        entries[key] = entry
        return nil
    }

    /// A tick has passed.
    ///
    /// - Returns: the events to send now.
    package mutating func ticked() -> [Telling] {
        guard !entries.isEmpty else { return [] }
        var told: [Telling] = []
        for (key, entry) in entries {
            guard let waiting = entry.waiting else {
                entries[key] = nil
                continue
            }
            entries[key] = Entry(told: entry.told.merged(with: waiting.position))
            told.append(waiting)
        }
        return told
    }
}

extension ServerFrame.Position {
    /// Whether `other` adds nothing.
    func covers(_ other: Self) -> Bool { read >= other.read && delivered >= other.delivered }

    /// The farther of both, for each.
    func merged(with other: Self) -> Self {
        Self(
            user: user, read: max(read, other.read), delivered: max(delivered, other.delivered))
    }
}
