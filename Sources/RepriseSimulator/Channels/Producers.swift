import RepriseCore
import RepriseServer
import RepriseWire

/// Those who publish: over HTTP, again with the same id until they are answered, and through the devices' outboxes.
///
/// What they were told is kept here, outside of every log and journal.
final class Producers {
    /// A message that somebody wants stored.
    struct Message {
        var id: EntryID
        var channel: ChannelName
        var body: [UInt8]
    }

    private let simulation: Simulation
    private let server: SimulatedServer
    private var random: SeededRandom
    /// What the server has acknowledged to a producer.
    private(set) var acknowledged: [EntryID: Message] = [:]
    /// What was refused for good.
    private(set) var refused = 0
    /// Asked for, and not answered yet.
    private(set) var open = 0

    init(_ simulation: Simulation, server: SimulatedServer) {
        self.simulation = simulation
        self.server = server
        random = simulation.random("producers")
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
            case .stored, .duplicate:
                simulation.trace("producer", "\(message.id) is acknowledged")
                acknowledged[message.id] = message
            case .refused: refused += 1
            }
        }
    }
}
