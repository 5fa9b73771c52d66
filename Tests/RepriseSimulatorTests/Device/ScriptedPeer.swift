import RepriseCore
import RepriseSimulator
import RepriseWire

/// A correct server of one channel, in as few lines as may be: what devices are tried against here.
final class ScriptedPeer {
    struct Stored: Hashable {
        var seq: Int64
        var id: EntryID
        var body: [UInt8]
    }

    private final class Client {
        let socket: SimulatedSocket
        var decoder = FrameDecoder()
        var isSubscribed = false

        init(_ socket: SimulatedSocket) { self.socket = socket }
    }

    static let name = "server"

    let simulation: Simulation
    let network: SimulatedNetwork
    let process: SimulatedProcess
    let channel: ChannelName
    private(set) var messages: [Stored] = []
    private(set) var floor: Int64 = 0
    private(set) var epochs = 1
    /// How often a message was asked to be stored, by its id.
    private(set) var published: [EntryID: Int] = [:]
    private(set) var requests: [Coverage] = []
    private(set) var connections = 0
    /// Live events that are lost on the way.
    var skips: Set<Int64> = []
    private var clients: [Client] = []

    init(_ simulation: Simulation, _ network: SimulatedNetwork) throws {
        self.simulation = simulation
        self.network = network
        channel = try ChannelName("general")
        process = SimulatedProcess(simulation, name: Self.name)
        process.started = { [unowned self] in
            network.listen(as: Self.name, on: process) { [unowned self] in accept($0) }
        }
        process.start()
        beat()
    }

    var head: Int64 { messages.last?.seq ?? floor }
    var epoch: Epoch { (try? Epoch("e\(epochs)")) ?? .random() }

    private func beat() {
        simulation.after(.seconds(25)) { [unowned self] in
            for client in clients {
                let heads = client.isSubscribed ? [channel: head] : [:]
                send([.heartbeat(time: process.clock.wall(), heads: heads)], to: client)
            }
            beat()
        }
    }

    private func send(_ frames: [ServerFrame], to client: Client) {
        client.socket.send(frames.map { $0.encoded() })
    }

    private func accept(_ socket: SimulatedSocket) {
        connections += 1
        let client = Client(socket)
        clients.append(client)
        socket.closed = { [unowned self] _ in clients.removeAll { $0 === client } }
        socket.received = { [unowned self] frames in
            for frame in frames {
                guard let frame = try? client.decoder.clientFrame(frame) else { continue }
                received(frame, from: client)
            }
        }
    }

    private func received(_ frame: ClientFrame, from client: Client) {
        switch frame {
        case .hello:
            let welcome = ServerFrame.Welcome(
                version: 1, time: process.clock.wall(), heartbeat: .seconds(25), server: "peer")
            send([.welcome(welcome)], to: client)
        case .subscribe(let channels): for request in channels { answer(request, to: client) }
        case .unsubscribe: client.isSubscribed = false
        case .receipt, .typing, .presence, .watch, .authenticate: break
        case .publish(let publish):
            published[publish.id, default: 0] += 1
            let seq = store(publish.id, publish.body)
            send([.published(.init(channel: channel, id: publish.id, seq: seq))], to: client)
        }
    }

    private func answer(_ request: ClientFrame.Subscription, to client: Client) {
        requests.append(request.coverage)
        let isCurrent = request.epoch == epoch && request.coverage.top <= head
        let coverage = isCurrent ? request.coverage : Coverage()
        var frames: [ServerFrame] = [
            .subscribed(
                .init(
                    channel: channel, epoch: epoch, head: head, floor: floor,
                    reset: request.epoch == epoch && !isCurrent))
        ]
        for hole in coverage.complement(through: head) {
            if let gone = SequenceRange(after: hole.after, through: min(hole.through, floor)) {
                frames.append(.gone(channel: channel, Gone(range: gone, reason: .retention)))
            }
            frames += messages.filter { hole.contains($0.seq) }.map(event)
        }
        frames.append(
            .syncComplete(
                .init(
                    channel: channel, epoch: epoch, through: head, time: process.clock.wall())))
        client.isSubscribed = true
        send(frames, to: client)
    }

    private func event(_ stored: Stored) -> ServerFrame {
        .event(
            .init(
                channel: channel, seq: stored.seq, prev: stored.seq - 1, id: stored.id,
                time: SimulatedClock.beginning, body: stored.body))
    }

    @discardableResult
    func store(_ id: EntryID, _ body: [UInt8] = Array("1".utf8)) -> Int64 {
        if let known = messages.first(where: { $0.id == id }) { return known.seq }
        let stored = Stored(seq: head + 1, id: id, body: body)
        messages.append(stored)
        if !skips.contains(stored.seq) {
            for client in clients where client.isSubscribed { send([event(stored)], to: client) }
        }
        return stored.seq
    }

    /// Retention takes the oldest messages away.
    func trim(_ count: Int) {
        let taken = messages.prefix(min(count, max(messages.count - 1, 0)))
        floor = taken.last?.seq ?? floor
        messages.removeFirst(taken.count)
    }

    /// A backup is restored: the newest messages are gone, and the log is a new one.
    func restore() {
        epochs += 1
        messages = messages.prefix(messages.count / 2).enumerated().map {
            Stored(seq: Int64($0.offset + 1), id: $0.element.id, body: $0.element.body)
        }
        floor = 0
        for client in clients { client.socket.close(.goingAway) }
        clients = []
    }
}
