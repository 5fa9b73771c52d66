import RepriseCore
import RepriseWire

/// Watches positions from outside of all tables.
///
/// They never go back, nobody is told one before it is durable, none is beyond what a device
/// marked; and in the end everybody agrees on at least what was confirmed to the apps.
final class ReceiptsChecker {
    private let simulation: Simulation
    /// What the server has made durable.
    private var durable: [Reading: SimulatedPositions] = [:]
    /// What apps asked for, and what of that they were told is durable on their device.
    private var attempted: [Reading: SimulatedPositions] = [:]
    private var marked: [Reading: SimulatedPositions] = [:]

    /// Whether no device is ever told less than before, by whichever connection.
    var isOrdered = false
    /// What each device was told.
    private var heard: [String: [Reading: SimulatedPositions]] = [:]
    /// Nothing is beyond it.
    private let head: Int64

    init(_ simulation: Simulation, head: Int64 = ReceiptsServer.head) {
        self.simulation = simulation
        self.head = head
    }

    func durablePosition(_ reading: Reading) -> SimulatedPositions {
        durable[reading] ?? SimulatedPositions()
    }

    func attempted(_ reading: Reading, _ position: SimulatedPositions) {
        attempted[reading] = (attempted[reading] ?? SimulatedPositions()).merged(with: position)
    }

    func marked(_ reading: Reading, _ position: SimulatedPositions) {
        marked[reading] = (marked[reading] ?? SimulatedPositions()).merged(with: position)
    }

    func stored(_ reading: Reading, _ position: SimulatedPositions) {
        let before = durable[reading] ?? SimulatedPositions()
        if !position.reaches(before) {
            simulation.violated(
                .recorded, "\(reading.user) goes back from \(before) to \(position)")
        }
        if !(attempted[reading] ?? SimulatedPositions()).reaches(position) {
            simulation.violated(.accounted, "nobody marked \(position) for \(reading.user)")
        }
        durable[reading] = position
    }

    func told(_ reading: Reading, _ position: SimulatedPositions) {
        guard !(durable[reading] ?? SimulatedPositions()).reaches(position) else { return }
        simulation.violated(
            .durable, "\(position) of \(reading.user) is told, and is not durable")
    }

    /// A device is told a position; never a lesser one than before.
    func heard(_ device: String, _ reading: Reading, _ position: SimulatedPositions) {
        let before = heard[device]?[reading] ?? SimulatedPositions()
        heard[device, default: [:]][reading] = position.merged(with: before)
        guard isOrdered, !position.reaches(before) else { return }
        simulation.violated(
            .recorded, "\(device) is told \(position) of \(reading.user), and was told \(before)")
    }

    // MARK: The end

    func isComplete(
        _ devices: [ReceiptsDevice], _ stored: (Reading) -> SimulatedPositions,
        _ channels: [ChannelName]
    ) -> Bool { difference(devices, stored, channels) == nil }

    /// `stored` says what the server has.
    func check(
        _ devices: [ReceiptsDevice], _ stored: (Reading) -> SimulatedPositions,
        _ channels: [ChannelName]
    ) {
        if let difference = difference(devices, stored, channels) {
            simulation.violated(.alive, difference)
        }
    }

    private func difference(
        _ devices: [ReceiptsDevice], _ stored: (Reading) -> SimulatedPositions,
        _ channels: [ChannelName]
    ) -> String? {
        for channel in channels {
            for user in Set(devices.map(\.user)).sorted(by: { $0.text < $1.text }) {
                let reading = Reading(user: user, channel: channel)
                let found = stored(reading)
                let wanted = clamped(marked[reading] ?? SimulatedPositions())
                guard found.reaches(wanted) else {
                    return "\(wanted) of \(user) in \(channel) was marked, the server has \(found)"
                }
                for device in devices {
                    let known = device.known.position(reading)
                    guard known == found else {
                        return "\(device.name) has \(user) at \(known) of \(channel), not \(found)"
                    }
                    let read = min(device.own.position(channel).read, head)
                    guard device.user != user || read == found.read else {
                        return "\(device.name) has read \(channel) to \(read), not \(found.read)"
                    }
                }
            }
        }
        return nil
    }

    private func clamped(_ position: SimulatedPositions) -> SimulatedPositions {
        SimulatedPositions(
            read: min(position.read, head), delivered: min(position.delivered, head))
    }
}
