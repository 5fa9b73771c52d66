import RepriseChannels
import RepriseCore
import RepriseWire

/// As much of an app as receipts need: the shipping `ReceiptsMachine`, and rows that outlive the
/// process.
final class ReceiptsDevice {
    let name: String
    let process: SimulatedProcess
    let user: UserID
    /// What the user has read and received here, or on another device as far as this one was told.
    private(set) var own = PositionTable<ChannelName>()
    /// What the server is known to have, of everybody.
    private(set) var known = PositionTable<Reading>()

    private let simulation: Simulation
    private let network: SimulatedNetwork
    private let disk: SimulatedDisk
    private let channels: [ChannelName]
    private let checker: ReceiptsChecker
    private var random: SeededRandom
    private var decoder = FrameDecoder()

    // Of this life of the process.
    private var receipts = ReceiptsMachine()
    private var socket: SimulatedSocket?
    private var heard: Duration = .zero
    private var alarm = 0

    init(
        _ simulation: Simulation, _ network: SimulatedNetwork, name: String, user: UserID,
        channels: [ChannelName], _ checker: ReceiptsChecker
    ) {
        self.simulation = simulation
        self.network = network
        self.name = name
        self.user = user
        self.channels = channels
        self.checker = checker
        process = SimulatedProcess(simulation, name: name)
        disk = SimulatedDisk(simulation, name: name)
        random = simulation.random(name)
        process.started = { [unowned self] in
            (receipts, socket) = (ReceiptsMachine(), nil)
            dial()
        }
    }

    var machine: FaultInjector.Machine {
        .init(process: process, disk: disk) { [unowned self] _ in
            own.crash(keepsUnsynced: disk.keepsUnsynced())
            known.crash(keepsUnsynced: disk.keepsUnsynced())
        }
    }

    private var now: Duration { process.clock.uptime() }

    // MARK: The app

    func marks(_ channel: ChannelName, _ position: SimulatedPositions) {
        guard process.state == .running, process.survives("marking") else { return }
        let reading = Reading(user: user, channel: channel)
        checker.attempted(reading, position)
        let merged = own.position(channel).merged(with: position)
        guard own.write(channel, merged, disk.commit()) else { return }
        checker.marked(reading, position)
        receipts.readMoved(channel, to: merged.read)
        receipts.deliveredMoved(channel, to: merged.delivered)
        pump()
    }

    // MARK: The connection

    private func dial() {
        let life = process.life
        network.dial(from: process, to: ReceiptsServer.address(of: user)) { [weak self] socket in
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
        receipts.disconnected()
        dialLater()
    }

    private func received(_ bytes: [UInt8], on socket: SimulatedSocket) {
        guard socket === self.socket, process.state != .dead else { return }
        heard = now
        switch try? decoder.serverFrame(bytes) {
        case .positions(let frame)?: note(frame.channel, frame.positions, opens: true, socket)
        case .receipt(let channel, let position)?: note(channel, [position], opens: false, socket)
        default: break
        }
    }

    /// Writes down what the server says, and again while the disk cannot.
    private func note(
        _ channel: ChannelName, _ positions: [ServerFrame.Position], opens: Bool,
        _ socket: SimulatedSocket, hears: Bool = true
    ) {
        guard socket === self.socket, process.survives("noting positions") else { return }
        for position in positions {
            let told = SimulatedPositions(read: position.read, delivered: position.delivered)
            let reading = Reading(user: position.user, channel: channel)
            if hears { checker.heard(name, reading, told) }
            let isWritten =
                known.write(reading, known.position(reading).merged(with: told), disk.commit())
                && (position.user != user || noteOwn(channel, read: told.read))
            guard isWritten else {
                return simulation.after(.milliseconds(500), on: process) { [weak self] in
                    self?.note(channel, positions, opens: opens, socket, hears: false)
                }
            }
        }
        let ours = known.position(Reading(user: user, channel: channel))
        if opens {
            let own = own.position(channel)
            receipts.positionsReceived(
                channel,
                .init(
                    read: own.read, delivered: own.delivered,
                    known: .init(read: ours.read, delivered: ours.delivered)))
        } else {
            receipts.echoReceived(channel, read: ours.read, delivered: ours.delivered)
        }
        pump()
    }

    /// What the user has read elsewhere is read here.
    private func noteOwn(_ channel: ChannelName, read: Int64) -> Bool {
        let position = own.position(channel)
        let merged = position.merged(with: SimulatedPositions(read: read))
        return merged == position || own.write(channel, merged, disk.commit())
    }

    // MARK: Sending

    private func pump() {
        for receipt in receipts.receipts(at: now) {
            guard process.survives("a receipt") else { return }
            socket?.send([ClientFrame.receipt(receipt).encoded()])
        }
        alarm += 1
        guard let due = receipts.due(at: now) else { return }
        let alarm = alarm
        simulation.after(max(due - now, .milliseconds(1)), on: process) { [weak self] in
            if alarm == self?.alarm { self?.pump() }
        }
    }
}
