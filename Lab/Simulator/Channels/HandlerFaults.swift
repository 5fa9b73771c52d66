import RepriseChannels
import RepriseCore

/// What goes wrong in the app's own handlers, for as long as a fault lasts.
final class HandlerFaults {
    private let simulation: Simulation
    /// Devices with a handler that does not come back.
    private(set) var hung: [SimulatedDevice] = []
    private var active: [(kind: Fault.Kind, target: Int, until: Duration)] = []

    init(_ simulation: Simulation) {
        self.simulation = simulation
    }

    func inflict(_ fault: Fault) {
        active.append((fault.kind, fault.target, simulation.now + fault.length))
    }

    func heal() { active = [] }

    /// Decides what the handlers of a device do.
    func watch(_ device: SimulatedDevice, index: Int) {
        device.handling = { [unowned self] device, reader, message in
            handling(device, index, reader, message)
        }
    }

    /// Some messages a reader in order can never handle: it stands at them until they are dead.
    private func isPoison(_ message: Message, for reader: SimulatedDevice.ReaderPlan) -> Bool {
        var random = simulation.random("poison \(reader.name)/\(message.id)")
        return random.chance(0.03)
    }

    /// The same for the same attempt: a transaction that could not be committed calls its handler
    /// again, and two stores that are compared call it both.
    private func handling(
        _ device: SimulatedDevice, _ index: Int, _ reader: SimulatedDevice.ReaderPlan,
        _ message: Message
    ) -> SimulatedDevice.Handling {
        let isInside = reader.kind == .inside
        simulation.had(reader.feature)
        if reader.options.order == .ordered, isPoison(message, for: reader) {
            simulation.met(.handlerThrows)
            return .fail(after: .zero)
        }
        let active = active.filter { $0.target == index && simulation.now < $0.until }
        guard !active.isEmpty else { return .succeed(after: isInside ? .zero : .microseconds(300)) }
        var random = simulation.random("\(index)/\(reader.name)/\(message.id)/\(message.attempt)")
        for fault in active where random.chance(0.3) {
            switch fault.kind {
            case .handlerThrows:
                simulation.met(.handlerThrows)
                return .fail(after: .zero)
            case .handlerHangs where !isInside:
                simulation.met(.handlerHangs)
                if !hung.contains(where: { $0 === device }) { hung.append(device) }
                return .hang
            case .handlerLate where !isInside:
                simulation.met(.handlerLate)
                return .succeed(after: random.spread(.milliseconds(10), .seconds(60)))
            default: continue
            }
        }
        return .succeed(after: isInside ? .zero : .microseconds(random.index(3_000)))
    }
}
