import RepriseCore
import RepriseServer
import RepriseWire

/// Watches the order of each device's messages in each channel.
///
/// Who was told that a message is recorded and then publishes another never finds them stored the
/// other way round: only one that was refused for good may be missing before its successors, and
/// then it stays missing.
final class OrderChecker {
    private struct Line: Hashable {
        var device: String
        var channel: ChannelName
    }

    private struct Place {
        var line: Line
        /// How many of the line were recorded, as far as its app knew, when this one was published
        /// first.
        var before: Int
        /// Which of the recorded ones it is itself.
        var number: Int?
    }

    private let simulation: Simulation
    private unowned let server: ServerChecker
    private var places: [EntryID: Place] = [:]
    /// In the order in which the app published them.
    private var published: [Line: [EntryID]] = [:]
    private var recorded: [Line: Int] = [:]

    init(_ simulation: Simulation, _ server: ServerChecker) {
        self.simulation = simulation
        self.server = server
        server.stores = { [unowned self] in stored($0) }
    }

    /// An app is about to record a message, perhaps once more.
    func records(_ message: Producers.Message, on device: SimulatedDevice) {
        guard places[message.id] == nil else { return }
        let line = Line(device: device.name, channel: message.channel)
        places[message.id] = Place(line: line, before: recorded[line] ?? 0)
        published[line, default: []].append(message.id)
    }

    /// An app is told that its message is recorded.
    func recorded(_ message: Producers.Message, on device: SimulatedDevice) {
        guard let place = places[message.id], place.number == nil else { return }
        places[message.id]?.number = recorded[place.line] ?? 0
        recorded[place.line, default: 0] += 1
    }

    private func stored(_ id: EntryID) {
        guard let place = places[id], let number = place.number else { return }
        let line = published[place.line] ?? []
        for later in line.drop(while: { $0 != id }) {
            guard let other = places[later], other.before > number, server.hasCome(later) else {
                continue
            }
            simulation.violated(
                .order, "\(id) of \(place.line.device) is stored behind \(later), which came later")
        }
    }
}
