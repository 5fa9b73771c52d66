package import RepriseCore
package import RepriseWire

/// Decides what a gateway of a cluster asks the others about presence, and what it tells them.
///
/// It asks for the users whom its connections watch, and again every ``Settings/renewal``: an ask
/// holds for ``Settings/lease``, and may be lost. Each gateway that hears it tells of its own
/// users: once, with each change, and with each renewal. What was told holds as long as an ask, so
/// a gateway that was killed is forgotten. Where nobody watches, nothing is sent and no timer runs.
package struct PresenceExchange: Sendable {
    package struct Settings: Sendable {
        /// The shortest interval between two messages, but for the parts of one that is split.
        package var interval: Duration = WireLimits.presence
        /// How often all is asked and told again.
        package var renewal: Duration = .seconds(5)
        /// How long an ask holds, and what was told.
        package var lease: Duration = .seconds(15)
        /// The most users who are asked for.
        package var asked = 50_000
        /// The most users for whom all others ask.
        package var wanted = 100_000
        /// The most gateways who tell of one user.
        package var gateways = 64

        package init() {}
    }

    package enum Action: Hashable, Sendable {
        case say(PresenceNews)
        /// What other gateways tell of a user has changed: see ``PresenceBoard/elsewhere(_:now:)``.
        case elsewhere(PresenceBoard.Elsewhere)
    }

    /// What one gateway tells of a user.
    private struct Statement: Sendable {
        var isOnline: Bool
        var heard: WallTime
        var expires: Duration
    }

    private let settings: Settings
    /// Tells this gateway from the others.
    private let number: Int64
    /// The users who are watched here.
    private var subjects: Set<UserID> = []
    /// Those of them for whom nobody was asked yet.
    private var unasked: Set<UserID> = []
    /// The users for whom others ask, and until when.
    private var wanted: [UserID: Duration] = [:]
    /// Those of them who are to be told, and whether also without a connection.
    private var untold: [UserID: Bool] = [:]
    /// By user and gateway; kept as long as it holds, for a watch may end and begin again.
    private var statements: [UserID: [Int64: Statement]] = [:]
    private var saidAt: Duration?
    private var renewsAt: Duration?

    /// - Parameters:
    ///   - number: random, so that no other gateway has it.
    ///   - settings: the bounds.
    package init(number: Int64, settings: Settings = Settings()) {
        (self.number, self.settings) = (number, settings)
    }

    /// When to call ``timerFired(now:here:)``; nil: nothing waits.
    package var due: Duration? {
        let isWaiting = !unasked.isEmpty || !untold.isEmpty
        guard let next = isWaiting ? Duration.zero : renewsAt else { return nil }
        return max(next, saidAt.map { $0 + settings.interval } ?? .zero)
    }

    // MARK: Of this gateway

    /// A user is watched by a connection of this gateway, or by none any more.
    package mutating func watched(_ user: UserID, _ isWatched: Bool, now: Duration) {
        guard isWatched else {
            subjects.remove(user)
            unasked.remove(user)
            return
        }
        guard subjects.count < settings.asked, subjects.insert(user).inserted else { return }
        unasked.insert(user)
        renewLater(now)
    }

    /// The connections of a user at this gateway are others now.
    package mutating func changed(_ user: UserID) {
        if wanted[user] != nil { untold[user] = true }
    }

    // MARK: Of others

    /// Another gateway asks or tells, or this one hears itself.
    package mutating func heard(
        _ news: PresenceNews, now: Duration, wall: WallTime
    ) -> [Action] {
        guard news.sender != number else { return [] }
        for one in news.asked {
            let isKnown = wanted[one.user] != nil
            guard isKnown || wanted.count < settings.wanted else { continue }
            wanted[one.user] = now + settings.lease
            if one.isNew || !isKnown { untold[one.user] = untold[one.user] ?? false }
        }
        let actions = news.told.compactMap { take($0, from: news.sender, now, wall) }
        renewLater(now)
        return actions
    }

    private mutating func take(
        _ told: PresenceNews.Told, from sender: Int64, _ now: Duration, _ wall: WallTime
    ) -> Action? {
        let before = statements[told.user]
        guard before != nil || subjects.contains(told.user) && statements.count < settings.asked
        else { return nil }
        var all = before ?? [:]
        if told.state == .offline {
            all[sender] = nil
        } else {
            guard all[sender] != nil || all.count < settings.gateways else { return nil }
            all[sender] = Statement(
                isOnline: told.state == .online, heard: wall, expires: now + settings.lease)
        }
        statements[told.user] = all.isEmpty ? nil : all
        let (former, state) = (Self.state(before ?? [:]), Self.state(all))
        guard state != former else { return nil }
        let isUse = former == .online || state == .online
        return .elsewhere(.init(told.user, state, seen: isUse ? wall : nil))
    }

    /// Online where any gateway says so.
    private static func state(_ statements: [Int64: Statement]) -> PresenceState? {
        if statements.isEmpty { return nil }
        return statements.values.contains(where: \.isOnline) ? .online : .idle
    }

    // MARK: Time

    /// Time has passed.
    ///
    /// - Parameters:
    ///   - now: the uptime.
    ///   - here: a user, by the connections that this gateway has of him.
    /// - Returns: what is to be done.
    package mutating func timerFired(
        now: Duration, here: (UserID) -> PresenceState
    ) -> [Action] {
        guard let due, due <= now else { return [] }
        let renews = renewsAt.map { $0 <= now } ?? false
        var actions: [Action] = []
        if renews {
            actions = forget(now)
            renewsAt = nil
            renewLater(now)
        }
        let asked = (renews ? subjects : unasked).map {
            PresenceNews.Asked($0, isNew: unasked.contains($0))
        }
        let mayTell = renews ? Array(wanted.keys) : Array(untold.keys)
        let told = mayTell.compactMap { user -> PresenceNews.Told? in
            let state = here(user)
            let isTold = state != .offline || untold[user] == true
            return isTold ? PresenceNews.Told(user, state) : nil
        }
        (unasked, untold) = ([], [:])
        let parts = split(asked[...], told[...])
        if !parts.isEmpty { saidAt = now }
        return actions + parts.map { Action.say($0) }
    }

    /// The server ends: what is left to tell may be told at once.
    package mutating func ended() { saidAt = nil }

    private func split(
        _ asked: ArraySlice<PresenceNews.Asked>, _ told: ArraySlice<PresenceNews.Told>
    ) -> [PresenceNews] {
        var (asked, told, parts) = (asked, told, [PresenceNews]())
        while !asked.isEmpty || !told.isEmpty {
            let first = asked.prefix(PresenceNews.users)
            let rest = told.prefix(PresenceNews.users - first.count)
            parts.append(PresenceNews(from: number, asked: Array(first), told: Array(rest)))
            asked = asked.dropFirst(first.count)
            told = told.dropFirst(rest.count)
        }
        return parts
    }

    /// Forgets what holds no longer.
    private mutating func forget(_ now: Duration) -> [Action] {
        wanted = wanted.filter { $0.value > now }
        untold = untold.filter { wanted[$0.key] != nil }
        var actions: [Action] = []
        for (user, all) in statements {
            let rest = all.filter { $0.value.expires > now }
            guard rest.count < all.count else { continue }
            statements[user] = rest.isEmpty ? nil : rest
            guard Self.state(rest) != Self.state(all) else { continue }
            let seen = all.values.filter(\.isOnline).map(\.heard).max()
            actions.append(
                .elsewhere(.init(user, Self.state(rest), seen: seen, isLost: rest.isEmpty)))
        }
        return actions
    }

    private mutating func renewLater(_ now: Duration) {
        guard renewsAt == nil, !subjects.isEmpty || !wanted.isEmpty || !statements.isEmpty else {
            return
        }
        renewsAt = now + settings.renewal
    }
}
