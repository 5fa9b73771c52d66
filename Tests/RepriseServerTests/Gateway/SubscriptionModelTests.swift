import RepriseServer
import RepriseTesting
import RepriseWire
import Testing

/// A log, a fan-out that lags behind it, a writable flag that flickers, and one subscription, in
/// random order.
///
/// What the device gets must be exactly what it was missing.
@Suite("The machine of a subscription against a model")
struct SubscriptionModelTests {
    struct World {
        var machine: ServerSubscriptionMachine
        var received: [SequenceRange] = []
        var head: Int64
        var dispatched: Int64
        var read: (ServerSubscriptionMachine.Read, UInt32, LogChannelState)?
        var isComplete = false
        let epoch: Epoch
        var generator: SeededGenerator

        mutating func step() {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0...2: head += Int64.random(in: 1...3, using: &generator)
            case 3...5: dispatch(mayWrite: Int.random(in: 0..<4, using: &generator) > 0)
            case 6...7: startRead()
            case 8: answer()
            default: doubt()
            }
        }

        /// Hands over some of what was committed; each sequence is an event of its own.
        private mutating func dispatch(mayWrite: Bool) {
            guard dispatched < head else { return }
            let through = Int64.random(in: dispatched + 1...head, using: &generator)
            switch machine.committed(after: dispatched, through: through, mayWrite: mayWrite) {
            case .send: receive(dispatched, through)
            case .sendAfter(let sequence): receive(sequence, through)
            case .skip: break
            }
            dispatched = through
        }

        private mutating func startRead() {
            guard read == nil, let next = machine.nextRead() else { return }
            read = (next, machine.ticket, LogChannelState(epoch: epoch, head: head, floor: 0))
        }

        private mutating func answer() {
            guard let (what, ticket, state) = read else { return }
            read = nil
            guard Int.random(in: 0..<8, using: &generator) > 0 else {
                return machine.readFailed(ticket: ticket)
            }
            switch what {
            case .state: perform(machine.stateRead(state, ticket: ticket))
            case .page(let missing):
                guard let first = missing.first else { return }
                let through = Int64.random(
                    in: first.after + 1...(missing.last?.through ?? 0), using: &generator)
                guard
                    let actions = machine.pageRead(
                        through: through, epoch: epoch, ticket: ticket)
                else { return }
                for range in missing { receive(range.after, min(range.through, through)) }
                perform(actions)
            }
        }

        /// A fan-out that is dropped: the hub says so.
        private mutating func doubt() {
            dispatched = head
            machine.logBecameUncertain()
        }

        private mutating func perform(_ actions: [ServerSubscriptionMachine.Action]) {
            for action in actions {
                if case .sendSyncComplete = action { isComplete = true }
            }
        }

        private mutating func receive(_ after: Int64, _ through: Int64) {
            if let range = SequenceRange(after: after, through: through) { received.append(range) }
        }

        /// Nothing more is committed; what is under way comes to its end.
        mutating func settle() {
            dispatch(mayWrite: true)
            while dispatched < head { dispatch(mayWrite: true) }
            for _ in 0..<10_000 where machine.wantsRead || read != nil {
                startRead()
                answer()
            }
        }
    }

    @Test("each missing sequence is sent exactly once in every order of events", arguments: 0..<8)
    func exactlyOnce(_ block: UInt64) throws {
        for seed in block * 500..<(block + 1) * 500 {
            var generator = SeededGenerator(seed: seed)
            var coverage = Coverage()
            let head = Int64.random(in: 0...30, using: &generator)
            for _ in 0..<Int.random(in: 0...3, using: &generator) where head > 0 {
                let after = Int64.random(in: 0..<head, using: &generator)
                coverage.insert(
                    after: after, through: Int64.random(in: after + 1...head, using: &generator))
            }
            let epoch = try Epoch("e")
            var world = World(
                machine: ServerSubscriptionMachine(epoch: epoch, coverage: coverage), head: head,
                dispatched: Int64.random(in: 0...head, using: &generator), epoch: epoch,
                generator: generator)
            for _ in 0..<200 { world.step() }
            world.settle()
            var total = coverage
            var count: Int64 = coverage.count
            for range in world.received {
                total.insert(range)
                count += range.count
            }
            #expect(total == Coverage(through: world.head), "seed \(seed): left out")
            #expect(count == world.head, "seed \(seed): twice")
            #expect(world.isComplete, "seed \(seed)")
            #expect(world.machine.headToTell == world.head, "seed \(seed)")
        }
    }
}
