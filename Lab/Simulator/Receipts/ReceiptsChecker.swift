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

    init(_ simulation: Simulation) { self.simulation = simulation }

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

    // MARK: The end

    func isComplete(
        _ devices: [ReceiptsDevice], _ server: ReceiptsServer, _ channels: [ChannelName]
    ) -> Bool { difference(devices, server, channels) == nil }

    func check(_ devices: [ReceiptsDevice], _ server: ReceiptsServer, _ channels: [ChannelName]) {
        if let difference = difference(devices, server, channels) {
            simulation.violated(.alive, difference)
        }
    }

    private func difference(
        _ devices: [ReceiptsDevice], _ server: ReceiptsServer, _ channels: [ChannelName]
    ) -> String? {
        for channel in channels {
            for user in Set(devices.map(\.user)).sorted(by: { $0.text < $1.text }) {
                let reading = Reading(user: user, channel: channel)
                let found = server.table.position(reading)
                let wanted = (marked[reading] ?? SimulatedPositions()).clamped
                guard found.reaches(wanted) else {
                    return "\(wanted) of \(user) in \(channel) was marked, the server has \(found)"
                }
                for device in devices {
                    let known = device.known.position(reading)
                    guard known == found else {
                        return "\(device.name) has \(user) at \(known) of \(channel), not \(found)"
                    }
                    let read = SimulatedPositions(read: device.own.position(channel).read).clamped
                        .read
                    guard device.user != user || read == found.read else {
                        return "\(device.name) has read \(channel) to \(read), not \(found.read)"
                    }
                }
            }
        }
        return nil
    }
}

extension SimulatedPositions {
    fileprivate var clamped: SimulatedPositions {
        SimulatedPositions(
            read: min(read, ReceiptsServer.head), delivered: min(delivered, ReceiptsServer.head))
    }
}
