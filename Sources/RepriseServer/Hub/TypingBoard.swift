import DequeModule
package import RepriseWire

/// Decides which users are shown as typing in the channels of one event loop, and until when.
///
/// A user types while any of the user's connections does: until it stops, leaves the channel,
/// disconnects, or has not repeated it for 10 s. Nothing is durable.
package struct TypingBoard: Sendable {
    /// The event for the channel's other subscribers.
    package struct Told: Hashable, Sendable {
        package var channel: ChannelName
        package var user: UserID
        package var isTyping: Bool

        package init(channel: ChannelName, user: UserID, isTyping: Bool) {
            self.channel = channel
            self.user = user
            self.isTyping = isTyping
        }
    }

    /// A connection whose user is typing.
    private struct Source: Sendable {
        var began: Duration
        /// Nil once it has stopped; kept so that the indicator does not flicker.
        var until: Duration?
        /// How often typing has restarted right after a stop.
        var restarts = 0
    }

    private struct Place: Hashable, Sendable {
        let channel: ChannelName
        let user: UserID
        let connection: UInt64
    }

    /// The most restarts before a pause is required.
    static let restarts = 5

    private let limit: Int
    private let lasts: Duration
    private let mayRepeatAfter: Duration
    private var channels: [ChannelName: [UserID: [UInt64: Source]]] = [:]
    /// The queue of expiries; all last equally long, so the order of arrival is the order of
    /// expiry.
    private var due = Deque<(at: Duration, place: Place)>()

    /// - Parameters:
    ///   - limit: the most users of a channel shown as typing at a time.
    ///   - lasts: how long typing is shown.
    ///   - mayRepeatAfter: an earlier repetition is ignored.
    package init(
        limit: Int, lasts: Duration = WireLimits.typing,
        mayRepeatAfter: Duration = WireLimits.typingAgain / 2
    ) {
        self.limit = limit
        self.lasts = lasts
        self.mayRepeatAfter = mayRepeatAfter
    }

    /// Whether no user has typed lately.
    package var isEmpty: Bool { channels.isEmpty }

    /// A subscribed connection reports that its user starts, continues or stops typing.
    package mutating func typed(
        _ isTyping: Bool, by user: UserID, at connection: UInt64, in channel: ChannelName,
        now: Duration
    ) -> Told? {
        guard isTyping else { return stopped(connection, user, channel) }
        var restarts = 0
        if let source = channels[channel]?[user]?[connection], now - source.began < mayRepeatAfter {
            // A user of short messages stops at each and starts the next at once.
            guard source.until == nil, source.restarts < Self.restarts else { return nil }
            restarts = source.restarts + 1
        }
        guard types(user, in: channel) || typists(of: channel) < limit else { return nil }
        let place = Place(channel: channel, user: user, connection: connection)
        channels[channel, default: [:]][user, default: [:]][connection] = Source(
            began: now, until: now + lasts, restarts: restarts)
        due.append((now + lasts, place))
        return Told(channel: channel, user: user, isTyping: true)
    }

    /// A connection has left the channel: by unsubscribing, by a removed membership, or by its end.
    package mutating func left(
        _ connection: UInt64, of user: UserID, in channel: ChannelName
    ) -> Told? {
        guard channels[channel]?[user]?[connection] != nil else { return nil }
        let told = stopped(connection, user, channel)
        remove(Place(channel: channel, user: user, connection: connection))
        return told
    }

    /// Time has passed.
    package mutating func ticked(now: Duration) -> [Told] {
        var told: [Told] = []
        while let first = due.first, first.at <= now {
            due.removeFirst()
            let place = first.place
            guard let source = channels[place.channel]?[place.user]?[place.connection],
                source.began + lasts <= now  // it has not been said again since
            else { continue }
            if let stop = stopped(place.connection, place.user, place.channel) { told.append(stop) }
            remove(place)
        }
        return told
    }

    // MARK: -

    private func types(_ user: UserID, in channel: ChannelName) -> Bool {
        channels[channel]?[user]?.values.contains { $0.until != nil } ?? false
    }

    private func typists(of channel: ChannelName) -> Int {
        channels[channel]?.keys.count { types($0, in: channel) } ?? 0
    }

    private mutating func stopped(
        _ connection: UInt64, _ user: UserID, _ channel: ChannelName
    ) -> Told? {
        guard channels[channel]?[user]?[connection]?.until != nil else { return nil }
        channels[channel]?[user]?[connection]?.until = nil
        guard !types(user, in: channel) else { return nil }
        return Told(channel: channel, user: user, isTyping: false)
    }

    private mutating func remove(_ place: Place) {
        channels[place.channel]?[place.user]?[place.connection] = nil
        if channels[place.channel]?[place.user]?.isEmpty ?? false {
            channels[place.channel]?[place.user] = nil
        }
        if channels[place.channel]?.isEmpty ?? false { channels[place.channel] = nil }
    }
}
