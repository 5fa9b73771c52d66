package import RepriseWire

/// Decides which channels' presence the server is asked for, and what is known of it.
///
/// Nothing of it is durable, and all that is known ends with the connection.
package struct PresenceMachine: Sendable {
    package enum Action: Hashable, Sendable {
        case send(ClientFrame)
        /// What is known for the looks of a channel may be otherwise.
        case show(ChannelName)
    }

    /// A channel that somebody looks at.
    private struct Channel: Sendable {
        /// How many look at all members.
        var all = 0
        /// How many look at a member by name.
        var named: [UserID: Int] = [:]
        /// The members who are shown by the newest answer; nil: none has come.
        var shown: [UserID]?
        /// Why the newest answer shows nobody.
        var refusal: RefusalCode?
        /// All have been asked for, and are too many: only those are who are named.
        var isTooLarge = false

        var isEmpty: Bool { all == 0 && named.isEmpty }
    }

    private var channels: [ChannelName: Channel] = [:]
    private var users: [UserID: UserPresence] = [:]
    private var isConnected = false
    private var isOffered = false
    private var isIdle = false
    private var isInBackground: Bool
    /// As the server was told on this connection; nil: by its hello, which a former one ignores.
    private var toldIdle: Bool? = false
    /// Whether the hello of this connection says that the device is not in use.
    private var greetsIdle = false
    private var asked: [ClientFrame.Watch] = []

    /// - Parameter isInBackground: whether the app is, as long as it has not said where it is: the
    ///   system may have launched it unseen.
    package init(isInBackground: Bool = false) { self.isInBackground = isInBackground }

    // MARK: The connection

    /// A connection begins.
    ///
    /// - Returns: whether its hello says that the device is not in use.
    package mutating func dialed() -> Bool {
        greetsIdle = isUnused
        return greetsIdle
    }

    /// The server has welcomed this device.
    ///
    /// - Parameter isOffered: whether it tells presence.
    /// - Returns: what is asked and said now.
    package mutating func connected(isOffered: Bool) -> [Action] {
        (isConnected, self.isOffered) = (true, isOffered)
        (toldIdle, asked) = (greetsIdle ? nil : false, [])
        return tell() + ask() + (isOffered ? [] : showAll)
    }

    package mutating func disconnected() -> [Action] {
        (isConnected, users) = (false, [:])
        for name in channels.keys {
            channels[name]?.shown = nil
            channels[name]?.refusal = nil
            channels[name]?.isTooLarge = false
        }
        return showAll
    }

    /// The server has told presence.
    package mutating func received(_ presence: ServerFrame.Presence) -> [Action] {
        guard isConnected else { return [] }
        guard let name = presence.channel else {
            // Those who are known are looked at.
            for user in presence.users where users[user.user] != nil { users[user.user] = user }
            let changed = Set(presence.users.map(\.user))
            return channels.filter { $0.value.shown?.contains(where: changed.contains) ?? false }
                .keys.sorted().map { .show($0) }
        }
        guard channels[name] != nil else { return [] }
        channels[name]?.shown = presence.refusal == nil ? presence.users.map(\.user) : nil
        channels[name]?.refusal = presence.refusal
        for user in presence.users { users[user.user] = user }
        if let watch = asked.first(where: { $0.channel == name }), watch.users == nil {
            channels[name]?.isTooLarge = presence.refusal == .tooManyMembers
        }
        forgetOthers()
        return ask() + [.show(name)]
    }

    // MARK: The app

    /// Somebody looks at a channel: at all members, or for names at those.
    package mutating func began(_ name: ChannelName, _ names: Set<UserID>?) -> [Action] {
        var channel = channels[name] ?? Channel()
        if names == nil { channel.all += 1 }
        for user in names ?? [] { channel.named[user, default: 0] += 1 }
        channels[name] = channel
        return ask()
    }

    /// He looks no more.
    package mutating func ended(_ name: ChannelName, _ names: Set<UserID>?) -> [Action] {
        guard var channel = channels[name] else { return [] }
        if names == nil { channel.all -= 1 }
        for user in names ?? [] {
            let count = channel.named[user, default: 1] - 1
            channel.named[user] = count > 0 ? count : nil
        }
        channels[name] = channel.isEmpty ? nil : channel
        forgetOthers()
        return ask()
    }

    /// The user does nothing, or does something again.
    package mutating func idleChanged(_ isIdle: Bool) -> [Action] {
        self.isIdle = isIdle
        return tell()
    }

    /// The app is in the background, or in the foreground again.
    package mutating func phaseChanged(isInBackground: Bool) -> [Action] {
        self.isInBackground = isInBackground
        return tell()
    }

    /// What is known for a look.
    package func presence(of name: ChannelName, _ names: Set<UserID>?) -> ChannelPresence {
        guard isConnected else { return .unknown }
        guard isOffered else { return .refused(.notOffered) }
        guard let channel = channels[name] else { return .unknown }
        if names == nil, channel.isTooLarge { return .refused(.tooManyMembers) }
        if let refusal = channel.refusal { return .refused(refusal) }
        guard let shown = channel.shown else {
            return asked.contains { $0.channel == name } ? .unknown : .refused(.tooManyChannels)
        }
        var known: [UserID: UserPresence] = [:]
        for user in shown where names?.contains(user) ?? true { known[user] = users[user] }
        return .known(known)
    }

    // MARK: -

    /// Whether the device is not in use.
    private var isUnused: Bool { isIdle || isInBackground }

    private var showAll: [Action] { channels.keys.sorted().map { .show($0) } }

    private mutating func forgetOthers() {
        let shown = Set(channels.values.flatMap { $0.shown ?? [] })
        users = users.filter { shown.contains($0.key) }
    }

    private mutating func tell() -> [Action] {
        guard isConnected, isOffered, isUnused != toldIdle else { return [] }
        toldIdle = isUnused
        return [.send(.presence(isUnused ? .idle : .online))]
    }

    /// Asks for what is looked at, if it is not what was asked for last.
    private mutating func ask() -> [Action] {
        guard isConnected, isOffered else { return [] }
        let all = channels.sorted { $0.key < $1.key }.compactMap { watch($0.key, $0.value) }
        let wanted = Array(all.prefix(WireLimits.watchedChannels))
        guard wanted != asked else { return [] }
        let former = asked
        asked = wanted
        var actions = [Action.send(.watch(asked))]
        for watch in asked where !former.contains(watch) {
            // What is known of it stays until the answer.
            channels[watch.channel]?.refusal = nil
            actions.append(.show(watch.channel))
        }
        for watch in all.dropFirst(WireLimits.watchedChannels) where former.contains(watch) {
            channels[watch.channel]?.shown = nil
            actions.append(.show(watch.channel))
        }
        return actions
    }

    private func watch(_ name: ChannelName, _ channel: Channel) -> ClientFrame.Watch? {
        if channel.all > 0, !channel.isTooLarge { return ClientFrame.Watch(channel: name) }
        guard !channel.named.isEmpty else {
            // The server says when they are fewer.
            return channel.all > 0 ? ClientFrame.Watch(channel: name) : nil
        }
        let names = channel.named.keys.sorted().prefix(WireLimits.watchedUsers)
        return ClientFrame.Watch(channel: name, users: Array(names))
    }
}
