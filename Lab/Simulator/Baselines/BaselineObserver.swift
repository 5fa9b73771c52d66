/// Counts from outside what a baseline has taken on and what came of it.
///
/// It knows nothing of the baseline's own memory, so a baseline can't vouch for itself.
final class BaselineObserver {
    private struct Item {
        var acceptedAt: Duration?
        var effects = 0
    }

    private let simulation: Simulation
    /// What one item is called: "tap", "event", "message".
    private let noun: String
    /// What the workload calls the first one.
    private let first: Int
    /// By device, then by number.
    private var items: [[Item]]

    init(_ simulation: Simulation, noun: String, first: Int = 0) {
        self.simulation = simulation
        self.first = first
        self.noun = noun
        let none = [Item](repeating: Item(), count: simulation.schedule.messages)
        items = Array(repeating: none, count: simulation.schedule.devices)
    }

    /// The baseline has answered for it: from now on it must not be lost.
    func accepted(_ number: Int, device: Int) {
        if items[device][number].acceptedAt == nil {
            items[device][number].acceptedAt = simulation.now
        }
    }

    /// It has taken effect on the device.
    func tookEffect(_ number: Int, device: Int) {
        items[device][number].effects += 1
        if items[device][number].effects > 1 {
            simulation.violated(
                .once, "\(noun) \(number + first) took effect twice on \(name(device))")
        }
    }

    /// It was put where nobody could take it.
    func landedWhereNotReady(_ number: Int, device: Int, _ why: @autoclosure () -> String) {
        simulation.violated(.released, "\(noun) \(number + first) on \(name(device)): \(why())")
    }

    func hasEffect(_ number: Int, device: Int) -> Bool { items[device][number].effects > 0 }

    /// Everything has healed and had its time: what was accepted must have taken effect.
    ///
    /// - Parameters:
    ///   - invariant: the one that a loss on a device violates.
    ///   - reason: what else is known of a device, for people.
    func finish(_ invariant: (Int) -> Invariant, _ reason: (Int) -> String) {
        for device in items.indices {
            let lost = items[device].indices.filter {
                items[device][$0].acceptedAt != nil && items[device][$0].effects == 0
            }
            guard let lowest = lost.first else { continue }
            let others = lost.count > 1 ? " and \(lost.count - 1) more" : ""
            simulation.violated(
                invariant(device),
                "\(noun) \(lowest + first)\(others) accepted by \(name(device)) and lost: \(reason(device))"
            )
        }
    }

    private func name(_ device: Int) -> String { BaselineFixture.name(device) }
}
