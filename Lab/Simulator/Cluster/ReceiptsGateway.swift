import RepriseCore
import RepriseServer
import RepriseWire

/// A gateway's part in receipts: connections with the shipping `ReceiptCoalescer`, positions of the
/// shipping view.
final class ReceiptsGateway {
    private final class Connection {
        let socket: SimulatedSocket
        let user: UserID
        var coalescer = ReceiptCoalescer()
        /// The channels whose positions it was told.
        var channels: Set<ChannelName> = []
        var hasEnded = false

        init(_ socket: SimulatedSocket, _ user: UserID) {
            self.socket = socket
            self.user = user
        }
    }

    private let network: SimulatedNetwork
    private unowned let gateway: SimulatedGateway
    private let users: [UserID]
    private let checker: ReceiptsChecker
    private var connections: [Connection] = []
    private var decoder = FrameDecoder()

    init(
        _ network: SimulatedNetwork, _ gateway: SimulatedGateway, users: [UserID],
        _ checker: ReceiptsChecker
    ) {
        self.network = network
        self.gateway = gateway
        self.users = users
        self.checker = checker
    }

    private var mutation: Mutation? { gateway.simulation.mutation }

    func begin() {
        for connection in connections { connection.hasEnded = true }
        connections = []
        for user in users {
            network.listen(as: ReceiptsServer.address(of: user), on: gateway.process) {
                [unowned self] socket in accept(socket, user)
            }
        }
    }

    private func accept(_ socket: SimulatedSocket, _ user: UserID) {
        let connection = Connection(socket, user)
        connections.append(connection)
        // The connection holds its socket.
        socket.received = { [unowned self, weak connection] frames in
            guard let connection else { return }
            for frame in frames { received(frame, connection) }
        }
        socket.closed = { [unowned self, weak connection] _ in
            if let connection { ended(connection) }
        }
        beat(connection)
    }

    private func ended(_ connection: Connection) {
        connection.hasEnded = true
        connections.removeAll { $0 === connection }
    }

    private func beat(_ connection: Connection) {
        gateway.simulation.after(.seconds(15), on: gateway.process) { [unowned self] in
            guard !connection.hasEnded else { return }
            let time = gateway.process.clock.wall()
            connection.socket.send([ServerFrame.heartbeat(time: time, heads: [:]).encoded()])
            beat(connection)
        }
    }

    private func received(_ bytes: [UInt8], _ connection: Connection) {
        switch try? decoder.clientFrame(bytes) {
        case .subscribe(let requests)?: subscribe(requests.map(\.channel), connection)
        case .receipt(let receipt)?:
            if let move = connection.coalescer.arrived(receipt) { self.move(move, connection) }
        default: break
        }
    }

    /// Positions are told once whatever was told anywhere before is applied here.
    private func subscribe(_ channels: [ChannelName], _ connection: Connection) {
        if mutation == .clusterReadsEarly {
            return channels.forEach { tellAll($0, connection) }
        }
        gateway.submit([.nop]) { [unowned self] result in
            guard !connection.hasEnded else { return }
            guard case .success = result else { return close(connection) }
            channels.forEach { tellAll($0, connection) }
        }
    }

    private func close(_ connection: Connection) {
        connection.socket.close(.unavailable)
        ended(connection)
    }

    private func tellAll(_ channel: ChannelName, _ connection: Connection) {
        do {
            let positions = try gateway.view.positions(
                of: channel, first: connection.user, limit: WireLimits.positions)
            connection.channels.insert(channel)
            for position in positions { told(channel, position) }
            send(
                .positions(
                    .init(
                        channel: channel, positions: positions,
                        unread: .init(count: 0, head: ClusterReceipts.head))), connection)
        } catch {
            gateway.simulation.violated(.agreement, "positions cannot be read: \(error)")
        }
    }

    private func told(_ channel: ChannelName, _ position: ServerFrame.Position) {
        checker.told(
            Reading(user: position.user, channel: channel),
            SimulatedPositions(read: position.read, delivered: position.delivered))
    }

    private func move(_ receipt: ClientFrame.Receipt, _ connection: Connection) {
        if mutation == .clusterEchoesEarly {
            echo(
                receipt.channel,
                .init(
                    user: connection.user, read: receipt.read ?? 0,
                    delivered: receipt.delivered ?? 0), connection)
        }
        let command = MovePosition(
            channel: receipt.channel, user: connection.user, device: nil, read: receipt.read,
            delivered: receipt.delivered)
        gateway.submit([.account(command)]) { [unowned self] result in
            guard !connection.hasEnded else { return }
            // The device sends it again to the next gateway.
            guard case .changed? = (try? result.get())?.first else { return close(connection) }
            if let next = connection.coalescer.moved(in: receipt.channel) {
                move(next, connection)
            }
        }
    }

    /// An entry is applied here.
    func applied(_ entry: AppliedEntry) {
        for case .changed(_, let effects) in entry.outcomes {
            guard let move = effects.moved else { continue }
            for connection in connections where connection.channels.contains(move.channel) {
                echo(move.channel, move.position, connection)
            }
        }
    }

    private func echo(
        _ channel: ChannelName, _ position: ServerFrame.Position, _ connection: Connection
    ) {
        told(channel, position)
        send(.receipt(channel: channel, position), connection)
    }

    private func send(_ frame: ServerFrame, _ connection: Connection) {
        guard !connection.hasEnded, gateway.process.survives("telling of positions") else { return }
        connection.socket.send([frame.encoded()])
    }
}
