import RepriseCore
import RepriseServer
import RepriseWire

/// As much of a server as typing needs: connections with the shipping `TypingBoard` of one event
/// loop.
final class TypingServer {
    private final class Connection {
        let id: UInt64
        let socket: SimulatedSocket
        let user: UserID
        var channels: [ChannelName] = []
        var hasEnded = false

        init(_ id: UInt64, _ socket: SimulatedSocket, _ user: UserID) {
            self.id = id
            self.socket = socket
            self.user = user
        }
    }

    let process: SimulatedProcess
    private(set) var board = TypingBoard(limit: 50)
    private let simulation: Simulation
    private let network: SimulatedNetwork
    private let users: [UserID]
    private let checker: TypingChecker
    private var connections: [Connection] = []
    private var accepted: UInt64 = 0
    private var decoder = FrameDecoder()

    init(
        _ simulation: Simulation, _ network: SimulatedNetwork, users: [UserID],
        _ checker: TypingChecker
    ) {
        self.simulation = simulation
        self.network = network
        self.users = users
        self.checker = checker
        process = SimulatedProcess(simulation, name: "server")
        process.started = { [unowned self] in
            board = TypingBoard(limit: 50)
            listen()
            tick()
        }
        process.ended = { [unowned self] in
            connections = []
            checker.serverDied()
        }
    }

    /// At an address of its own for each user: it takes nobody for another.
    static func address(of user: UserID) -> String { "server for \(user)" }

    private var now: Duration { process.clock.uptime() }

    private func listen() {
        for user in users {
            network.listen(as: Self.address(of: user), on: process) { [unowned self] socket in
                accepted += 1
                let connection = Connection(accepted, socket, user)
                connections.append(connection)
                socket.received = { [weak self, weak connection] frames in
                    guard let self, let connection else { return }
                    for frame in frames { received(frame, connection) }
                }
                socket.closed = { [weak self, weak connection] _ in
                    guard let self, let connection else { return }
                    ended(connection)
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

    private func tick() {
        simulation.after(.seconds(1), on: process) { [weak self] in
            guard let self else { return }
            if simulation.mutation != .typingUnticked {
                for told in board.ticked(now: now) { tell(told) }
            }
            checker.ticked(at: now)
            tick()
        }
    }

    private func received(_ bytes: [UInt8], _ connection: Connection) {
        // What came together with the frame that it died at has nobody to read it.
        guard !connection.hasEnded, process.state != .dead else { return }
        switch try? decoder.clientFrame(bytes) {
        case .subscribe(let requests)?: connection.channels = requests.map(\.channel)
        case .typing(let channel, let isTyping)?:
            guard connection.channels.contains(channel) else { return }
            if isTyping { checker.said(connection.id, connection.user, channel, at: now) }
            let told = board.typed(
                isTyping, by: connection.user, at: connection.id, in: channel, now: now)
            if let told { tell(told) }
        default: break
        }
    }

    private func ended(_ connection: Connection) {
        guard !connection.hasEnded, process.state != .dead else { return }
        connection.hasEnded = true
        connections.removeAll { $0 === connection }
        checker.left(connection.id)
        for channel in connection.channels {
            let told = board.left(connection.id, of: connection.user, in: channel)
            if let told { tell(told) }
        }
        checker.ticked(at: now)
    }

    private func tell(_ told: TypingBoard.Told) {
        checker.told(told)
        let frame = ServerFrame.typing(
            channel: told.channel, user: told.user, isTyping: told.isTyping,
            expires: WireLimits.typing
        ).encoded()
        for connection in connections where !connection.hasEnded && connection.user != told.user {
            guard process.survives("telling who types") else { return }
            if connection.channels.contains(told.channel) { connection.socket.send([frame]) }
        }
    }
}
