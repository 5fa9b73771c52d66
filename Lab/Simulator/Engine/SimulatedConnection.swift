import DequeModule
package import RepriseWire

/// A connection between a device and a server: two ends, and what is under way between them.
final class SimulatedConnection {
    let network: SimulatedNetwork
    let client: SimulatedProcess
    let server: SimulatedProcess
    let weather: SimulatedNetwork.Weather
    private(set) lazy var clientEnd = SimulatedSocket(self, process: client, isServer: false)
    private(set) lazy var serverEnd = SimulatedSocket(self, process: server, isServer: true)
    /// Nothing goes through any more, and nobody is told.
    var isHalfOpen = false

    init(_ network: SimulatedNetwork, client: SimulatedProcess, server: SimulatedProcess) {
        self.network = network
        self.client = client
        self.server = server
        weather = network.weather(of: client)
        client.whenKilled { [unowned self] in clientEnd.processDied() }
        server.whenKilled { [unowned self] in serverEnd.processDied() }
    }

    func peer(of end: SimulatedSocket) -> SimulatedSocket {
        end === clientEnd ? serverEnd : clientEnd
    }

    /// The run is over: nobody refers to anybody any more.
    func forget() {
        clientEnd.forget()
        serverEnd.forget()
    }

    /// Both ends learn that it is over; what was under way is lost.
    func cut() {
        clientEnd.end(nil)
        serverEnd.end(nil)
        network.ended(self)
    }
}

