import Foundation
import RepriseCore
public import RepriseWire
import Synchronization

/// Users: their tokens, the channels that are theirs alone, and how far they have read.
extension MemoryServer {
    // MARK: Tokens

    /// A token of a user, who is known from now on.
    ///
    /// - Parameter user: the name.
    /// - Returns: the newest token that was not revoked, or a new one.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for a name that no user has.
    public func token(for user: String) throws -> String {
        let user = try UserID(user)
        return try state.withLock { state in
            let known = state.tokens?.filter { $0.value == user }.map(\.key.secret).max()
            if let known { return known }
            state.issued += 1
            let name = user.text.utf8.map { String($0, radix: 16) }.joined()
            let token = try AccessToken("test.\(name).\(state.issued)")
            state.tokens = (state.tokens ?? [:]).merging([token: user]) { $1 }
            return token.secret
        }
    }

    /// Refuses all tokens of a user from now on, and ends the user's connections; ``token(for:)``
    /// gives a new one.
    public func revokeTokens(of user: String) {
        let ended = state.withLock { state in
            state.tokens = state.tokens?.filter { $0.value.text != user }
            let ids = state.users.filter { $0.value.text == user }.map(\.key)
            for id in ids { (state.users[id], state.subscriptions[id]) = (nil, nil) }
            return ids.compactMap { state.connections.removeValue(forKey: $0) }
        }
        for connection in ended { connection.socket.end(code: CloseCode.unauthorized.number) }
    }

    /// How long after its greeting a connection's token is valid: a day.
    public var tokenLifetime: Duration {
        get { state.withLock { $0.lifetime } }
        set { state.withLock { $0.lifetime = newValue } }
    }

    // MARK: Members

    /// Makes a channel private, and sets who may read and publish in it; others are refused from
    /// now on, as by the real server.
    ///
    /// A channel that was never named here is open to every user.
    ///
    /// - Parameters:
    ///   - users: the members; none: nobody.
    ///   - channel: the channel.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`, `.malformed`.
    public func setMembers(_ users: [String], of channel: String) throws {
        let channel = try ChannelName(channel)
        let users = Set(try users.map { try UserID($0) })
        state.withLock { state in
            setMembers(users, of: channel, &state)
            for (id, channels) in state.subscriptions
            where channels.contains(channel) && !mayUse(channel, state.users[id], state) {
                state.subscriptions[id]?.remove(channel)
                refuse(channel, of: id, &state)
            }
        }
    }

    static var forbidden: String { "This channel is not there, or not for this user." }

