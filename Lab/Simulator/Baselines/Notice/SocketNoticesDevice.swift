import RepriseCore
import RepriseWire

/// A device with `case-badge-banner`'s notices, in virtual time.
final class SocketNoticesDevice {
    private let simulation: Simulation
    private let network: SimulatedNetwork
    let process: SimulatedProcess
    private let observer: BaselineObserver
    private let device: Int
    private var socket: SimulatedSocket?
    private var machine = SocketNotices(stored: [], unread: 0)
    // On disk.
    private var stored: [Int] = []
    /// What is said to the server of a message that is stored; the original's device says nothing.
    var acknowledgement: (Int) -> [UInt8]? = { _ in nil }
    // What the person sees, which outlives the process.
    private(set) var badge = 0
    private(set) var lastKilled: Duration = .seconds(-1)

    init(
        _ simulation: Simulation, network: SimulatedNetwork, on process: SimulatedProcess,
        device: Int, observer: BaselineObserver
    ) {
        self.simulation = simulation
        self.network = network
        self.process = process
        self.device = device
        self.observer = observer
        process.started = { [unowned self] in
            machine = SocketNotices(stored: stored, unread: stored.count)
            dial()
        }
        process.ended = { [unowned self] in
            lastKilled = simulation.now
            socket = nil
        }
    }

    /// What the system has shown by itself, whatever the app does.
    private var pushed: Set<Int> = []

    /// Whether the person has been told of a message, or the app shows it.
    func hasTold(_ message: Int) -> Bool { stored.contains(message) || pushed.contains(message) }

    /// A push has reached the phone, and the system shows it.
    func pushed(_ message: Int, badge: Int) {
        simulation.trace(process.name, "is pushed message \(message)")
        pushed.insert(message)
        self.badge = badge
    }

    private func dial() {
        network.dial(from: process, to: OriginalNoticeServer.name) { [self] socket in
            guard let socket else {
                return simulation.after(.seconds(1), on: process) { [self] in dial() }
            }
            connected(socket)
        }
    }

    private func connected(_ socket: SimulatedSocket) {
        self.socket = socket
        socket.received = { [unowned self] frames in
            for frame in frames { received(frame) }
        }
        socket.closed = { [unowned self, unowned socket] _ in
            guard self.socket === socket else { return }
            self.socket = nil
            simulation.after(.seconds(1), on: process) { [self] in dial() }
        }
        // An exact catch-up, which the case study does not describe: from the first message that is
        // missing.
        let next = (0...stored.count).first { !stored.contains($0) } ?? 0
        socket.send([OriginalNoticeServer.request(from: next)])
    }

    private func received(_ frame: [UInt8]) {
        guard process.state == .running, let message = OriginalNoticeServer.message(in: frame)
        else {
            return
        }
        let isBacklog = OriginalNoticeServer.isBacklog(frame)
        let actions =
            isBacklog ? machine.caughtUp([message]) : machine.messageReceived(message)
        for action in actions {
            switch action {
            case .store(let message):
                guard process.survives("stores message \(message)") else { return }
                stored.append(message)
                observer.tookEffect(message, device: device)
                if let frame = acknowledgement(message) { socket?.send([frame]) }
            case .banner(let message):
                guard process.survives("shows the banner of message \(message)") else { return }
                simulation.trace(process.name, "shows the banner of message \(message)")
            case .badge(let count):
                guard process.survives("sets the badge to \(count)") else { return }
                badge = count
            }
        }
    }
}
