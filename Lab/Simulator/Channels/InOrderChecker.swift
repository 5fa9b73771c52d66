import RepriseChannels
import RepriseCore
import RepriseWire

/// Holds the readers of a device that go by sequence to that order.
///
/// A message is dispatched for the first time only behind all that were before, and none while one
/// that has failed is to be tried again. (That none is left out is checked of all readers alike.)
final class InOrderChecker {
    private struct Line: Hashable {
        var reader: String
        var channel: ChannelName
    }

    private let simulation: Simulation
    private var dispatched: [Line: Set<EntryID>] = [:]
    /// The one that has failed and is not dead, in which life of the process.
    private var failed: [Line: (id: EntryID, life: Int)] = [:]
    private var farthest: [Line: (log: Int64, seq: Int64)] = [:]

    init(_ simulation: Simulation) { self.simulation = simulation }

    /// Before a handler whose effect is outside of the store.
    func hands(
        _ arrived: Arrived, to reader: SimulatedDevice.ReaderPlan, on device: SimulatedDevice,
        _ handling: SimulatedDevice.Handling
    ) {
        let message = arrived.message
        let line = Line(reader: reader.name, channel: message.channel)
        if let failed = failed[line], failed.id != message.id, failed.life == device.process.life {
            simulation.violated(
                .order,
                "\(device.name): \(reader.name) gets \(message.id) while \(failed.id) is to be tried again"
            )
        }
        failed[line] = nil
        if case .fail = handling, message.attempt < reader.options.attemptLimit {
            failed[line] = (message.id, device.process.life)
        }
        guard dispatched[line, default: []].insert(message.id).inserted else { return }
        let place = (log: arrived.arrival >> ChannelsModel.arrivalBits, seq: message.seq)
        if let farthest = farthest[line], place <= farthest {
            simulation.violated(
                .order,
                "\(device.name): \(reader.name) gets \(message.id) (\(message.seq)) out of order")
        }
        farthest[line] = place
    }

    /// In the end, of effects within the store.
    func check(
        _ inside: [String], _ contents: ChannelContents, _ plan: SimulatedDevice.ChannelPlan,
        _ device: SimulatedDevice
    ) {
        for reader in plan.readers where reader.kind == .inside && reader.options.order == .ordered
        {
            var epochs: [Epoch: Int] = [:]
            var places: [String: (epoch: Int, seq: Int64)] = [:]
            for message in contents.messages {
                let epoch = epochs[message.epoch] ?? epochs.count
                epochs[message.epoch] = epoch
                places[reader.effectText(plan.name, message.id)] = (epoch, message.seq)
            }
            let found = inside.compactMap { places[$0] }
            for (first, second) in zip(found, found.dropFirst()) where second <= first {
                simulation.violated(
                    .order,
                    "\(device.name): \(reader.name) took \(plan.name) \(first.seq) before \(second.seq)"
                )
            }
        }
    }
}
