import RepriseCore
import RepriseServer
import RepriseWire

/// Watches a server from outside: what became durable, what left, and what publishers were told.
///
/// It keeps a record of its own; the server's log is compared with it, never asked instead of it.
final class LogWitness {
    struct Place: Hashable {
        var channel: ChannelName
        var seq: Int64
    }

    private let simulation: Simulation
    private let server: SimulatedServer
    private let channels: [ChannelName]
    /// Everything that was ever durable, by epoch.
    private(set) var history: [Epoch: [Place: EntryID]] = [:]
    /// What publishers were told is stored, wherever it is now.
    private(set) var acknowledged: Set<EntryID> = []
    /// Acknowledged, and then taken away by putting another log in place.
    private(set) var replacedAway: Set<EntryID> = []
    /// How often another log was put in place.
    private(set) var replacements = 0
    /// The newest sequence of each channel that retention has taken away, by epoch.
    private(set) var floors: [Epoch: [ChannelName: Int64]] = [:]
    private var epoch: Epoch
    private var places: [EntryID: Place] = [:]
    private var answers: [Asking: TilingCheck] = [:]

    private struct Asking: Hashable {
        var connection: Int
        var channel: ChannelName
    }

    init(_ simulation: Simulation, of server: SimulatedServer, channels: [ChannelName]) throws {
        self.simulation = simulation
        self.server = server
        self.channels = channels
        epoch = try SimulatedServer.firstEpoch(of: server.name)
        server.observer = { [unowned self] in saw($0) }
    }

    /// What the current epoch has ever held.
    var current: [Place: EntryID] { history[epoch] ?? [:] }

    private func saw(_ sight: SimulatedServer.Sight) {
        switch sight {
        case .durable(let events): for event in events { becameDurable(event) }
        case .asked(let request, let connection):
            answers[Asking(connection: connection, channel: request.channel)] = TilingCheck(
                epoch: request.epoch, coverage: request.coverage)
        case .left(let channel, let connection):
            answers[Asking(connection: connection, channel: channel)] = nil
        case .sent(let frame, let connection): sent(frame, to: connection)
        case .ended(let connection):
            for channel in channels {
                answers[Asking(connection: connection, channel: channel)] = nil
            }
        case .answered(let messages, let result): answered(messages, result)
        case .trimmed, .crashed: noteFloors()
        case .replaced: replaced()
        }
    }

    // MARK: Durable

    private func becameDurable(_ event: ServerFrame.Event) {
        let place = Place(channel: event.channel, seq: event.seq)
        if let known = history[epoch]?[place], known != event.id {
            simulation.violated(
                .recorded, "\(event.channel) \(event.seq) was \(known) and is \(event.id)")
        }
        if let known = places[event.id], known != place {
            simulation.violated(
                .once, "\(event.id) is stored twice: \(known.seq) and \(event.seq)")
        }
        history[epoch, default: [:]][place] = event.id
        places[event.id] = place
    }

    private func replaced() {
        replacements += 1
        places = [:]
        for channel in channels {
            epoch = server.state(of: channel).epoch
            for event in server.messages(in: channel) { becameDurable(event) }
        }
        noteFloors()
        for id in acknowledged where places[id] == nil { replacedAway.insert(id) }
    }

    private func noteFloors() {
        for channel in channels {
            let state = server.state(of: channel)
            floors[state.epoch, default: [:]][channel] = state.floor
        }
    }

    // MARK: Leaving the server

    private func sent(_ frame: ServerFrame, to connection: Int) {
        switch frame {
        case .event(let event):
            guard current[Place(channel: event.channel, seq: event.seq)] == event.id else {
                return simulation.violated(
                    .durable, "\(event.channel) \(event.seq) (\(event.id)) left before it was durable")
            }
            check(event.channel, connection) { $0.sent(after: event.prev, through: event.seq) }
        case .gone(let channel, let gone):
            check(channel, connection) {
                $0.sent(after: gone.range.after, through: gone.range.through)
            }
        case .subscribed(let subscribed):
            check(subscribed.channel, connection) { $0.began(subscribed) }
        case .syncComplete(let complete):
            check(complete.channel, connection) { $0.completed(complete) }
        case .published(let published):
            guard places[published.id] != nil else {
                return simulation.violated(
                    .durable, "\(published.id) was acknowledged before it was durable")
            }
            acknowledged.insert(published.id)
        case .welcome, .heartbeat, .refused, .error: break
        }
    }

