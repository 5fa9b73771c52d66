package import RepriseWire

/// Decides when to report that the user types, and which others do.
///
/// Nothing of it is durable, and all of it ends with the connection. No timer runs while nobody
/// types.
package struct TypingMachine: Sendable {
    package struct Settings: Hashable, Sendable {
        /// The interval of reports while the user types.
        package var again: Duration = WireLimits.typingAgain
        /// How long without a key until the user has stopped.
        package var pause: Duration = .seconds(5)
        /// How long without a report until another user has stopped.
        package var expiry: Duration = WireLimits.typing
    }

    package enum Action: Hashable, Sendable {
        case send(ChannelName, isTyping: Bool)
        /// The users who type now, in the order in which they began.
        case show(ChannelName, [UserID])
    }

    /// The most users that one channel shows; further ones are not shown.
    package static let shown = 20

    private struct Mine { var saidAt: Duration; var keyAt: Duration }
    private struct Other { let user: UserID; var until: Duration }

    private let settings: Settings
    /// The user that the server takes this device for; nil: no connection, or a server without
    /// users.
    private var user: UserID?
    private var mine: [ChannelName: Mine] = [:]
    private var others: [ChannelName: [Other]] = [:]
    private var actions: [Action] = []

    package init(settings: Settings = Settings()) { self.settings = settings }

    /// When to call `timerFired`; nil: nobody types.
    package var due: Duration? {
        let stops = mine.values.map { $0.keyAt + settings.pause }
        let ends = others.values.joined().map(\.until)
        return (stops + ends).min()
    }

    package mutating func connected(as user: UserID?) { self.user = user }

    package mutating func disconnected() -> [Action] {
        user = nil
        mine = [:]
        for channel in others.keys.sorted() { actions.append(.show(channel, [])) }
        others = [:]
        return take()
    }

    /// A channel is no longer subscribed to: it delivers no reports.
    package mutating func left(_ channel: ChannelName) -> [Action] {
        mine[channel] = nil
        if others.removeValue(forKey: channel) != nil { actions.append(.show(channel, [])) }
        return take()
    }

    // MARK: The user

    /// A key was pressed.
    package mutating func typed(in channel: ChannelName, at now: Duration) -> [Action] {
        // No peer would receive it, and later it is no longer true.
        guard user != nil else { return [] }
        if let saidAt = mine[channel]?.saidAt, now - saidAt < settings.again {
            mine[channel]?.keyAt = now
        } else {
            mine[channel] = Mine(saidAt: now, keyAt: now)
            actions.append(.send(channel, isTyping: true))
        }
        return take()
    }

    /// The text was sent or discarded.
    package mutating func stopped(in channel: ChannelName) -> [Action] {
        guard mine.removeValue(forKey: channel) != nil else { return [] }
        actions.append(.send(channel, isTyping: false))
        return take()
    }

    // MARK: Others

    package mutating func typingReceived(
        from other: UserID, in channel: ChannelName, isTyping: Bool, expires: Duration,
        at now: Duration
    ) -> [Action] {
        guard let user, other != user else { return [] }  // another device of the same user
        var list = others[channel] ?? []
        let index = list.firstIndex { $0.user == other }
        // A server cannot make a user type for ever.
        let until = now + min(max(expires, .zero), settings.expiry)
        switch (index, isTyping) {
        case (let index?, true):
            list[index].until = until
            others[channel] = list
            return []
        case (let index?, false): list.remove(at: index)
        case (nil, true) where list.count < Self.shown:
            list.append(Other(user: other, until: until))
        case (nil, _): return []
        }
        show(list, in: channel)
        return take()
    }

    package mutating func timerFired(at now: Duration) -> [Action] {
        for (channel, mine) in mine.sorted(by: { $0.key < $1.key })
        where now >= mine.keyAt + settings.pause {
            self.mine[channel] = nil
            actions.append(.send(channel, isTyping: false))
        }
        for (channel, list) in others.sorted(by: { $0.key < $1.key }) {
            let left = list.filter { now < $0.until }
            if left.count < list.count { show(left, in: channel) }
        }
        return take()
    }

    private mutating func show(_ list: [Other], in channel: ChannelName) {
        others[channel] = list.isEmpty ? nil : list
        actions.append(.show(channel, list.map(\.user)))
    }

    private mutating func take() -> [Action] {
        defer { actions = [] }
        return actions
    }
}
