import RepriseCore
import RepriseServer
import RepriseWire

/// What a simulated journal comes to: a view that hears every entry when it is stored, and no
/// gateway's.
///
/// It is what the gateways are compared with. For itself it counts which hello of a device is the
/// newest and who is a member, and compares that with what the shipping applier accepts.
final class JournalTruth: JournaledStore {
    private let simulation: Simulation
    private(set) var view: ClusterView
    private var newest: [ConnectingDevice: Generation] = [:]
    /// Which gateway opened each session, by what was said when it did.
    private var writers: [Int64: Int] = [:]
    /// The connections that each message of a device came by, and the hello of each.
    private var carriers: [EntryID: [Int]] = [:]
    private var hellos: [Int: Arrival] = [:]
    /// Nil where the server asks nobody who he is.
    var accounts: SimulatedAccounts?
    var membersChanged: (SimulatedServer.MemberChange) -> Void = { _ in }
    var observer: (SimulatedServer.Sight) -> Void = { _ in }
    /// Called when somebody's position has moved.
    var moved: (AccountEffects.Move) -> Void = { _ in }
    /// Called when it is noted what was pushed.
    var pushed: (PushProgress) -> Void = { _ in }
    /// Called when the view stands at a mark.
    var marked: (Int64) -> Void = { _ in }
    private let files: ViewFiles
    private var hasGoneBack = false
    /// Whether a gateway does the housekeeping: then nobody else trims.
    var isKept = false

    init(_ simulation: Simulation, _ files: ViewFiles) throws {
        self.simulation = simulation
        self.files = files
        view = try files.open()
        simulation.whenEnded { [self] in
            (membersChanged, observer, moved) = ({ _ in }, { _ in }, { _ in })
            (pushed, marked) = ({ _ in }, { _ in })
            view.log.stepped.close()
        }
    }

    var position: JournalPosition { view.position }

    /// - Returns: whether the entry counts.
    func stored(_ stored: StoredEntry) -> Bool {
        var counts = false
        do {
            let entry = try? ClusterEntry(stored.bytes)
            // The journal's own past is right by definition.
            for applied in try view.apply([stored], isVerified: true) {
                simulation.trace(
                    "journal", "\(applied.sequence): \(Self.text(applied.disposition))")
                if applied.disposition == .accepted { counts = true }
                if applied.disposition == .ignored(.otherPast), !hasGoneBack {
                    simulation.violated(.agreement, "entry \(stored.sequence) is of another past")
                }
                // A gateway's nonces begin with its number.
                if case .opened(let nonce) = applied.disposition {
                    writers[applied.sequence] = Int(nonce >> 32)
                }
                for (command, outcome) in zip(entry?.commands ?? [], applied.outcomes) {
                    saw(command, outcome, by: writers[applied.session] ?? -1)
                }
                for case .marked in applied.outcomes { marked(applied.sequence) }
            }
        } catch {
            simulation.violated(.agreement, "entry \(stored.sequence) is refused: \(error)")
        }
        return counts
    }

    /// What the devices' gateways see of them.
    func saw(_ sight: SimulatedServer.Sight) {
        switch sight {
        case .arrived(let arrival, let connection): hellos[connection] = arrival
        case .took(let ids, let connection):
            for id in ids { carriers[id, default: []].append(connection) }
        default: break
        }
    }

    /// Becomes what a journal comes to that has gone back.
    func begin(again entries: [StoredEntry]) throws {
        hasGoneBack = true
        view = try files.reopen(.nothing, view)
        for entry in entries { _ = try view.apply([entry], isVerified: true) }
    }

    private static func text(_ disposition: AdmissionMachine.Disposition) -> String {
        switch disposition {
        case .accepted: "accepted"
        case .opened: "opens a session"
        case .ignored(let reason):
            switch reason {
            case .duplicate: "ignored, a duplicate"
            case .early: "ignored, one before it is missing"
            case .unknownSession: "ignored, of an unknown session"
            case .stale: "ignored, its base is old"
            case .otherPast: "ignored, of another past"
            case .noEntry: "ignored, no entry"
            }
        }
    }

    private func saw(_ command: ClusterCommand, _ outcome: CommandOutcome, by gateway: Int) {
        switch (command, outcome) {
        case (.publish(let publish), .published(let results)):
            published(publish, results, by: gateway)
        case (.account(let command), .changed(let value, let effects)):
            changed(command, value)
            if let move = effects.moved { moved(move) }
        case (_, .arrived(let arrival, _)): newest[arrival.device] = arrival.generation
        case (.pushed(let progress), .nothing): pushed(progress)
        case (_, .trimmed):
            expectHolder(gateway)
            observer(.trimmed)
        default: break
        }
    }

    // MARK: Messages

    private func published(
        _ publish: PublishMessages, _ results: [AppendResult], by gateway: Int
    ) {
        for (message, result) in zip(publish.messages, results) {
            expectNewest(message.id, result, by: gateway)
            if case .refused = result { continue }
            expectMember(publish.who, message)
            if case .duplicate = result { observer(.came(message.id)) }
            if !result.events.isEmpty { observer(.durable(result.events)) }
        }
    }

    /// A message is taken from its device's newest connection, and from no other; whatever is
    /// written of that in the entry.
    private func expectNewest(_ id: EntryID, _ result: AppendResult, by gateway: Int) {
        let came = (carriers[id] ?? []).filter { SimulatedCluster.gateway(of: $0) == gateway }
            .compactMap { hellos[$0] }
        guard let device = came.first?.device else { return }
        switch result {
        case .refused(.unavailable, _):
            guard came.allSatisfy({ newest[device] == $0.generation }) else { return }
            simulation.violated(
                .order, "\(id) is refused to the newest connection of \(device.device)")
        case .refused: break
        case .stored, .buried, .duplicate:
            guard !came.contains(where: { newest[device] == $0.generation }) else { return }
            simulation.violated(
                .order,
                "\(id) is taken from a connection of \(device.device) that is not its newest")
        }
    }

    private func expectHolder(_ gateway: Int) {
        let holder = view.lease(.housekeeping)?.holder
        guard isKept, holder.map(Keepers.gateway(of:)) != gateway else { return }
        simulation.violated(.once, "gateway \(gateway) trims, and another one has its lease")
    }

    private func expectMember(_ who: Principal, _ message: ClientFrame.Publish) {
        guard let accounts, let user = who.user,
            !accounts.grant(user, in: message.channel).mayPublish
        else { return }
        simulation.violated(
            .access, "\(message.id) is taken from \(user), who is no member of \(message.channel)")
    }

    // MARK: Members

    private func changed(_ command: any JournaledCommand, _ value: any Sendable) {
        if let command = command as? SetMember, let outcome = value as? SetMember.Outcome {
            let seat = SimulatedAccounts.Seat(channel: command.channel, user: command.user)
            let isNew = accounts?.seat(seat, as: outcome.member, from: simulation.now) { .done }
            if isNew == true { changed(.began(seat), "\(seat.user) is a member of") }
        } else if let command = command as? RemoveMember {
            let seat = SimulatedAccounts.Seat(channel: command.channel, user: command.user)
            if accounts?.unseat(seat, { .done }) == true {
                changed(.ended(seat), "\(seat.user) is no member of")
            }
        }
    }

    private func changed(_ change: SimulatedServer.MemberChange, _ text: String) {
        if case .began(let seat) = change {
            simulation.trace("journal", "\(text) \(seat.channel)")
        } else if case .ended(let seat) = change {
            simulation.trace("journal", "\(text) \(seat.channel)")
        }
        membersChanged(change)
    }
}
