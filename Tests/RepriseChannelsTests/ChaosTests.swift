import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// A server in memory that keeps its own record of what it has, and delivers it badly on purpose:
/// in any order, twice, not at all, over connections that break.
private final class BadServer: Sendable {
    private struct State {
        var random: SeededGenerator
        var head: Int64 = 0
        var faults = 0.2
        var sockets: [MemorySocket] = []
    }

    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: SeededGenerator(seed: seed))) }

    var head: Int64 { state.withLock { $0.head } }

    /// From now on everything works.
    func mend() { state.withLock { $0.faults = 0 } }

    /// Stores the next messages, and sends them to whom it may still reach.
    func publish(_ count: Int64) throws {
        let (range, sockets, isLost) = state.withLock { state in
            let first = state.head + 1
            state.head += count
            state.sockets.removeAll { $0.hasEnded }
            return (
                first...state.head, state.sockets, state.random.chance(state.faults)
            )
        }
        if isLost { return }
        for socket in sockets { socket.push(try frames(range)) }
    }

    private func frames(_ range: ClosedRange<Int64>) throws -> [[UInt8]] {
        try range.map { ServerFrame.event(try ScriptedChannelServer.event($0)).encoded() }
    }

    /// Serves one connection until it ends.
    func serve(_ socket: MemorySocket) async throws {
        var decoder = FrameDecoder()
        while let bytes = await socket.sent() {
            switch try decoder.clientFrame(bytes) {
            case .hello:
                let welcome = ServerFrame.Welcome(
                    version: 1, time: WallTime(milliseconds: 1_800_000_000_000),
                    heartbeat: .seconds(25), server: "bad")
                socket.push([ServerFrame.welcome(welcome).encoded()])
            case .subscribe(let channels):
                for channel in channels { try answer(channel, on: socket) }
            case .unsubscribe, .publish, .receipt, .typing, .presence, .watch, .authenticate: break
            }
        }
    }

    private func answer(_ request: ClientFrame.Subscription, on socket: MemorySocket) throws {
        try state.withLock { state in
            let head = state.head
            let channel = request.channel
            let epoch = try Epoch("e1")
            let start = ServerFrame.subscribed(
                .init(channel: channel, epoch: epoch, head: head, floor: 0))
            var events = try request.coverage.complement(through: head).flatMap {
                try frames($0.after + 1...$0.through)
            }
            if state.random.chance(0.5) { events.shuffle(using: &state.random) }
            events = events.flatMap { event in
                if state.random.chance(state.faults) { return [[UInt8]]() }
                return state.random.chance(state.faults) ? [event, event] : [event]
            }
            let end = ServerFrame.syncComplete(
                .init(
                    channel: channel, epoch: epoch, through: head, time: WallTime(milliseconds: 0)))
            socket.push([start.encoded()] + events + [end.encoded()])
            state.sockets.append(socket)
            if state.random.chance(state.faults) { socket.cut() }
        }
    }
}

@Suite("Channels under faults", .timeLimit(.minutes(2)))
struct ChaosTests {
    @Test(
        "Guarantees 1, 3, 4 and 5: after kills, cuts, repetitions and losses every message is there, the transactional effect exactly once, and the ledger agrees with the server's own record"
    )
    func everything() async throws {
        for _ in 0..<3 {
            let seed = UInt64.random(in: 0...UInt64.max)
            do {
                try await run(seed: seed)
            } catch {
                Issue.record(error, "seed \(seed)")
            }
        }
    }

    private func run(seed: UInt64) async throws {
        let server = BadServer(seed: seed)
        var random = SeededGenerator(seed: ~seed)
        let observer = Observer()
        var device = try await start(observer, server: server)
        for _ in 0..<8 {
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                try server.publish(Int64.random(in: 1...12, using: &random))
                if random.chance(0.3) { await Task.yield() }
            }
            device = try await start(observer, server: server, killing: device)
        }
        server.mend()
        try server.publish(1)
        let head = server.head
        try await eventually("everything is applied") {
            device.time.advance(by: .seconds(1))
            return try await device.journal.ledger().outcomes[.applied] == head
        }
        let sum = try await device.journal.ledger()
        #expect(sum.accepted == head && sum.isBalanced && sum.lost.isEmpty)
        let sunk = try await device.sunk()
        #expect(sunk.count == Int(head), "seed \(seed)")
        #expect(Set(sunk) == Set(1...Int(head)), "seed \(seed)")
        checkRepetitions(observer.messages, head: head, seed: seed)
        try await device.finish()
    }

    /// Outside of the journal: at least once, and nothing a second time without saying so.
    private func checkRepetitions(_ messages: [Message], head: Int64, seed: UInt64) {
        #expect(Set(messages.map(\.seq)) == Set(1...head), "seed \(seed)")
        var seen: Set<Int64> = []
        for message in messages where !seen.insert(message.seq).inserted {
            #expect(message.attempt > 1, "seed \(seed): \(message.seq) came again in silence")
        }
    }

    private func start(_ observer: Observer, server: BadServer, killing former: Bench? = nil)
        async throws -> Bench
    {
        former?.kill()
        let bench = try await Bench(killing: former)
        try await bench.general.read("file") { [weak bench] message in
            // A dead process handles nothing.
            guard let bench else { throw CancellationError() }
            try bench.whileAlive { observer.see(message) }
        }
        try await bench.general.read("sink", inTransaction: TransactionalReaderTests.insert)
        bench.start()
        let dialer = bench.dialer
        Task {
            while true {
                let socket = try await dialer.accept()
                Task { try await server.serve(socket) }
            }
        }
        return bench
    }
}