/// One end of a connection.
package final class SimulatedSocket {
    /// What has arrived together, in order.
    package var received: (ArraySlice<[UInt8]>) -> Void = { _ in }
    /// Called once, when it is over; nil: without a close frame.
    package var closed: (CloseCode?) -> Void = { _ in }
    /// The peer's transport has taken bytes that were unsent.
    package var taken: (() -> Void)?
    /// Whether anybody waits for that.
    package var isTakenAwaited = false
    /// The peer has answered a ping.
    package var ponged: () -> Void = {}
    /// While it is false, what arrives waits.
    package var isReading = true {
        didSet { if isReading, !oldValue { schedule() } }
    }
    /// Bytes that the peer has not taken yet.
    package private(set) var unsentBytes = 0

    private struct Parcel {
        var arrival: Duration
        var bytes: [UInt8]
    }

    /// The network keeps it to the end of the run.
    private unowned let connection: SimulatedConnection
    private let process: SimulatedProcess
    private let isServer: Bool
    /// What is on its way to this end, in the order in which it arrives.
    private var inbound: Deque<Parcel> = []
    private var closing: (code: CloseCode?, arrival: Duration)?
    private var isScheduled = false
    private(set) var isOver = false
    /// When the last byte sent from here arrives.
    private var lastArrival: Duration = .zero

    init(_ connection: SimulatedConnection, process: SimulatedProcess, isServer: Bool) {
        self.connection = connection
        self.process = process
        self.isServer = isServer
    }

    private var network: SimulatedNetwork { connection.network }
    private var peer: SimulatedSocket { connection.peer(of: self) }
    private var isGone: Bool { isOver || process.state == .dead }

    /// The connection is lost: see ``SimulatedConnection/cut()``.
    func cut() { if !isOver { connection.cut() } }

    // MARK: Sending

    /// Sends messages; after the end, or from a process that has died, nothing happens.
    package func send(_ frames: [[UInt8]]) {
        guard !isGone, !connection.isHalfOpen else { return }
        for frame in frames {
            unsentBytes += frame.count
            let arrival = arrival(of: frame.count)
            if let mixed = mixed(frame, arrival) {
                peer.take(mixed)
            } else {
                unsentBytes -= frame.count
            }
        }
        peer.schedule()
    }

    package func ping() {
        guard !isGone, !connection.isHalfOpen else { return }
        let there = arrival(of: 2) - network.now
        let peer = peer
        network.simulation.after(there, on: peer.process) { [self] in
            guard !peer.isOver, !connection.isHalfOpen else { return }
            network.simulation.after(peer.arrival(of: 2) - network.now, on: process) { [self] in
                if !isOver { ponged() }
            }
        }
    }

    /// Sends a close frame and ends this side at once; ``closed`` is not called here.
    package func close(_ code: CloseCode) {
        guard !isGone else { return }
        isOver = true
        guard !connection.isHalfOpen else { return }
        peer.closeArrives(code, at: arrival(of: 4))
    }

    /// The kernel tells the peer when a process has died.
    func processDied() {
        guard !isOver else { return }
        isOver = true
        guard !connection.isHalfOpen else { return }
        peer.closeArrives(nil, at: arrival(of: 1))
    }

    private func arrival(of bytes: Int) -> Duration {
        let now = network.now
        let weather = connection.weather
        var arrival = now + network.latency(in: weather)
        if now < weather.partitionedUntil {
            network.simulation.met(.partition)
            arrival += weather.partitionedUntil - now  // retransmitted once it is over
        }
        if now < weather.slowUntil, isServer {
            network.simulation.met(.slow)
            arrival = max(arrival, lastArrival) + .seconds(Double(bytes) / weather.rate)
        }
        lastArrival = max(arrival, lastArrival)
        return lastArrival
    }

    /// What the network makes of a message: itself, nothing, or (by the side) one more of it.
    private func mixed(_ frame: [UInt8], _ arrival: Duration) -> Parcel? {
        let whole = Parcel(arrival: arrival, bytes: frame)
        guard isServer else { return whole }
        let mixing = connection.weather.mixing
        guard !mixing.isEmpty, Self.mayBeMixed(frame) else { return whole }
        var parcel: Parcel? = whole
        for (kind, until) in mixing where network.now < until && network.random.chance(0.2) {
            network.simulation.met(kind)
            switch kind {
            case .drop: parcel = nil
            case .duplicate:
                unsentBytes += frame.count
                peer.take(whole)
            default: parcel?.arrival += .microseconds(network.random.index(3_000_000))
            }
        }
        return parcel
    }

    private static let event = Array(#"{"type":"event""#.utf8)
    private static let gone = Array(#"{"type":"gone""#.utf8)

    private static func mayBeMixed(_ frame: [UInt8]) -> Bool {
        frame.starts(with: event) || frame.starts(with: gone)
    }

    // MARK: Receiving

    private func take(_ parcel: Parcel) {
        var index = inbound.endIndex
        while index > inbound.startIndex, inbound[index - 1].arrival > parcel.arrival { index -= 1 }
        inbound.insert(parcel, at: index)
    }

    private func closeArrives(_ code: CloseCode?, at arrival: Duration) {
        guard !isOver else { return }
        closing = (code, arrival)
        schedule()
    }

    private func schedule() {
        guard !isScheduled, !isGone, isReading || closing != nil else { return }
        let next = isReading ? inbound.first?.arrival ?? closing?.arrival : closing?.arrival
        guard let next else { return }
        isScheduled = true
        network.simulation.after(next - network.now, on: process) { [self] in
            isScheduled = false
            deliver()
        }
    }

    private func deliver() {
        guard !isGone, !connection.isHalfOpen else { return }
        if isReading {
            let count = inbound.prefix { $0.arrival <= network.now }.count
            if count > 0 {
                let parcels = inbound[..<count]
                let frames = parcels.map(\.bytes)
                inbound.removeFirst(count)
                peer.unsentBytes -= frames.reduce(0) { $0 + $1.count }
                let peer = peer
                if peer.isTakenAwaited {
                    network.simulation.after(.zero, on: peer.process) {
                        if !peer.isOver { peer.taken?() }
                    }
                }
                received(frames[...])
            }
        }
        if let closing, closing.arrival <= network.now, inbound.isEmpty || !isReading {
            end(closing.code)
            network.ended(connection)
        } else {
            schedule()
        }
    }

    func forget() {
        received = { _ in }
        closed = { _ in }
        taken = nil
        ponged = {}
    }

    /// This end learns that it is over.
    func end(_ code: CloseCode?) {
        guard !isOver else { return }
        isOver = true
        inbound = []
        guard process.state != .dead else { return }
        network.simulation.after(.zero, on: process) { [self] in closed(code) }
    }
}
