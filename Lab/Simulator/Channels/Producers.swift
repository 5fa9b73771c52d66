import RepriseChannels
import RepriseCore
import RepriseServer
import RepriseWire

/// Those who publish: over HTTP, again with the same id until they are answered, and through the
/// devices' outboxes.
///
/// What they were told is kept here, outside of every log and journal.
final class Producers {
    /// A message that somebody wants stored.
    struct Message {
        var id: EntryID
        var channel: ChannelName
        var change: MessageChange<EntryID>?
        var body: [UInt8]
    }

    private let simulation: Simulation
    private let server: SimulatedServer
    private let order: OrderChecker
    /// Whether a device may be told that its user may not publish a message.
    var mayBeForbidden: (Message, SimulatedDevice) -> Bool = { _, _ in false }
    private var random: SeededRandom
    /// What the server has acknowledged, to a producer or through a device.
    private(set) var acknowledged: Set<EntryID> = []
    /// Asked for over HTTP, and not answered yet.
    private var open = 0
    /// Given to a device's outbox and recorded there, or to be given to it once it runs.
    private var entrusted: [EntryID: (message: Message, device: SimulatedDevice)] = [:]
    /// Refused for good, as its device was told; it may have been stored before or after that.
    private(set) var refused: Set<EntryID> = []

    init(_ simulation: Simulation, server: SimulatedServer, order: OrderChecker) {
        self.simulation = simulation
        self.server = server
        self.order = order
        random = simulation.random("producers")
    }

    var isDone: Bool { unanswered == 0 }

    var unanswered: Int {
        open + entrusted.keys.count { !acknowledged.contains($0) && !refused.contains($0) }
    }

    /// Publishes through a device's outbox: records until that has said that it is durable, and
    /// leaves the rest to the device.
    func publish(_ message: Message, through device: SimulatedDevice) {
        simulation.had(.outbox)
        switch message.change {
        case .edits: simulation.had(.edits)
        case .deletes: simulation.had(.deletions)
        case nil: break
        }
        entrusted[message.id] = (message, device)
        order.records(message, on: device)
        let again = { [self] in
            simulation.after(.seconds(2)) { [self] in publish(message, through: device) }
        }
        var isAnswered = false
        let isRunning = device.publish(
            message.id, .init(change: message.change, body: message.body), to: message.channel
        ) { [self] result in
            isAnswered = true
            switch result {
            case .success: order.recorded(message, on: device)
            case .failure: again()
            }
        }
        guard isRunning else { return again() }
        // A process that was killed meanwhile never answers.
        let life = device.process.life
        device.process.whenKilled {
            if !isAnswered, device.process.life == life { again() }
        }
    }

    /// A device heard that the server has its message.
    func heard(_ id: EntryID) {
        simulation.trace("producer", "\(id) is acknowledged to its device")
        acknowledged.insert(id)
    }

    /// A device heard that the server will never have its message: that may be said of a change,
    /// where the user may not publish, and of an id that another user has buried.
    func refused(_ id: EntryID, _ code: RefusalCode) {
        simulation.trace("producer", "\(id) is refused to its device: \(code)")
        refused.insert(id)
        let isExpected = entrusted[id].map { message, device in
            code == .noSuchMessage && message.change != nil
                || code == .forbidden && mayBeForbidden(message, device)
                || code == .conflict && mayBeBuried(id, by: device)
        }
        if isExpected != true {
            simulation.violated(.recorded, "\(id) is refused for good: \(code)")
        }
    }

    /// Whether another device's user may have deleted a message before it came: its id is that
    /// one's then.
    private func mayBeBuried(_ id: EntryID, by author: SimulatedDevice) -> Bool {
        entrusted.values.contains { $0.message.change == .deletes(id) && $0.device !== author }
    }

    /// Publishes messages together, and does not let go before they are answered.
    func publish(_ messages: [Message]) {
        open += messages.count
        attempt(messages, failures: 0)
    }

    private func attempt(_ messages: [Message], failures: Int) {
        let batch = messages.map {
            NewMessage(channel: $0.channel, id: $0.id, body: $0.body)
        }
        server.publish(batch) { [self] result in
            switch result {
            case .success(let results): answered(messages, results)
            case .failure:
                let wait = Backoff(base: .milliseconds(200), longest: .seconds(20))
                    .delay(failures: failures + 1, jitter: random.fraction())
                simulation.after(wait) { [self] in attempt(messages, failures: failures + 1) }
            }
        }
    }

    private func answered(_ messages: [Message], _ results: [AppendResult]) {
        open -= messages.count
        for (message, result) in zip(messages, results) {
            switch result {
            case .stored, .buried, .duplicate:
                simulation.trace("producer", "\(message.id) is acknowledged")
                acknowledged.insert(message.id)
            case .refused(let code, _):
                simulation.violated(.recorded, "\(message.id) is refused: \(code)")
            }
        }
    }
}
