/// A server that stores messages and sends them to those who are connected; it never
/// fails.
class OriginalNoticeServer {
    static let name = "message-server"

    let simulation: Simulation
    let process: SimulatedProcess
    private(set) var count = 0
    private var sockets: [SimulatedSocket] = []

    init(_ simulation: Simulation, network: SimulatedNetwork) {
        self.simulation = simulation
        process = SimulatedProcess(simulation, name: Self.name)
        process.start()
        network.listen(as: Self.name, on: process) { [unowned self] socket in
            socket.received = { [unowned self, unowned socket] frames in
                for case let frame in frames { received(frame, from: socket) }
            }
            socket.closed = { [unowned self, unowned socket] _ in
                sockets.removeAll { $0 === socket }
            }
        }
    }

    func publish() {
        simulation.trace(Self.name, "stores message \(count)")
        let frame = Array("message:\(count)".utf8)
        count += 1
        for socket in sockets { socket.send([frame]) }
    }

    /// A device asks for what it misses.
    func received(_ frame: [UInt8], from socket: SimulatedSocket) {
        guard let from = Self.message(in: frame) else { return }
        sockets.append(socket)
        guard from < count else { return }
        socket.send((from..<count).map { Array("backlog:\($0)".utf8) })
    }

    static func request(from next: Int) -> [UInt8] { Array("from:\(next)".utf8) }

    static func message(in frame: [UInt8]) -> Int? {
        Int(String(decoding: frame.drop { $0 != UInt8(ascii: ":") }.dropFirst(), as: UTF8.self))
    }

    static func isBacklog(_ frame: [UInt8]) -> Bool { frame.first == UInt8(ascii: "b") }
}
