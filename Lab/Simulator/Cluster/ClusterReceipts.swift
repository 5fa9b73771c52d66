import RepriseCore
import RepriseServer
import RepriseWire

/// Devices that say how far they have read, at any gateway: those of the workload `receipts`.
///
/// A position that a device was told is durable in the journal by then, and no gateway tells the
/// device a lesser one later.
final class ClusterReceipts {
    /// So many messages are there to be read from the beginning.
    static let head: Int64 = 24

    private let simulation: Simulation
    private let checker: ReceiptsChecker
    private let devices: [ReceiptsDevice]
    private let injector: FaultInjector
    private let channels: [ChannelName]

    init(
        _ simulation: Simulation, _ network: SimulatedNetwork, _ truth: JournalTruth,
        _ gateways: [SimulatedGateway]
    ) throws {
        self.simulation = simulation
        let channels = [try ChannelName("read")]
        let users = try (0..<2).map { try UserID("reader-\($0)") }
        let checker = ReceiptsChecker(simulation, head: Self.head)
        self.channels = channels
        self.checker = checker
        checker.isOrdered = true
        let devices = (0..<3).map { number in
            ReceiptsDevice(
                simulation, network, name: "reader-\(number)", user: users[number % users.count],
                channels: channels, checker)
        }
        self.devices = devices
        injector = FaultInjector(simulation, network: network, devices: devices.map(\.machine))
        for gateway in gateways {
            gateway.receipts = ReceiptsGateway(network, gateway, users: users, checker)
        }
        truth.moved = { move in
            checker.stored(
                Reading(user: move.position.user, channel: move.channel),
                SimulatedPositions(read: move.position.read, delivered: move.position.delivered))
        }
    }

    /// What is there to be read.
    var messages: [ClusterCommand] {
        channels.map { channel in
            let messages = (0..<Self.head).map { number in
                ClientFrame.Publish(
                    channel: channel, id: EntryID(unchecked: "read-\(number)"),
                    body: Array("null".utf8))
            }
            return .publish(PublishMessages(messages, by: Principal(user: nil, isAdmin: true)))
        }
    }

    func begin() {
        for device in devices { device.process.start() }
        injector.schedule { _ in }
        var random = simulation.random("reading in a cluster")
        for number in 0..<60 {
            let device = devices[random.index(devices.count)]
            let channel = channels[random.index(channels.count)]
            // People scroll back too.
            let seq = Int64(max(1, number / 2 - random.index(8)))
            let isRead = random.chance(0.5)
            simulation.after(simulation.schedule.length * random.fraction()) {
                device.marks(
                    channel, isRead ? .init(read: seq) : .init(delivered: seq))
            }
        }
    }

    func heal() { injector.heal() }

    func switchOff() {
        for device in devices { device.process.kill("is switched off") }
    }

    var isComplete: Bool {
        checker.isComplete(devices, checker.durablePosition, channels)
    }

    func check() { checker.check(devices, checker.durablePosition, channels) }
}
