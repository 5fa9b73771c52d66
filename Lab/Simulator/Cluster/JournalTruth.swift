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
    let view: ClusterView
    private var newest: [ConnectingDevice: Generation] = [:]
    /// Nil where the server asks nobody who he is.
    var accounts: SimulatedAccounts?
    var membersChanged: (SimulatedServer.MemberChange) -> Void = { _ in }
    var observer: (SimulatedServer.Sight) -> Void = { _ in }

    init(_ simulation: Simulation, _ files: ViewFiles) throws {
        self.simulation = simulation
        view = try files.open()
        simulation.whenEnded { [self] in
            (membersChanged, observer) = ({ _ in }, { _ in })
            view.log.stepped.close()
        }
    }

    var position: JournalPosition { view.position }

    func stored(_ stored: StoredEntry) {
        do {
            let entry = try ClusterEntry(stored.bytes)
            for applied in try view.apply([stored]) {
                simulation.trace("journal", "\(applied.sequence): \(Self.text(applied.verdict))")
                for (place, outcome) in applied.outcomes.enumerated() {
                    saw(entry.commands[place], outcome)
                }
            }
        } catch {
            simulation.violated(.agreement, "entry \(stored.sequence) is refused: \(error)")
        }
    }

    private static func text(_ verdict: AdmissionMachine.Verdict) -> String {
        switch verdict {
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

    private func saw(_ command: ClusterCommand, _ outcome: CommandOutcome) {
        switch (command, outcome) {
        case (.publish(let publish), .published(let results)): published(publish, results)
        case (.account(let command), .changed(let value, _)): changed(command, value)
        case (_, .arrived(let arrival, _)): newest[arrival.device] = arrival.generation
        case (_, .trimmed): observer(.trimmed)
        default: break
        }
    }

    // MARK: Messages

    private func published(_ publish: PublishMessages, _ results: [AppendResult]) {
        for (message, result) in zip(publish.messages, results) {
            if case .refused = result { continue }
            expectNewest(publish, message.id)
            expectMember(publish.who, message)
            if case .duplicate = result { observer(.came(message.id)) }
            if !result.events.isEmpty { observer(.durable(result.events)) }
        }
    }

    private func expectNewest(_ publish: PublishMessages, _ id: EntryID) {
        guard let fence = publish.fence else { return }
        let device = ConnectingDevice(user: publish.who.user, device: fence.device)
        guard newest[device] != fence.generation else { return }
        simulation.violated(
            .order, "\(id) is taken from a connection of \(fence.device) that is not its newest")
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
