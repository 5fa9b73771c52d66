import RepriseChannels
import RepriseCore
import RepriseWire

/// As much of an app as typing needs: the shipping `TypingMachine`, and a connection.
final class TypingDevice {
    let name: String
    let process: SimulatedProcess
    let user: UserID
    /// Who is said to type now.
    private(set) var shown: [ChannelName: [UserID]] = [:]

    private let simulation: Simulation
    private let network: SimulatedNetwork
    private let channels: [ChannelName]
    private let checker: TypingChecker
    private var random: SeededRandom
    private var decoder = FrameDecoder()

    // Of this life of the process.
    private var typing = TypingMachine()
    private var socket: SimulatedSocket?
    private var heard: Duration = .zero
    private var alarm = 0

    init(
        _ simulation: Simulation, _ network: SimulatedNetwork, name: String, user: UserID,
        channels: [ChannelName], _ checker: TypingChecker
    ) {
        self.simulation = simulation
        self.network = network
        self.name = name
        self.user = user
        self.channels = channels
        self.checker = checker
        process = SimulatedProcess(simulation, name: name)
        random = simulation.random(name)
        process.started = { [unowned self] in
            (typing, socket, shown) = (TypingMachine(), nil, [:])
            dial()
        }
        process.ended = { [unowned self] in shown = [:] }
    }

    private var now: Duration { process.clock.uptime() }
    var isConnected: Bool { socket != nil }

    // MARK: The person

    func types(in channel: ChannelName) {
        guard process.state == .running else { return }
        perform(typing.typed(in: channel, at: now))
    }

    func clears(_ channel: ChannelName) {
        guard process.state == .running else { return }
        perform(typing.stopped(in: channel))
    }

    // MARK: The connection

    private func dial() {
        let life = process.life
        network.dial(from: process, to: TypingServer.address(of: user)) { [weak self] socket in
            guard let self, process.state != .dead, process.life == life else { return }
            guard let socket else { return dialLater() }
            self.socket = socket
            heard = now
            socket.received = { [weak self] frames in
                for frame in frames { self?.received(frame, on: socket) }
            }
            socket.closed = { [weak self] _ in self?.hungUp(socket) }
            socket.send([
                ClientFrame.subscribe(
                    channels.map { .init(channel: $0, epoch: nil, coverage: Coverage()) }
                ).encoded()
            ])
            typing.connected(as: user)
            listen(to: socket)
        }
    }

    private func dialLater() {
        simulation.after(random.spread(.milliseconds(300), .seconds(20)), on: process) {
            [weak self] in self?.dial()
        }
    }

    /// A server that says nothing for three heartbeats is not there.
    private func listen(to socket: SimulatedSocket) {
        simulation.after(.seconds(15), on: process) { [weak self] in
            guard let self, socket === self.socket else { return }
            guard now > heard + .seconds(45) else { return listen(to: socket) }
            socket.close(.normal)
            hungUp(socket)
        }
    }

    private func hungUp(_ socket: SimulatedSocket) {
        guard socket === self.socket, process.state != .dead else { return }
        self.socket = nil
        if simulation.mutation != .typingOutlivesConnection { perform(typing.disconnected()) }
        checker.hungUp(self)
        dialLater()
    }

    private func received(_ bytes: [UInt8], on socket: SimulatedSocket) {
        guard socket === self.socket, process.state != .dead else { return }
        heard = now
        guard
            case .typing(let channel, let other, let isTyping, let expires)? =
                try? decoder.serverFrame(bytes)
        else { return }
        checker.heard(self, other, channel, isTyping, at: now)
        perform(
            typing.typingReceived(
                from: other, in: channel, isTyping: isTyping, expires: expires, at: now))
    }

    private func perform(_ actions: [TypingMachine.Action]) {
        for action in actions {
            switch action {
            case .send(let channel, let isTyping):
                guard process.survives("typing") else { return }
                socket?.send([ClientFrame.typing(channel, isTyping: isTyping).encoded()])
            case .show(let channel, let users):
                simulation.trace(name, "sees \(users) type in \(channel)")
                shown[channel] = users.isEmpty ? nil : users
            }
        }
        alarm += 1
        guard let due = typing.due, simulation.mutation != .typingForEver else { return }
        let alarm = alarm
        simulation.after(max(due - now, .zero), on: process) { [weak self] in
            guard let self, alarm == self.alarm else { return }
            perform(typing.timerFired(at: now))
        }
    }

    /// Looks at the screen.
    func look() {
        guard process.state == .running else { return }
        for (channel, users) in shown {
            for other in users { checker.shows(self, other, channel, at: now) }
        }
    }
}
