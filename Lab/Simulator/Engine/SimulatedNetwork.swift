import RepriseCore
import RepriseWire

/// The network between devices and servers: connections that carry WebSocket messages, and what
/// goes wrong on them.
///
/// What TCP promises holds within a connection (in order, once, or not at all) but for the faults
/// `reorder`, `drop` and `duplicate`: these stand for proxies and for servers that answer over
/// several streams, and touch events and gones alone, which the protocol allows in any order.
package final class SimulatedNetwork {
    /// What is wrong with the network of one process.
    final class Weather {
        var delay: Duration = .zero
        var delayUntil: Duration = .zero
        var partitionedUntil: Duration = .zero
        /// Bytes a second while it is slow.
        var rate = 0.0
        var slowUntil: Duration = .zero
        var mixing: [(kind: Fault.Kind, until: Duration)] = []

        func clear() {
            (delayUntil, partitionedUntil, slowUntil, mixing) = (.zero, .zero, .zero, [])
        }
    }

    private struct Listener {
        let process: SimulatedProcess
        let accept: (SimulatedSocket) -> Void
    }

    let simulation: Simulation
    var random: SeededRandom
    private var listeners: [String: [Listener]] = [:]
    /// Whom a balancer prefers for now, as one that counts connections does with one that is new.
    private var preferred: (process: SimulatedProcess, until: Duration)?
    private var weather: [String: Weather] = [:]
    /// In the order in which they were made.
    private var connections: [SimulatedConnection] = []
    /// All that were ever made.
    private var made: [SimulatedConnection] = []

    package init(_ simulation: Simulation) {
        self.simulation = simulation
        random = simulation.random("network")
        simulation.whenEnded { [self] in
            for connection in made { connection.forget() }
            (made, connections, listeners, preferred) = ([], [], [:], nil)
        }
    }

    /// A server listens; `accept` is called on its process for each connection.
    ///
    /// Of several with one name any gets it.
    package func listen(
        as server: String, on process: SimulatedProcess,
        accept: @escaping (SimulatedSocket) -> Void
    ) {
        listeners[server, default: []].append(Listener(process: process, accept: accept))
        process.whenKilled { [unowned self] in
            listeners[server]?.removeAll { $0.process === process }
        }
    }

    /// Dials; `then` gets nil if nobody answers, or if the connection has ended before it is there.
    package func dial(
        from process: SimulatedProcess, to server: String,
        then: @escaping (SimulatedSocket?) -> Void
    ) {
        let timeout: Duration = .seconds(10)
        let weather = weather(of: process)
        guard now >= weather.partitionedUntil else {
            simulation.met(.partition)
            return simulation.after(timeout, on: process) { then(nil) }
        }
        let latency = latency(in: weather)
        let listening = listeners[server] ?? []
        guard !listening.isEmpty else {
            return simulation.after(latency + latency, on: process) { then(nil) }
        }
        let any = listening[listening.count > 1 ? random.index(listening.count) : 0]
        let listener = listening.first(where: isPreferred) ?? any
        guard listener.process.state == .running else {
            return simulation.after(timeout, on: process) { then(nil) }
        }
        let (life, dialler) = (listener.process.life, process.life)
        simulation.after(latency) { [self] in
            // Who dialled is gone; the life that has begun meanwhile has asked for nothing.
            guard process.life == dialler else { return }
            guard listener.process.state == .running, listener.process.life == life,
                process.state != .dead
            else {
                return simulation.after(latency, on: process) { then(nil) }
            }
            let connection = SimulatedConnection(self, client: process, server: listener.process)
            connections.append(connection)
            made.append(connection)
            simulation.after(.zero, on: listener.process) { listener.accept(connection.serverEnd) }
            // One that has ended on its way to the dialler would never be heard to close.
            simulation.after(latency, on: process) {
                then(connection.clientEnd.isOver ? nil : connection.clientEnd)
            }
        }
    }

    func prefer(_ process: SimulatedProcess, for length: Duration) {
        preferred = (process, now + length)
    }

    private func isPreferred(_ listener: Listener) -> Bool {
        preferred.map { $0.process === listener.process && now < $0.until } ?? false
    }

    // MARK: Faults

    /// Lets a fault of the network loose on the connections of a process.
    package func inflict(_ fault: Fault, on process: SimulatedProcess) {
        let weather = weather(of: process)
        let until = now + fault.length
        switch fault.kind {
        case .delay:
            weather.delay = .milliseconds(Int64(fault.bits % 5_000))
            weather.delayUntil = until
        case .slow:
            weather.rate = 200 + Double(fault.bits % 4_000)
            weather.slowUntil = until
        case .partition: weather.partitionedUntil = max(weather.partitionedUntil, until)
        case .reorder, .drop, .duplicate: weather.mixing.append((fault.kind, until))
        case .cut:
            for connection in connections(of: process) {
                simulation.met(.cut)
                connection.cut()
            }
        case .halfOpen:
            for connection in connections(of: process) {
                simulation.met(.halfOpen)
                connection.isHalfOpen = true
            }
        default: return
        }
    }

    /// All is well again; connections that are half open are left to those who hold them.
    package func heal() { for one in weather.values { one.clear() } }

    // MARK: What connections ask

    var now: Duration { simulation.now }

    /// The same for all its connections.
    func weather(of process: SimulatedProcess) -> Weather {
        if let known = weather[process.name] { return known }
        let new = Weather()
        weather[process.name] = new
        return new
    }

    /// How long one way takes now.
    func latency(in weather: Weather) -> Duration {
        var latency: Duration = .microseconds(500 + random.index(40_000))
        if now < weather.delayUntil {
            simulation.met(.delay)
            latency += weather.delay * random.fraction()
        }
        return latency
    }

    func ended(_ connection: SimulatedConnection) {
        connections.removeAll { $0 === connection }
    }

    private func connections(of process: SimulatedProcess) -> [SimulatedConnection] {
        connections.filter { $0.client === process }
    }
}
