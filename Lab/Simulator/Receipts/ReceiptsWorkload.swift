import RepriseCore
import RepriseWire

/// Devices of two users say how far they have read and received, while everything goes wrong that
/// can.
///
/// The shipping `ReceiptsMachine` and `ReceiptCoalescer`, with a row for each position in place of
/// both databases: the same in all tiers.
package struct ReceiptsWorkload: Workload {
    package let name = "receipts"
    package let summary = "Devices of two users say how far they have read."

    package init() {}

    package func schedule(seed: UInt64) -> FaultSchedule {
        .draw(
            seed: seed,
            kinds: [
                (.delay, 3), (.slow, 2), (.cut, 6), (.halfOpen, 5), (.partition, 4),
                (.killDevice, 8), (.killServer, 6), (.powerLossDevice, 3), (.powerLossServer, 2),
                (.suspend, 4), (.diskFull, 3), (.syncFails, 5), (.serverDiskFull, 3),
                (.serverSyncFails, 5), (.clockJump, 2),
            ])
    }

    /// The longest of the waits until a receipt is sent again, several times over.
    private static let timeout: Duration = .seconds(600)

    package func play(_ simulation: Simulation, on tier: Tier) {
        let network = SimulatedNetwork(simulation)
        let channels = (0..<2).compactMap { try? ChannelName("room-\($0)") }
        let users = (0..<2).compactMap { try? UserID("user-\($0)") }
        let checker = ReceiptsChecker(simulation)
        let server = ReceiptsServer(simulation, network, users: users, checker)
        let devices = (0..<simulation.schedule.devices).map {
            ReceiptsDevice(
                simulation, network, name: "device-\($0)", user: users[$0 % users.count],
                channels: channels, checker)
        }
        let injector = FaultInjector(
            simulation, network: network, devices: devices.map(\.machine),
            servers: [server.machine])
        server.process.start()
        for device in devices { device.process.start() }
        schedule(simulation, devices, channels)
        injector.schedule { _ in }
        simulation.run(until: simulation.schedule.length)
        injector.heal()
        let end = simulation.now + Self.timeout
        while simulation.violation == nil, simulation.now < end,
            !checker.isComplete(devices, server.table.position, channels)
        {
            simulation.run(until: simulation.now + .seconds(10))
        }
        guard simulation.violation == nil else { return }
        checker.check(devices, server.table.position, channels)
    }

    /// What is received goes up; what is read goes up mostly, for people scroll back too.
    private func schedule(
        _ simulation: Simulation, _ devices: [ReceiptsDevice], _ channels: [ChannelName]
    ) {
        var random = simulation.random("reading")
        for number in 0..<simulation.schedule.messages * 3 {
            let device = devices[random.index(devices.count)]
            let channel = channels[random.index(channels.count)]
            let seq = Int64(max(1, number * 2 - random.index(60)))
            let isRead = random.chance(0.5)
            simulation.after(simulation.schedule.length * random.fraction()) {
                isRead
                    ? device.marks(channel, SimulatedPositions(read: seq))
                    : device.marks(channel, SimulatedPositions(delivered: seq))
            }
        }
    }
}

/// How far somebody is in a channel.
struct SimulatedPositions: Hashable {
    var read: Int64 = 0
    var delivered: Int64 = 0

    func merged(with other: SimulatedPositions) -> SimulatedPositions {
        SimulatedPositions(read: max(read, other.read), delivered: max(delivered, other.delivered))
    }

    /// Whether neither is before the other's.
    func reaches(_ other: SimulatedPositions) -> Bool { merged(with: other) == self }
}

/// A user in a channel.
struct Reading: Hashable {
    var user: UserID
    var channel: ChannelName
}

/// How far everybody is.
typealias PositionTable<Key: Hashable> = SimulatedRows<Key, SimulatedPositions>

extension SimulatedRows where Value == SimulatedPositions {
    func position(_ key: Key) -> SimulatedPositions { rows[key] ?? SimulatedPositions() }
}
