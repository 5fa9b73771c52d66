import RepriseChannels
import RepriseCore
import RepriseServer
import RepriseWire

/// The users of a run in which the server asks who they are: their tokens, and the private channels
/// that they are let into and put out of.
final class People {
    let accounts: SimulatedAccounts
    let checker: AccessChecker
    let backend: TokenBackend
    private let simulation: Simulation
    private let server: SimulatedServer
    private let users: [UserID]
    private let seats: [SimulatedAccounts.Seat]
    private var devices: [SimulatedDevice] = []
    private var random: SeededRandom
    /// Changes that were asked for and are not known to be done.
    private var open = 0
    /// Whom somebody has told that he is a member.
    private var invited: Set<SimulatedAccounts.Seat> = []

    /// In half of all runs.
    static func areKnown(in schedule: FaultSchedule) -> Bool {
        var random = SeededRandom(seed: schedule.seed, purpose: "people")
        return random.chance(0.5)
    }

    init(_ simulation: Simulation, _ server: SimulatedServer, channels: [ChannelName]) throws {
        self.simulation = simulation
        self.server = server
        random = simulation.random("members")
        // With three devices or four some are of one user.
        users = try (0..<min(simulation.schedule.devices, 3)).map { try UserID("user-\($0)") }
        var settings: [ChannelName: ChannelSettings] = [:]
        for channel in channels where random.chance(0.75) {
            settings[channel] = ChannelSettings(
                visibility: .private, history: random.chance(0.6) ? .sinceJoin : .all)
        }
        accounts = SimulatedAccounts(channels: settings)
        let (known, users) = (settings, users)
        seats = channels.filter { known[$0] != nil }.flatMap { channel in
            users.map { SimulatedAccounts.Seat(channel: channel, user: $0) }
        }
        checker = AccessChecker(simulation, accounts)
        backend = TokenBackend(simulation, accounts)
        server.accounts = accounts
        checker.knew = { [unowned server] in server.knew(of: $0, on: $1) }
        server.membersChanged = { [unowned self] change in
            checker.changed(change)
            if case .began(let seat) = change { look(at: seat, isMember: true) }
            if case .ended(let seat) = change { look(at: seat, isMember: false) }
            // A restored backup may know less: its administrators say so.
            if case .unknown = change { invited.formIntersection(accounts.members.rows.keys) }
        }
    }

    func user(ofDevice index: Int) -> UserID { users[index % users.count] }

    func watch(_ devices: [SimulatedDevice]) {
        self.devices = devices
        for device in devices {
            guard let user = device.user else { continue }
            device.tokens = { [backend, unowned device] _, then in
                backend.answer(device, as: user, then: then)
            }
            device.connectionChanged = { [unowned self] device, state in
                if case .stopped = state { signInAgain(device) }
            }
            let shown = device.stateChanged
            device.stateChanged = { [unowned self] device, channel, state in
                shown(device, channel, state)
                if case .refused = state { wantAgain(channel, on: device) }
            }
        }
    }

    /// A person looks at the screen, some time.
    private func signInAgain(_ device: SimulatedDevice) {
        simulation.after(random.spread(.seconds(2), .seconds(90)), on: device.process) {
            device.reconnect()
        }
    }

    /// An app that knows better than the server what its user may do asks again: it may have been
    /// told before it was refused.
    private func wantAgain(_ channel: ChannelName, on device: SimulatedDevice) {
        guard let user = device.user else { return }
        simulation.after(random.spread(.seconds(1), .seconds(10)), on: device.process) {
            [unowned self] in
            guard invited.contains(.init(channel: channel, user: user)) else { return }
            device.subscribe(channel)
        }
    }

    // MARK: A run

    /// Everybody comes and goes a few times.
    func begin() {
        for seat in seats {
            var isMember = random.chance(0.8)
            if isMember { change(seat, to: isMember) } else { checker.mayBeOutside(seat) }
            let changes = random.chance(0.6) ? 1 + random.index(4) : 0
            let moments = (0..<changes).map { _ in
                simulation.schedule.length * random.fraction()
            }
            for moment in moments.sorted() {
                isMember.toggle()
                let next = isMember
                simulation.after(moment) { [self] in change(seat, to: next) }
            }
        }
    }

    /// What is wanted of each seat in the end.
    private var wanted: [SimulatedAccounts.Seat: Bool] = [:]

    /// An administrator sees that a request which nobody answered was done after a later one.
    private func look(at seat: SimulatedAccounts.Seat, isMember: Bool) {
        guard wishes[seat] == nil, let wish = wanted[seat], wish != isMember else { return }
        open += 1
        simulation.after(random.spread(.seconds(1), .seconds(10))) { [self] in
            open -= 1
            change(seat, to: wanted[seat] ?? wish)
        }
    }

    /// What is wanted of each seat that somebody is about to change.
    private var wishes: [SimulatedAccounts.Seat: Bool] = [:]

    /// One who has changed his mind waits for the answer first: two requests could overtake each
    /// other.
    private func change(_ seat: SimulatedAccounts.Seat, to isMember: Bool) {
        wanted[seat] = isMember
        if !isMember { invited.remove(seat) }
        guard wishes.updateValue(isMember, forKey: seat) == nil else { return }
        open += 1
        attempt(seat, isMember)
    }

    private func attempt(_ seat: SimulatedAccounts.Seat, _ isMember: Bool) {
        let role: Member.Role? = isMember ? (random.chance(0.3) ? .owner : .member) : nil
        server.setMember(seat, role) { [self] isDone in
            guard isDone else {
                checker.mayBeOutside(seat)
                return simulation.after(.seconds(2)) { [self] in
                    attempt(seat, wishes[seat] ?? isMember)
                }
            }
            if let newer = wishes[seat], newer != isMember { return attempt(seat, newer) }
            wishes[seat] = nil
            open -= 1
            // An answer that was on its way while a backup took its place tells nobody anything any
            // more.
            if isMember, accounts.members.rows[seat] != nil { invite(seat) }
        }
    }

    private func invite(_ seat: SimulatedAccounts.Seat) {
        invited.insert(seat)
        for device in devices where device.user == seat.user {
            simulation.after(
                random.spread(.milliseconds(1), .seconds(5)), on: device.process
            ) { device.subscribe(seat.channel) }
        }
    }

    // MARK: The end

    /// The calendar of the backend is right again, and who waits for a person to sign in is helped.
    func heal() {
        backend.heal()
        for device in devices {
            if case .stopped = device.connection { device.reconnect() }
        }
    }

    var isDone: Bool { open == 0 }

    /// Whether a device's user is in no condition to have the channel.
    func isShutOut(_ device: SimulatedDevice, of channel: ChannelName) -> Bool {
        device.user.map { !checker.mayRead($0, channel) } ?? false
    }

    func mayBeForbidden(_ message: Producers.Message, _ device: SimulatedDevice) -> Bool {
        guard let user = device.user else { return false }
        return message.change != nil || checker.wasOutside(user, message.channel)
    }
}
