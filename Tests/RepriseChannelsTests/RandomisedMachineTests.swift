import RepriseChannels
import RepriseCore
import RepriseTesting
import RepriseWire
import Testing

/// A log that answers as the protocol says, over a line that does not deliver as it should.
private struct ModelServer {
    var events: [(prev: Int64, seq: Int64)] = []
    var floor: Int64 = 0
    var epoch = 1

    var head: Int64 { events.last?.seq ?? 0 }

    mutating func publish(_ random: inout SeededGenerator) {
        // A rolled-back transaction leaves a gap, which the next event accounts for.
        let gap: Int64 = random.chance(0.1) ? Int64.random(in: 1...4, using: &random) : 0
        events.append((prev: head, seq: head + 1 + gap))
    }

    /// What is missing, tiled: each sequence in one event's range or one `gone`.
    func answer(_ coverage: Coverage) throws -> [Frame] {
        var frames: [Frame] = []
        for hole in coverage.complement(through: head) {
            if hole.after < floor {
                frames.append(.gone(hole.after, min(hole.through, floor)))
            }
            frames += events.filter { $0.seq > floor && hole.contains($0.seq) }
                .map { .event($0.prev, $0.seq) }
        }
        return frames
    }
}

private enum Frame {
    case subscribed(head: Int64, epoch: Int)
    case event(Int64, Int64)
    case gone(Int64, Int64)
    case syncComplete(Int64, epoch: Int)
    case heartbeat(Int64)
}

/// One device, one server, one bad line; every step is checked against sets of plain numbers.
private struct Run {
    var random: SeededGenerator
    var server = ModelServer()
    var machine = SubscriptionMachine()
    var now: Duration = .zero
    var line: [Frame] = []
    var isConnected = false
    /// What the server has promised to send live since the connection was made.
    var isSubscribed = false
    var applied: [Int: Set<Int64>] = [:]
    var accounted: Set<Int64> = []
    var wantsReconnect = false
    var faults = 0.15

    mutating func perform(_ actions: [SubscriptionMachine.Action]) throws {
        for action in actions {
            switch action {
            case .subscribe(let epoch, let coverage):
                let isCurrent = epoch == (try Epoch("e\(server.epoch)"))
                var answer: [Frame] = [.subscribed(head: server.head, epoch: server.epoch)]
                var tiles = try server.answer(isCurrent ? coverage : Coverage())
                if random.chance(0.5) { tiles.shuffle(using: &random) }
                answer += tiles
                answer.append(.syncComplete(server.head, epoch: server.epoch))
                line += answer
                isSubscribed = true
            case .startEpoch: accounted = []
            case .reconnect: wantsReconnect = true
            case .recordLoss, .recordSnapshot, .requestSnapshot, .settleSnapshot, .unsubscribe,
                .scheduleTimer, .enter:
                break
            }
        }
    }

    mutating func step() throws {
        switch Int.random(in: 0..<20, using: &random) {
        case 0 where isConnected && random.chance(faults):
            try perform(machine.disconnected())
            line = []
            isConnected = false
            isSubscribed = false
        case 0...2 where !isConnected:
            isConnected = true
            try perform(machine.connected(at: now))
        case 1..<8:
            server.publish(&random)
            if let event = server.events.last, isSubscribed, !random.chance(faults) {
                line.append(.event(event.prev, event.seq))
            }
        case 8 where random.chance(0.1):
            server.floor = min(server.head, server.floor + 5)
        case 9 where random.chance(faults / 5):
            server.epoch += 1
            server.events = Array(server.events.prefix(server.events.count / 2))
            server.floor = 0
            // A log is replaced while nobody is connected to it.
            if isConnected { try perform(machine.disconnected()) }
            line = []
            isConnected = false
            isSubscribed = false
        case 10 where isSubscribed:
            line.append(.heartbeat(server.head))
        case 11:
            now += .seconds(Int64.random(in: 1...40, using: &random))
            try perform(machine.timerFired(at: now))
        default: try deliver()
        }
        if wantsReconnect {
            wantsReconnect = false
            try perform(machine.disconnected())
            line = []
            isConnected = false
            isSubscribed = false
        }
        try check()
    }

