import RepriseCore
import RepriseServer
import RepriseWire

/// Watches from outside who gets what.
///
/// - Nobody is sent, or has in the end, what was published while he was no member of a private
///   channel: neither what came before he joined, where that is hidden, nor what came after he was
///   removed.
/// - Nothing of the channel is sent once a removal is known to have been told, but for what was on
///   its way.
/// - What is told `gone(beforeJoin)` is that.
final class AccessChecker {
    private struct Stay {
        var began: Duration
        var joined: Int64
        var ended: Duration?
    }

    private let simulation: Simulation
    private let accounts: SimulatedAccounts
    /// By the numbers of memberships.
    private var stays: [SimulatedAccounts.Seat: [Int: Stay]] = [:]
    private var users: [Int: UserID] = [:]
    /// When the server of a connection knew what had happened by a moment; nil if it does not yet.
    var knew: (_ moment: Duration, _ connection: Int) -> Duration? = { moment, _ in moment }
    /// A log that is replaced forgets messages, and they may be published once more.
    private var published: [EntryID: [Duration]] = [:]
    /// Who was no member at some time.
    private var wereOutside: Set<SimulatedAccounts.Seat> = []
    private var firstSeated: [SimulatedAccounts.Seat: Duration] = [:]

    /// What a loop that is busy has in flight, at most.
    private static let way: Duration = .seconds(3)

    init(_ simulation: Simulation, _ accounts: SimulatedAccounts) {
        self.simulation = simulation
        self.accounts = accounts
    }

    // MARK: Members

    func changed(_ change: SimulatedServer.MemberChange) {
        switch change {
        case .began(let seat): began(seat)
        case .ended(let seat): end(seat)
        case .unknown: compare()
        }
    }

    /// He is not let in, or nobody knows whether he was.
    func mayBeOutside(_ seat: SimulatedAccounts.Seat) { wereOutside.insert(seat) }

    private func began(_ seat: SimulatedAccounts.Seat) {
        guard let row = accounts.members.rows[seat] else { return }
        if firstSeated[seat] == nil { firstSeated[seat] = simulation.now }
        stays[seat, default: [:]][row.number] = Stay(began: row.from, joined: row.member.joined)
    }

    private func end(_ seat: SimulatedAccounts.Seat) {
        wereOutside.insert(seat)
        let open = accounts.members.rows[seat]?.number
        for number in (stays[seat] ?? [:]).keys
        where number != open && stays[seat]?[number]?.ended == nil {
            stays[seat]?[number]?.ended = simulation.now
        }
    }

    /// Rows may be others: after a crash, or when a backup was restored.
    private func compare() {
        for seat in stays.keys { end(seat) }
        for (seat, row) in accounts.members.rows {
            // One whose sync had failed is there from when it was asked for, as its rows say: not
            // from the restart.
            stays[seat, default: [:]][row.number] = Stay(
                began: row.from, joined: row.member.joined)
        }
    }

    func mayRead(_ user: UserID, _ channel: ChannelName) -> Bool {
        accounts.grant(user, in: channel).mayRead
    }

    /// What is at or below it is not for the user.
    func hidden(from user: UserID, in channel: ChannelName) -> Int64 {
        accounts.grant(user, in: channel).joined
    }

    func hidesHistory(_ channel: ChannelName) -> Bool {
        accounts.channels[channel]?.history == .sinceJoin
    }

    func wasOutside(_ user: UserID, _ channel: ChannelName) -> Bool {
        guard isPrivate(channel) else { return false }
        let seat = SimulatedAccounts.Seat(channel: channel, user: user)
        guard !wereOutside.contains(seat), let first = firstSeated[seat] else { return true }
        // What was refused before he was let in for the first time is on its way.
        return simulation.now <= first + Self.way
    }

    private func isPrivate(_ channel: ChannelName) -> Bool {
        accounts.channels[channel]?.visibility == .private
    }

    // MARK: Messages

    func stored(_ id: EntryID) { published[id, default: []].append(simulation.now) }

    /// Whether the message was published while the user was to have it.
    func mayHave(_ user: UserID, _ id: EntryID, in channel: ChannelName) -> Bool {
        guard isPrivate(channel) else { return true }
        let showsAll = !hidesHistory(channel)
        return (stays[.init(channel: channel, user: user)] ?? [:]).values.contains { stay in
            (published[id] ?? []).contains { moment in
                (showsAll || moment >= stay.began) && moment <= stay.ended ?? moment
            }
        }
    }

    // MARK: Connections

    func identified(_ user: UserID, _ connection: Int) { users[connection] = user }

    func sent(_ event: ServerFrame.Event, _ connection: Int) {
        guard isPrivate(event.channel) else { return }
        guard let user = users[connection] else {
            return simulation.violated(.access, "\(event.id) is sent to nobody knows whom")
        }
        if !mayHave(user, event.id, in: event.channel) {
            simulation.violated(
                .access,
                "\(event.id) of \(event.channel) is sent to \(user), who was no member then")
        }
        expectMembership(user, event, connection)
    }

    private func expectMembership(
        _ user: UserID, _ event: ServerFrame.Event, _ connection: Int
    ) {
        let stays = stays[.init(channel: event.channel, user: user)] ?? [:]
        let isMember = stays.values.contains { stay in
            guard let ended = stay.ended, let known = knew(ended, connection) else { return true }
            return simulation.now <= known + Self.way
        }
        guard !isMember else { return }
        simulation.violated(
            .access, "\(event.id) is sent to \(user), who is no member of \(event.channel) any more"
        )
    }

    /// Whether all of this was before the user joined.
    func mayTellBeforeJoin(
        _ channel: ChannelName, through seq: Int64, _ connection: Int
    ) -> Bool {
        guard isPrivate(channel), hidesHistory(channel), let user = users[connection] else {
            return false
        }
        return (stays[.init(channel: channel, user: user)] ?? [:]).values.contains {
            $0.joined >= seq
        }
    }
}