    /// Gives a channel a title, and tells its members.
    ///
    /// - Parameters:
    ///   - title: nil: none.
    ///   - channel: the channel.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    public func setTitle(_ title: String?, of channel: String) throws {
        let channel = try ChannelName(channel)
        state.withLock { state in setTitle(title, of: channel, &state) }
    }

    func setMembers(_ users: Set<UserID>, of channel: ChannelName, _ state: inout State) {
        let changed = users.symmetricDifference(state.members[channel] ?? [])
        state.members[channel] = users
        for user in changed.sorted(by: { $0.text < $1.text }) { tell(user, of: channel, &state) }
    }

    func setTitle(_ title: String?, of channel: ChannelName, _ state: inout State) {
        state.titles[channel] = title
        for user in (state.members[channel] ?? []).sorted(by: { $0.text < $1.text }) {
            tell(user, of: channel, &state)
        }
    }

    /// Sets what a user is called.
    ///
    /// - Parameters:
    ///   - profile: all of it.
    ///   - user: the user.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    public func setProfile(_ profile: Profile, of user: String) throws {
        try profile.validate()
        let user = try UserID(user)
        state.withLock { set(profile, of: user, &$0) }
    }

    func set(_ profile: Profile, of user: UserID, _ state: inout State) {
        state.profiles[user] = profile
        let shared = state.members.filter { $0.value.contains(user) }.sorted { $0.key < $1.key }
        for (channel, members) in shared {
            for other in members.subtracting([user]).sorted(by: { $0.text < $1.text }) {
                tell(other, of: channel, &state)
            }
        }
    }

    /// Tells a user in the directory what a channel is to him, as the real server does.
    func tell(_ user: UserID, of channel: ChannelName, _ state: inout State) {
        var entry = DirectoryEntry(conversation: channel)
        let members = state.members[channel] ?? []
        if members.contains(user) {
            entry.role = "member"
            entry.joined = 0
            entry.since = state.time
            entry.visibility = "private"
            entry.title = state.titles[channel]
            entry.members = Int64(members.count)
            entry.others = members.subtracting([user]).map(\.text).sorted()
            let known = members.subtracting([user]).compactMap { other in
                state.profiles[other].map { (other.text, $0) }
            }
            if !known.isEmpty { entry.profiles = Dictionary(uniqueKeysWithValues: known) }
            if let mute = state.settings[user]?.mutedChannels[channel.text] {
                (entry.muted, entry.mutedUntil) = (true, mute)
            }
            entry.archived = state.settings[user]?.archived[channel.text]
        } else {
            entry.left = true
        }
        let json = String(decoding: (try? JSONEncoder().encode(entry)) ?? Data(), as: UTF8.self)
        _ = store(
            json, in: .directory(of: user), id: .random(), from: nil, change: nil, &state)
    }

    func mayUse(_ channel: ChannelName, _ user: UserID?, _ state: State) -> Bool {
        if channel.isDirectory { return user.map { .directory(of: $0) == channel } ?? false }
        guard let members = state.members[channel] else { return true }
        return user.map(members.contains) ?? false
    }

    func refuse(_ channel: ChannelName, of id: Int, _ state: inout State) {
        let refused = ServerFrame.Refused(
            channel: channel.text, id: nil, code: .forbidden, message: Self.forbidden)
        push([.refused(refused)], to: id, &state)
    }

    // MARK: Positions

    /// How far users have read a channel, and received it.
    public func positions(of channel: String) -> [ServerFrame.Position] {
        state.withLock { state in
            guard let name = try? ChannelName(channel) else { return [] }
            return state.positions[name, default: [:]].values.sorted { $0.user < $1.user }
        }
    }

    /// How many messages a user has not read in a channel, as the real server counts.
    public func unread(of channel: String, for user: String) -> Int {
        state.withLock { state in
            guard let name = try? ChannelName(channel), let user = try? UserID(user) else {
                return 0
            }
            return Int(unread(in: name, for: user, state).count)
        }
    }

    func position(of user: UserID, in channel: ChannelName, _ state: State) -> ServerFrame.Position
    {
        state.positions[channel]?[user] ?? .init(user: user, read: 0, delivered: 0)
    }

    func move(_ receipt: ClientFrame.Receipt, from id: Int, _ state: inout State) {
        guard let user = state.users[id], !state.faults.losesReceipts else { return }
        let head = state.logs[receipt.channel]?.head ?? 0
        var position = position(of: user, in: receipt.channel, state)
        let former = position.read
        position.read = max(position.read, min(receipt.read ?? 0, head))
        position.delivered = max(
            position.delivered, min(receipt.delivered ?? 0, head), position.read)
        state.positions[receipt.channel, default: [:]][user] = position
        if position.read > former, state.settings[user]?.isSilentElsewhere == true,
            let device = state.devices[id]
        {
            if clock != nil { tick(&state) }
            state.readings[user, default: [:]][device] = WallTime(milliseconds: state.time)
        }
        let frame = ServerFrame.receipt(channel: receipt.channel, position)
        send([frame], toSubscribersOf: receipt.channel, &state)
        // The answer comes to one that has not subscribed, too.
        if state.subscriptions[id]?.contains(receipt.channel) != true {
            push([frame], to: id, &state)
        }
    }

    func positions(in channel: ChannelName, for user: UserID, _ state: State)
        -> ServerFrame.Positions
    {
        let others = state.positions[channel, default: [:]].values.filter { $0.user != user }
            .sorted { $0.user < $1.user }.prefix(WireLimits.positions - 1)
        return .init(
            channel: channel, positions: [position(of: user, in: channel, state)] + others,
            unread: unread(in: channel, for: user, state))
    }

    func unread(in channel: ChannelName, for user: UserID, _ state: State) -> Unread {
        let log = state.logs[channel]
        let read = position(of: user, in: channel, state).read
        let start = Unread.start(read: read, joined: 0, floor: log?.floor ?? 0)
        let unread = (log?.events ?? []).filter {
            $0.seq > start && $0.from != user && !$0.isDeleted && $0.change == nil
        }
        let mentions = unread.count { Mentions(in: $0.body).contains(user) }
        return Unread(
            count: min(Int64(unread.count), WireLimits.unreadCounted), head: log?.head ?? 0,
            mentions: min(Int64(mentions), WireLimits.unreadCounted))
    }

    // MARK: Typing

    func typed(_ isTyping: Bool, in channel: ChannelName, by id: Int, _ state: inout State) {
        guard let user = state.users[id] else { return }
        for (other, channels) in state.subscriptions
        where other != id && channels.contains(channel) {
            push(
                [
                    .typing(
                        channel: channel, user: user, isTyping: isTyping,
                        expires: isTyping ? WireLimits.typing : .zero)
                ], to: other, &state)
        }
    }
}