    mutating func deliver() throws {
        guard isConnected else { return }
        var batch: [Frame] = []
        for _ in 0..<min(line.count, Int.random(in: 1...12, using: &random)) {
            let frame = line.removeFirst()
            if case .subscribed = frame {
                batch.append(frame)
                continue
            }
            if random.chance(faults) { continue }
            batch.append(frame)
            if random.chance(faults) { batch.append(frame) }
        }
        for frame in batch { try receive(frame) }
        try perform(machine.batchRead(at: now, jitter: 0.5))
        try perform(machine.committed(revision: machine.revision, at: now, jitter: 0.5))
    }

    mutating func receive(_ frame: Frame) throws {
        let channel = try ChannelName("general")
        switch frame {
        case .subscribed(let head, let epoch):
            try perform(
                machine.subscribedReceived(
                    .init(
                        channel: channel, epoch: try Epoch("e\(epoch)"), head: head,
                        floor: server.floor), at: now))
        case .event(let prev, let seq):
            guard machine.eventReceived(after: prev, seq: seq) == .store else { return }
            let isFirst = applied[server.epoch, default: []].insert(seq).inserted
            try #require(isFirst, "\(seq) was applied twice")
            accounted.formUnion(prev + 1...seq)
        case .gone(let after, let through):
            let range = try #require(SequenceRange(after: after, through: through))
            let before = machine.revision
            try perform(machine.goneReceived(Gone(range: range, reason: .retention)))
            if machine.revision != before { accounted.formUnion(after + 1...through) }
        case .syncComplete(let through, let epoch):
            try perform(
                machine.syncCompleteReceived(
                    .init(
                        channel: channel, epoch: try Epoch("e\(epoch)"), through: through,
                        time: WallTime(milliseconds: 0)), at: now, jitter: 0.5))
        case .heartbeat(let head): try perform(machine.heartbeatReceived(head: head, at: now))
        }
    }

    func check() throws {
        let covered = Set(machine.coverage.ranges.flatMap { $0.after + 1...$0.through })
        try #require(covered == accounted, "coverage is not what was applied or is gone")
        if machine.isLive {
            try #require(
                machine.coverage.isComplete(through: machine.knownHead), "live with a known hole")
        }
    }
}

@Suite("Subscription machine, randomised")
struct RandomisedMachineTests {
    @Test(
        "covers exactly the applied and gone events, applies none twice, is never live with a hole, and becomes live"
    )
    func faultyLine() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        for round in 0..<200 {
            var run = Run(random: SeededGenerator(seed: seed &+ UInt64(round)))
            let comment: Comment = "seed \(seed) round \(round)"
            do {
                for _ in 0..<400 { try run.step() }
                try Self.recover(&run)
            } catch {
                Issue.record(error, comment)
                return
            }
            try #require(run.machine.isLive, comment)
            let missed = run.server.events.filter { !run.machine.coverage.contains($0.seq) }
            try #require(missed.isEmpty, comment)
        }
    }

    /// The line works again: now it must become complete, within a few minutes of its clock.
    private static func recover(_ run: inout Run) throws {
        run.faults = 0
        for _ in 0..<400 {
            if !run.isConnected {
                run.isConnected = true
                try run.perform(run.machine.connected(at: run.now))
            }
            while !run.line.isEmpty { try run.deliver() }
            if run.machine.isLive, run.machine.coverage.isComplete(through: run.server.head) {
                return
            }
            run.line.append(.heartbeat(run.server.head))
            run.now += .seconds(10)
            try run.perform(run.machine.timerFired(at: run.now))
            if run.wantsReconnect {
                run.wantsReconnect = false
                try run.perform(run.machine.disconnected())
                run.isConnected = false
                run.line = []
            }
            try run.check()
        }
    }
}