    private func check(
        _ channel: ChannelName, _ connection: Int,
        _ body: (inout TilingCheck) -> String?
    ) {
        let asking = Asking(connection: connection, channel: channel)
        guard var tiling = answers.removeValue(forKey: asking) else { return }
        let fault = body(&tiling)
        answers[asking] = tiling
        if let fault { simulation.violated(.coverage, "\(channel): \(fault)") }
    }

    private func answered(
        _ messages: [NewMessage], _ result: Result<[AppendResult], RepriseError>
    ) {
        guard case .success(let results) = result else { return }
        for (message, result) in zip(messages, results) {
            switch result {
            case .refused: continue
            case .stored, .duplicate:
                guard places[message.id] != nil else {
                    return simulation.violated(
                        .durable, "\(message.id) was acknowledged before it was durable")
                }
                acknowledged.insert(message.id)
            }
        }
    }

    // MARK: In the end

    /// What was acknowledged is there, unless retention or another log has taken it away; and the log is what was seen.
    func checkTheEnd() {
        var stored: Set<EntryID> = []
        for channel in channels {
            let floor = server.state(of: channel).floor
            for event in server.messages(in: channel) {
                stored.insert(event.id)
                guard current[Place(channel: channel, seq: event.seq)] == event.id else {
                    return simulation.violated(
                        .durable, "\(channel) \(event.seq) (\(event.id)) was never seen to be stored")
                }
            }
            for (place, id) in current where place.channel == channel && place.seq <= floor {
                stored.insert(id)
            }
        }
        let lost = acknowledged.subtracting(stored).subtracting(replacedAway)
        if let id = lost.min(by: { $0.text < $1.text }) {
            simulation.violated(
                .recorded, "\(lost.count) acknowledged messages are gone, the first: \(id)")
        }
    }
}

/// Holds one answer of the server against what it has to tile: everything missing, each sequence once.
struct TilingCheck {
    private let claimedEpoch: Epoch?
    private let claimed: Coverage
    /// What was missing when the answer began; nil before.
    private var missing: [SequenceRange]?
    private var answered = Coverage()
    private var target: Int64 = 0

    init(epoch: Epoch?, coverage: Coverage) {
        claimedEpoch = epoch
        claimed = coverage
    }

    mutating func began(_ subscribed: ServerFrame.Subscribed) -> String? {
        let isVoid = subscribed.reset || claimedEpoch != subscribed.epoch
        target = subscribed.head
        answered = Coverage()
        missing = (isVoid ? Coverage() : claimed).complement(through: subscribed.head)
        return nil
    }

    mutating func sent(after: Int64, through: Int64) -> String? {
        guard let missing, let range = SequenceRange(after: after, through: through) else {
            return nil
        }
        guard after < target else { return nil }  // live
        for gap in missing {
            guard
                let part = SequenceRange(
                    after: max(gap.after, range.after), through: min(gap.through, range.through))
            else { continue }
            guard answered.complement(through: part.through).contains(where: {
                $0.after <= part.after && $0.through >= part.through
            }) else { return "\(part) was answered twice" }
            answered.insert(part)
        }
        return nil
    }

    mutating func completed(_ complete: ServerFrame.SyncComplete) -> String? {
        guard let missing else { return "sync_complete came before subscribed" }
        defer { self.missing = nil }
        for gap in missing where !answered.contains(gap) {
            return "sync_complete came, and \(gap) was not answered"
        }
        guard complete.through >= target else {
            return "sync_complete says \(complete.through), the target was \(target)"
        }
        return nil
    }
}
