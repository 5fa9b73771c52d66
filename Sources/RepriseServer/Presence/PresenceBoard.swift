import DequeModule
package import RepriseCore
package import RepriseWire

/// Decides which connections are told whose presence, and when.
///
/// A user whom nobody watches is two numbers here, and causes no timer and no frame. Changes of
/// watched users are gathered: a connection is told at most once in an interval, the newest of
/// each. Nothing is durable but when a user was seen last, which ``takeSeen(now:)`` gives in
/// batches. In a cluster ``PresenceExchange`` brings what other gateways tell.
package struct PresenceBoard: Sendable {
    package struct Settings: Sendable {
        /// The shortest interval between two frames of changes, and two looks into the accounts,
        /// of a connection.
        package var interval: Duration = WireLimits.presence
        /// How long a watched user without a connection counts as there: he may only reconnect.
        package var grace: Duration = .seconds(5)
        /// The shortest interval between two writes of when users were seen.
        package var betweenWrites: Duration = .seconds(30)

        package init() {}
    }

    package enum Action: Hashable, Sendable {
        /// Read what the accounts say of watched channels; ``looked(_:_:now:)`` follows.
        case look(connection: UInt64, user: UserID, [ClientFrame.Watch])
        case send(connection: UInt64, ServerFrame.Presence)
    }

    /// A member, as the accounts have him.
    package struct Member: Hashable, Sendable {
        package var user: UserID
        package var isHidden: Bool
        package var seen: WallTime?

        package init(_ user: UserID, isHidden: Bool = false, seen: WallTime? = nil) {
            (self.user, self.isHidden, self.seen) = (user, isHidden, seen)
        }
    }

    /// What the accounts say of a watched channel.
    package struct Sight: Hashable, Sendable {
        package var channel: ChannelName
        /// Those who are shown.
        package var members: [Member]
        /// Why nobody is; nil: they are.
        package var refusal: RefusalCode?

        package init(
            _ channel: ChannelName, _ members: [Member] = [], refusal: RefusalCode? = nil
        ) {
            (self.channel, self.members, self.refusal) = (channel, members, refusal)
        }
    }

    /// What the other gateways of a cluster tell of a user, once it has changed.
    package struct Elsewhere: Hashable, Sendable {
        package var user: UserID
        /// Nil: he has no connection there, as far as it is known.
        package var state: PresenceState?
        /// When he was there last, by what has changed; nil: it shows no use.
        package var seen: WallTime?
        /// Whether it is nil since they are not heard any more.
        package var isLost: Bool

        package init(
            _ user: UserID, _ state: PresenceState?, seen: WallTime?, isLost: Bool = false
        ) {
            (self.user, self.state, self.seen, self.isLost) = (user, state, seen, isLost)
        }
    }

    /// The connections of a user.
    private struct Connections: Sendable {
        var online: Int32 = 0
        var idle: Int32 = 0
    }

    /// A watched user.
    private struct Subject: Sendable {
        /// What those who watch him were told.
        var told: UserPresence
        var isHidden: Bool
        var seen: WallTime?
        /// When he counts as gone, after his last connection.
        var leavesAt: Duration?
        /// By connection, in how many of its channels.
        var watchers: [UInt64: Int] = [:]
    }

    /// A connection that watches, or did: so that it cannot look more often by watching anew.
    private struct Watcher: Sendable {
        let user: UserID
        var wanted: [ChannelName: ClientFrame.Watch] = [:]
        /// The users who are shown, of each channel that was answered.
        var shown: [ChannelName: [UserID]] = [:]
        /// The channels that are to be looked at.
        var unread: Set<ChannelName> = []
        /// The channels of the look under way; nil: there is none.
        var looking: Set<ChannelName>?
        /// The number of settings changed before that.
        var changes = 0
        var lookedAt: Duration?
    }

    private let settings: Settings
    private var users: [UserID: Connections] = [:]
    private var subjects: [UserID: Subject] = [:]
    /// What other gateways tell.
    private var others: [UserID: PresenceState] = [:]
    /// The users who may be watched, or not, other than before.
    private var rewatched: Set<UserID> = []
    private var watchers: [UInt64: Watcher] = [:]
    /// Those who watch a channel.
    private var channels: [ChannelName: Set<UInt64>] = [:]
    /// The watched channels that nobody has looked at since a change: another one tells nothing.
    private var stale: Set<ChannelName> = []
    /// Subjects who may be otherwise than was told.
    private var changed: Set<UserID> = []
    /// Watchers who have something to look at, and did so a moment ago.
    private var waiting: Set<UInt64> = []
    /// All wait equally long, so the order of arrival is the order in which they leave.
    private var leaving = Deque<(at: Duration, user: UserID)>()
    private var flushedAt: Duration?
    private var seen: [UserID: WallTime] = [:]
    private var wroteAt: Duration?
    /// How often somebody has begun or ceased to hide.
    private var changes = 0

    package init(settings: Settings = Settings()) { self.settings = settings }

    /// The number of connections that watch.
    package var watcherCount: Int { watchers.values.count { !$0.wanted.isEmpty } }

    /// When to call ``timerFired(now:)``; nil: nothing waits.
    package var due: Duration? {
        let hasChanges = !changed.isEmpty || !waiting.isEmpty
        let flush = flushedAt.map { $0 + settings.interval } ?? .zero
        return [hasChanges ? flush : nil, leaving.first?.at].compactMap(\.self).min()
    }

    /// When to call ``takeSeen(now:)``; nil: nothing is to be written.
    package var seenDue: Duration? {
        guard !seen.isEmpty else { return nil }
        return wroteAt.map { $0 + settings.betweenWrites } ?? .zero
    }

    // MARK: Users

    /// A connection of a user was welcomed; one that begins idle is not used by him.
    package mutating func connected(_ user: UserID, isIdle: Bool = false, wall: WallTime) {
        users[user, default: Connections()].online += isIdle ? 0 : 1
        users[user]?.idle += isIdle ? 1 : 0
        noted(user, isIdle ? nil : wall)
    }

    /// A connection is in use again, or idle; each says it only when it was otherwise.
    package mutating func reported(_ user: UserID, isIdle: Bool, wall: WallTime) {
        users[user]?.online += isIdle ? -1 : 1
        users[user]?.idle += isIdle ? 1 : -1
        noted(user, wall)
    }

    /// A connection of a user has ended.
    package mutating func left(
        _ user: UserID, wasIdle: Bool, now: Duration, wall: WallTime
    ) {
        guard var connections = users[user] else { return }
        if wasIdle { connections.idle -= 1 } else { connections.online -= 1 }
        let isGone = connections.online + connections.idle <= 0
        users[user] = isGone ? nil : connections
        noted(user, wasIdle ? nil : wall)
        if isGone { leaves(user, now) }
    }

    /// A user without a connection anywhere: he may only reconnect.
    private mutating func leaves(_ user: UserID, _ now: Duration) {
        guard users[user] == nil, others[user] == nil, subjects[user] != nil else { return }
        subjects[user]?.leavesAt = now + settings.grace
        leaving.append((now + settings.grace, user))
    }

    /// Other gateways of the cluster tell of a user; who was lost there is gone at once.
    package mutating func elsewhere(_ news: Elsewhere, now: Duration) {
        let user = news.user
        others[user] = news.state
        guard let subject = subjects[user] else { return }
        let seen = [subject.seen, news.seen].compactMap(\.self).max()
        subjects[user]?.seen = seen
        subjects[user]?.leavesAt = nil
        changed.insert(user)
        if !news.isLost { return leaves(user, now) }
        // Nobody else writes it.
        if users[user] == nil, !subject.isHidden, let seen { self.seen[user] = seen }
    }

    /// A user, by the connections that this server has of him.
    package func state(of user: UserID) -> PresenceState {
        guard let connections = users[user] else { return .offline }
        return connections.online > 0 ? .online : .idle
    }

    /// A user begins or ceases to hide.
    package mutating func hid(_ user: UserID, _ isHidden: Bool) {
        changes += 1
        // Nor is it told later when he was there while he hid.
        seen[user] = nil
        guard subjects[user] != nil else { return }
        subjects[user]?.isHidden = isHidden
        subjects[user]?.seen = nil
        if isHidden { subjects[user]?.leavesAt = nil }
        changed.insert(user)
    }

    /// Connections of a user have changed, at `used` by his own doing; nil: by nothing that he did.
    private mutating func noted(_ user: UserID, _ used: WallTime?) {
        if let used, subjects[user]?.isHidden != true { seen[user] = used }
        guard subjects[user] != nil else { return }
        if users[user] != nil { subjects[user]?.leavesAt = nil }
        if let used { subjects[user]?.seen = used }
        changed.insert(user)
    }

    /// What a watcher is shown; nil: a moment ago there was a connection, and nothing has changed.
    private func current(
        of user: UserID, isHidden: Bool, seen: WallTime?, leavesAt: Duration?, now: Duration
    ) -> UserPresence? {
        if isHidden { return UserPresence(user: user, state: .offline) }
        let (here, elsewhere) = (state(of: user), others[user])
        if here == .online || elsewhere == .online {
            return UserPresence(user: user, state: .online)
        }
        if here == .idle || elsewhere == .idle { return UserPresence(user: user, state: .idle) }
        if let leavesAt, now < leavesAt { return nil }
        return UserPresence(user: user, state: .offline, seen: seen)
    }

    // MARK: Watching

    /// A connection shows the presence of these channels from now on, and of no others.
    package mutating func watched(
        _ wanted: [ClientFrame.Watch], by connection: UInt64, of user: UserID, now: Duration
    ) -> [Action] {
        var watcher = watchers.removeValue(forKey: connection) ?? Watcher(user: user)
        let wanted = Dictionary(wanted.map { ($0.channel, $0) }) { $1 }
        for (channel, watch) in watcher.wanted where wanted[channel] != watch {
            forget(channel, &watcher, connection)
            watcher.unread.remove(channel)
            watcher.looking?.remove(channel)
            leave(channel, connection)
        }
        for (channel, watch) in wanted where watcher.wanted[channel] != watch {
            watcher.unread.insert(channel)
            channels[channel, default: []].insert(connection)
        }
        watcher.wanted = wanted
        let action = look(connection, &watcher, now)
        watchers[connection] = watcher
        if action == nil { wait(connection) }
        return [action].compactMap(\.self)
    }

    /// The accounts were looked at for a connection; nil: they could not be read, and are again.
    package mutating func looked(
        _ connection: UInt64, _ sights: [Sight]?, now: Duration
    ) -> [Action] {
        guard let looking = watchers[connection]?.looking,
            var watcher = watchers.removeValue(forKey: connection)
        else { return [] }
        watcher.looking = nil
        var actions: [Action] = []
        // What was read may be of before a change.
        if let sights, watcher.changes == changes {
            for sight in sights
            where looking.contains(sight.channel) && !watcher.unread.contains(sight.channel) {
                actions.append(
                    .send(connection: connection, show(sight, to: &watcher, connection, now)))
            }
        } else {
            watcher.unread.formUnion(looking)
        }
        watchers[connection] = watcher
        wait(connection)
        return actions
    }

    /// A connection has ended.
    package mutating func ended(_ connection: UInt64) {
        guard var watcher = watchers.removeValue(forKey: connection) else { return }
        waiting.remove(connection)
        for channel in watcher.wanted.keys {
            forget(channel, &watcher, connection)
            leave(channel, connection)
        }
    }

    private mutating func leave(_ channel: ChannelName, _ connection: UInt64) {
        channels[channel]?.remove(connection)
        guard channels[channel]?.isEmpty ?? false else { return }
        channels[channel] = nil
        stale.remove(channel)
    }

    /// The members of a channel have changed, or may have: nothing is told of it before it was
    /// looked at again.
    package mutating func membersChanged(in channel: ChannelName) {
        guard let watching = channels[channel], stale.insert(channel).inserted else { return }
        for connection in watching {
            guard var watcher = watchers.removeValue(forKey: connection) else { continue }
            forget(channel, &watcher, connection)
            watcher.unread.insert(channel)
            watchers[connection] = watcher
            wait(connection)
        }
    }

    /// A connection was not told something: all of its channels are looked at again.
    package mutating func missed(by connection: UInt64) {
        guard var watcher = watchers.removeValue(forKey: connection) else { return }
        for channel in watcher.wanted.keys { forget(channel, &watcher, connection) }
        watcher.unread = Set(watcher.wanted.keys)
        watchers[connection] = watcher
        wait(connection)
    }

    private mutating func wait(_ connection: UInt64) {
        guard let watcher = watchers[connection], watcher.looking == nil, !watcher.unread.isEmpty
        else { return }
        waiting.insert(connection)
    }

    private mutating func look(
        _ connection: UInt64, _ watcher: inout Watcher, _ now: Duration
    ) -> Action? {
        guard watcher.looking == nil, !watcher.unread.isEmpty,
            watcher.lookedAt.map({ now >= $0 + settings.interval }) ?? true
        else { return nil }
        let watches = watcher.unread.sorted().compactMap { watcher.wanted[$0] }
        watcher.looking = watcher.unread
        stale.subtract(watcher.unread)
        watcher.unread = []
        watcher.lookedAt = now
        watcher.changes = changes
        return .look(connection: connection, user: watcher.user, watches)
    }

    private mutating func show(
        _ sight: Sight, to watcher: inout Watcher, _ connection: UInt64, _ now: Duration
    ) -> ServerFrame.Presence {
        watcher.shown[sight.channel] = sight.members.map(\.user)
        var users: [UserPresence] = []
        for member in sight.members {
            if subjects[member.user] == nil { rewatched.insert(member.user) }
            var subject = subjects[member.user] ?? makeSubject(member, now)
            subject.watchers[connection, default: 0] += 1
            subjects[member.user] = subject
            users.append(subject.told)
        }
        return .init(channel: sight.channel, users: users, refusal: sight.refusal)
    }

    private func makeSubject(_ member: Member, _ now: Duration) -> Subject {
        let seen = [member.seen, seen[member.user]].compactMap(\.self).max()
        let told = current(
            of: member.user, isHidden: member.isHidden, seen: seen, leavesAt: nil, now: now)
        return Subject(
            told: told ?? UserPresence(user: member.user, state: .offline),
            isHidden: member.isHidden, seen: member.isHidden ? nil : seen)
    }

    private mutating func forget(
        _ channel: ChannelName, _ watcher: inout Watcher, _ connection: UInt64
    ) {
        for user in watcher.shown.removeValue(forKey: channel) ?? [] {
            guard let count = subjects[user]?.watchers[connection] else { continue }
            subjects[user]?.watchers[connection] = count > 1 ? count - 1 : nil
            guard subjects[user]?.watchers.isEmpty ?? false else { continue }
            subjects[user] = nil
            changed.remove(user)
            rewatched.insert(user)
        }
    }

    /// The users of whom the first has begun to watch or the last has ceased to since the last
    /// call, and whether they are watched now.
    package mutating func takeWatches() -> [UserID: Bool] {
        guard !rewatched.isEmpty else { return [:] }
        defer { rewatched = [] }
        return Dictionary(uniqueKeysWithValues: rewatched.map { ($0, subjects[$0] != nil) })
    }

    // MARK: Time

    /// Time has passed.
    package mutating func timerFired(now: Duration) -> [Action] {
        while let first = leaving.first, first.at <= now {
            leaving.removeFirst()
            if subjects[first.user]?.leavesAt == first.at { changed.insert(first.user) }
        }
        guard !changed.isEmpty || !waiting.isEmpty,
            flushedAt.map({ now >= $0 + settings.interval }) ?? true
        else { return [] }
        flushedAt = now
        return tellChanges(now) + lookAgain(now)
    }

    private mutating func tellChanges(_ now: Duration) -> [Action] {
        var news: [UInt64: [UserPresence]] = [:]
        for user in changed {
            guard let subject = subjects[user],
                let presence = current(
                    of: user, isHidden: subject.isHidden, seen: subject.seen,
                    leavesAt: subject.leavesAt, now: now),
                presence != subject.told
            else { continue }
            subjects[user]?.told = presence
            for connection in subject.watchers.keys {
                news[connection, default: []].append(presence)
            }
        }
        changed = []
        var actions: [Action] = []
        for (connection, users) in news.sorted(by: { $0.key < $1.key }) {
            let users = users.sorted { $0.user < $1.user }
            for start in stride(from: 0, to: users.count, by: WireLimits.presentUsers) {
                let end = min(start + WireLimits.presentUsers, users.count)
                let part = ServerFrame.Presence(users: Array(users[start..<end]))
                actions.append(.send(connection: connection, part))
            }
        }
        return actions
    }

    private mutating func lookAgain(_ now: Duration) -> [Action] {
        var actions: [Action] = []
        let candidates = waiting.sorted()
        waiting = []
        for connection in candidates {
            guard var watcher = watchers.removeValue(forKey: connection) else { continue }
            if let action = look(connection, &watcher, now) { actions.append(action) }
            watchers[connection] = watcher
            wait(connection)
        }
        return actions
    }

    /// When users were seen last, of those who were since the last call.
    package mutating func takeSeen(now: Duration) -> [UserID: WallTime] {
        wroteAt = now
        defer { seen = [:] }
        return seen
    }
}
