import RepriseCore
import RepriseSimulator
import RepriseWire

/// As little of a device as keeps to the protocol: it remembers coverage and ids, asks for its
/// holes, and dials again.
///
/// The server is tried against it alone, so that what breaks here is the server's.
final class ProbeDevice {
    let process: SimulatedProcess
    let disk: SimulatedDisk
    private(set) var coverage = Coverage()
    private(set) var epoch: Epoch?
    private(set) var ids: [Int64: EntryID] = [:]
    /// Frames in the order in which they came.
    private(set) var frames: [ServerFrame] = []
    /// Whether a catch-up is open.
    private(set) var isCatchingUp = false
    private let simulation: Simulation
    private let network: SimulatedNetwork
    private let channel: ChannelName
    private let id: EntryID
    private var socket: SimulatedSocket?
    private var decoder = FrameDecoder()
    private var heard = 0

    init(
        _ simulation: Simulation, _ network: SimulatedNetwork, _ channel: ChannelName,
        number: Int
    ) throws {
        self.simulation = simulation
        self.network = network
        self.channel = channel
        id = try EntryID("probe-\(number)")
        process = SimulatedProcess(simulation, name: "probe \(number)")
        disk = SimulatedDisk(simulation, name: "probe \(number)")
        process.started = { [unowned self] in dial() }
        process.ended = { [unowned self] in socket = nil }
    }

    func dial() {
        network.dial(from: process, to: "server") { [unowned self] socket in
            guard let socket else { return dialLater() }
            self.socket = socket
            decoder = FrameDecoder()
            isCatchingUp = false
            socket.received = { [unowned self] in $0.forEach(received) }
            socket.closed = { [unowned self] _ in
                guard self.socket === socket else { return }
                self.socket = nil
                dialLater()
            }
            send(.hello(.init(device: id, client: "probe")))
            ask()
            watch(socket)
        }
    }

    private func dialLater() {
        simulation.after(.seconds(2), on: process) { [unowned self] in dial() }
    }

    /// No frame for two heartbeats: the connection is dead.
    private func watch(_ socket: SimulatedSocket) {
        let before = heard
        simulation.after(.seconds(55), on: process) { [unowned self] in
            guard self.socket === socket else { return }
            guard heard == before else { return watch(socket) }
            self.socket = nil
            socket.close(.normal)
            dial()
        }
    }

    func ask() {
        isCatchingUp = true
        send(.subscribe([.init(channel: channel, epoch: epoch, coverage: coverage)]))
    }

    func publish(_ message: ClientFrame.Publish) { send(.publish(message)) }

    func reads(_ isReading: Bool) { socket?.isReading = isReading }

    private func send(_ frame: ClientFrame) { socket?.send([frame.encoded()]) }

    private func received(_ bytes: [UInt8]) {
        heard += 1
        guard let frame = try? decoder.serverFrame(bytes) else {
            return simulation.violated(.bounded, "the server sent what cannot be read")
        }
        frames.append(frame)
        switch frame {
        case .subscribed(let subscribed):
            isCatchingUp = true
            guard subscribed.epoch != epoch || subscribed.reset else { return }
            epoch = subscribed.epoch
            coverage = Coverage()
            ids = [:]
        case .event(let event):
            coverage.insert(after: event.prev, through: event.seq)
            if let known = ids[event.seq], known != event.id {
                simulation.violated(.coverage, "\(event.seq) was \(known) and is \(event.id)")
            }
            ids[event.seq] = event.id
        case .gone(_, let gone): coverage.insert(gone.range)
        case .syncComplete(let complete):
            isCatchingUp = false
            if !coverage.isComplete(through: complete.through) { ask() }
        case .heartbeat(_, let heads):
            guard let head = heads[channel], !isCatchingUp else { return }
            if !coverage.isComplete(through: head) { ask() }
        case .welcome, .published, .refused, .error, .authenticated, .positions, .receipt,
            .typing, .presence:
            break
        }
    }
}
