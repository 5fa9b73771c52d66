import RepriseCore
import RepriseServer
import RepriseWire

/// As much of a server as receipts need: connections with the shipping `ReceiptCoalescer`, and a
/// table of positions.
final class ReceiptsServer {
    private final class Connection {
        let socket: SimulatedSocket
        let user: UserID
        var receiptCoalescer = ReceiptCoalescer()
        var hasEnded = false

        init(_ socket: SimulatedSocket, _ user: UserID) {
            self.socket = socket
            self.user = user
        }
    }

    /// Nothing is beyond the head.
    static let head: Int64 = 250

    let process: SimulatedProcess
    private let simulation: Simulation
    private let network: SimulatedNetwork
    private let disk: SimulatedDisk
    private let users: [UserID]
    private let checker: ReceiptsChecker
    private var random: SeededRandom
    private(set) var table = PositionTable<Reading>()
    private var connections: [Connection] = []
    private var decoder = FrameDecoder()

    init(
        _ simulation: Simulation, _ network: SimulatedNetwork, users: [UserID],
        _ checker: ReceiptsChecker
    ) {
        self.simulation = simulation
        self.network = network
        self.users = users
        self.checker = checker
        process = SimulatedProcess(simulation, name: "server")
        disk = SimulatedDisk(simulation, name: "server", isServer: true)
        random = simulation.random("server")
        process.started = { [unowned self] in listen() }
        process.ended = { [unowned self] in connections = [] }
    }

    var machine: FaultInjector.Machine {
        .init(process: process, disk: disk) { [unowned self] _ in
            table.crash(keepsUnsynced: disk.keepsUnsynced())
            for (reading, position) in table.rows { checker.stored(reading, position) }
        }
    }

    /// At an address of its own for each user: it takes nobody for another.
    static func address(of user: UserID) -> String { "server for \(user)" }

    private func listen() {
        for user in users {
            network.listen(as: Self.address(of: user), on: process) { [unowned self] socket in
                let connection = Connection(socket, user)
                connections.append(connection)
                socket.received = { [weak self, weak connection] frames in
                    guard let self, let connection else { return }
                    for frame in frames { received(frame, connection) }
                }
                socket.closed = { [weak self, weak connection] _ in
                    connection?.hasEnded = true
                    self?.connections.removeAll { $0.hasEnded }
                }
                beat(connection)
            }
        }
    }

    private func beat(_ connection: Connection) {
        simulation.after(.seconds(15), on: process) { [weak self, weak connection] in
            guard let self, let connection, !connection.hasEnded else { return }
            connection.socket.send([
                ServerFrame.heartbeat(time: process.clock.wall(), heads: [:]).encoded()
            ])
            beat(connection)
        }
    }

    private func received(_ bytes: [UInt8], _ connection: Connection) {
        switch try? decoder.clientFrame(bytes) {
        case .subscribe(let requests)?:
            for request in requests { tellAll(request.channel, connection) }
        case .receipt(let receipt)?:
            if let receipt = connection.receiptCoalescer.arrived(receipt) {
                move(receipt, connection)
            }
        default: break
        }
    }

    private func tellAll(_ channel: ChannelName, _ connection: Connection) {
        let others = users.filter { $0 != connection.user }
        let positions = ([connection.user] + others).map {
            wire(
                Reading(user: $0, channel: channel),
                table.position(.init(user: $0, channel: channel)))
        }
        send(
            .positions(
                .init(
                    channel: channel, positions: positions, unread: .init(count: 0, head: Self.head)
                )),
            connection)
    }

    private func wire(_ reading: Reading, _ position: SimulatedPositions) -> ServerFrame.Position {
        checker.told(reading, position)
        return .init(user: reading.user, read: position.read, delivered: position.delivered)
    }

    // MARK: Moves

    private func move(_ receipt: ClientFrame.Receipt, _ connection: Connection) {
        if simulation.mutation == .echoBeforeDurable {
            tell(
                moved(receipt, connection.user),
                Reading(user: connection.user, channel: receipt.channel))
        }
        later(.microseconds(50), .milliseconds(40)) { [self] in
            guard process.survives("a move of \(connection.user)") else { return }
            let reading = Reading(user: connection.user, channel: receipt.channel)
            let position = moved(receipt, connection.user)
            guard table.write(reading, position, disk.commit()) else {
                return simulation.after(.seconds(1), on: process) { [self] in
                    if !connection.hasEnded { move(receipt, connection) }
                }
            }
            simulation.trace("server", "\(reading.user) is at \(position) of \(reading.channel)")
            checker.stored(reading, position)
            later(.microseconds(10), .milliseconds(20)) { [self] in
                tell(position, reading)
                if let next = connection.receiptCoalescer.moved(in: receipt.channel),
                    !connection.hasEnded
                {
                    move(next, connection)
                }
            }
        }
    }

    /// Where a receipt leads: forward only, and not beyond the head.
    private func moved(_ receipt: ClientFrame.Receipt, _ user: UserID) -> SimulatedPositions {
        let before = table.position(Reading(user: user, channel: receipt.channel))
        let asked = SimulatedPositions(
            read: min(receipt.read ?? before.read, Self.head),
            delivered: min(receipt.delivered ?? before.delivered, Self.head))
        return simulation.mutation == .positionsGoBack ? asked : before.merged(with: asked)
    }

    private func tell(_ position: SimulatedPositions, _ reading: Reading) {
        for connection in connections where !connection.hasEnded {
            guard process.survives("telling of \(reading.user)") else { return }
            send(.receipt(channel: reading.channel, wire(reading, position)), connection)
        }
    }

    private func send(_ frame: ServerFrame, _ connection: Connection) {
        if !connection.hasEnded { connection.socket.send([frame.encoded()]) }
    }

    private func later(_ from: Duration, _ to: Duration, _ work: @escaping () -> Void) {
        simulation.after(random.spread(from, to), on: process, work)
    }
}
