import RepriseWire

/// A device with `case-catch-up`'s client, or the control's, in virtual time.
final class OriginalChannelDevice<Client: ChannelTrialClient> {
    private let simulation: Simulation
    private let network: SimulatedNetwork
    private let process: SimulatedProcess
    private let observer: BaselineObserver
    private let device: Int
    /// On disk.
    ///
    /// The case study does not say where it keeps it; kinder than any guess, it is written with the
    /// event, in one.
    private var stored: Client

    // The memory of one life.
    private var machine: Client
    private var socket: SimulatedSocket?
    private var connections = 0

    init(
        _ simulation: Simulation, network: SimulatedNetwork, on process: SimulatedProcess,
        device: Int, client: Client, observer: BaselineObserver
    ) {
        self.simulation = simulation
        self.network = network
        self.process = process
        self.device = device
        self.observer = observer
        stored = client
        machine = client
        process.started = { [unowned self] in
            machine = stored
            socket = nil
            dial()
        }
    }

    /// Without a connection, after everything has healed and had its time.
    var isFrozen: Bool { socket == nil }

    private func dial() {
        network.dial(from: process, to: OriginalChannelServer.name) { [self] socket in
            guard let socket else { return redial() }
            connected(socket)
        }
    }

    /// Connects anew, as after any end of a connection: "Next subscription will resync from
    /// highestSeq".
    func connectAnew() {
        guard let socket else { return }
        socket.close(.normal)
        failed()
    }

    private func redial() { simulation.after(.seconds(1), on: process) { [self] in dial() } }

    private func connected(_ socket: SimulatedSocket) {
        self.socket = socket
        connections += 1
        socket.received = { [unowned self] frames in
            for frame in frames where process.state == .running { received(frame) }
        }
        socket.closed = { [unowned self, unowned socket] _ in
            guard self.socket === socket else { return }
            failed()
        }
        simulation.trace(process.name, "connects and enables catch-up mode")
        perform(machine.connected(at: simulation.now))
    }

    private func failed() {
        socket = nil
        let wasCatchingUp = machine.isCatchingUp
        let actions = machine.connectionFailed()
        simulation.trace(
            process.name,
            (wasCatchingUp ? "loses its connection in catch-up mode" : "loses its connection")
                + (actions.isEmpty ? ", and waits for events that never come" : ""))
        perform(actions)
    }

    private func received(_ frame: [UInt8]) {
        let wasCatchingUp = machine.isCatchingUp
        machine.textReceived(frame)
        if wasCatchingUp, !machine.isCatchingUp {
            simulation.trace(process.name, "sync_complete: live from \(machine.highest) on")
        }
        guard let seq = OriginalFrame.number("seq", in: frame) else { return }
        let actions = machine.eventReceived(Int64(seq), at: simulation.now)
        if actions.isEmpty {
            simulation.trace(
                process.name, "takes event \(seq) for a duplicate (highest \(machine.highest))")
        }
        perform(actions)
    }

    private func perform(_ actions: [OriginalChannelClient.Action]) {
        for action in actions {
            switch action {
            case .subscribe(let highest):
                socket?.send([OriginalFrame.subscribe(from: Int(highest))])
            case .apply(let seq): apply(seq)
            case .check(let interval): check(after: interval)
            case .reconnect: socket == nil ? redial() : connectAnew()
            }
        }
    }

    private func apply(_ seq: Int64) {
        guard process.survives("stores event \(seq)") else { return }
        stored = machine.restarted()
        simulation.trace(
            process.name, "applies event \(seq)\(machine.isCatchingUp ? " (catch-up)" : "")")
        observer.tookEffect(Int(seq) - 1, device: device)
    }

    private func check(after interval: Duration) {
        let connection = connections
        simulation.after(interval, on: process) { [self] in
            // The timer is the connection's: kinder than one that ends the next catch-up.
            guard connection == connections else { return }
            let wasCatchingUp = machine.isCatchingUp
            // What has been received is processed at once, so at any look the queue is empty.
            let actions = machine.checked(at: simulation.now, isQueueEmpty: true)
            if wasCatchingUp, !machine.isCatchingUp {
                simulation.trace(
                    process.name, "calls its catch-up complete: live from \(machine.highest) on")
            }
            perform(actions)
        }
    }
}
