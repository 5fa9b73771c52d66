import RepriseCore
import RepriseServer

/// The journal of a simulated cluster: what it holds it holds; on the way to it and from it
/// everything goes wrong that can.
///
/// It stands for a JetStream stream: one order without holes, stamps by a clock that is not
/// monotone, and nothing promised of a publish that nobody answered.
final class SimulatedStream {
    private let simulation: Simulation
    private var random: SeededRandom
    private(set) var entries: [StoredEntry] = []
    /// When each was stored.
    private(set) var moments: [Duration] = []
    /// Called with each entry when it is stored, before any gateway hears of it; answers whether it
    /// counts.
    var stored: (StoredEntry) -> Bool = { _ in false }
    /// The places of the entries that count.
    private var counting: [Int] = []
    /// The first entry that it holds: those before it are purged.
    private(set) var first: Int64 = 1
    /// Whether it has lost entries that it held.
    private(set) var hasGoneBack = false
    /// Whether bases are made of views.
    var keepsBases = false
    /// Whether gateways have to compare what they applied with it, as shipping ones always do.
    var isDoubted: Bool { hasGoneBack || keepsBases }
    /// The connection that every gateway has to it: its servers were off when it lost them.
    var connectionNumber: UInt64 { hasGoneBack ? 1 : 0 }
    private var gateways: [SimulatedGateway] = []
    /// Of each session, the last number; for a wrong journal.
    private var numbers: [Int64: Int64] = [:]
    private var troubles: [(kind: Fault.Kind, until: Duration)] = []

    init(_ simulation: Simulation) {
        self.simulation = simulation
        random = simulation.random("journal")
        simulation.whenEnded { [self] in
            gateways = []
            stored = { _ in false }
        }
    }

    func add(_ gateway: SimulatedGateway) { gateways.append(gateway) }

    /// Puts an entry in without a gateway.
    func put(_ entry: ClusterEntry) { store(entry.bytes) }

    func send(_ bytes: [UInt8], from gateway: SimulatedGateway) {
        for way in ways(for: gateway) { simulation.after(way) { [self] in arrived(bytes) } }
    }

    /// Reads at one moment and answers at a later one, by a node that may be behind.
    func read(
        after sequence: Int64, for gateway: SimulatedGateway,
        then: @escaping (_ entries: [StoredEntry], _ last: Int64?) -> Void
    ) {
        let way = random.latency(.microseconds(300), .milliseconds(20))
        guard !gateway.isCutOff, !random.chance(0.02) else {
            return simulation.after(.seconds(2), on: gateway.process) { then([], nil) }
        }
        simulation.after(way) { [self] in
            let end = random.chance(0.1) ? random.index(entries.count + 1) : entries.count
            let gone = Int(max(sequence, first - 1))
            let found = entries.prefix(end).dropFirst(gone).prefix(1 + random.index(64))
            let last = Int64(max(end, Int(sequence)))
            simulation.after(way, on: gateway.process) { then(Array(found), last) }
        }
    }

    // MARK: Faults

    func inflict(_ fault: Fault) {
        guard fault.kind != .journalStrangers else { return forge(1 + Int(fault.bits % 4)) }
        troubles.append((fault.kind, simulation.now + min(fault.length, .seconds(30))))
    }

    func heal() { troubles = [] }

    /// Holds no more than it held once: what is stored from now on has numbers that were used.
    func goBack(to sequence: Int64) {
        simulation.trace("journal", "goes back from \(entries.count) to \(sequence)")
        hasGoneBack = true
        entries.removeLast(entries.count - Int(sequence))
        moments.removeLast(moments.count - Int(sequence))
        counting.removeAll { $0 >= Int(sequence) }
    }

    /// Removes the entries up to this one.
    func purge(through sequence: Int64) {
        guard sequence >= first else { return }
        simulation.trace("journal", "is purged up to \(sequence)")
        first = sequence + 1
    }

    /// Whether nobody can commit now: an election is going on.
    var isLeaderless: Bool { happens(.journalLeaderless) }

    /// Somebody else publishes: noise, or a damaged copy of an entry.
    private func forge(_ count: Int) {
        simulation.met(.journalStrangers)
        for _ in 0..<count { store(forged()) }
    }

    private func forged() -> [UInt8] {
        let noise = (0..<random.index(64)).map { _ in UInt8(random.index(256)) }
        guard random.chance(0.7), !counting.isEmpty else {
            // Whoever reads a later format or rules stops, as he should.
            let head = Array(entries.first?.bytes.prefix(13) ?? [])
            return (random.chance(0.5) ? head : []) + noise
        }
        // One that has counted: a damaged copy of the next could not be told from the next.
        var bytes = entries[counting[random.index(counting.count)]].bytes
        switch random.index(3) {
        case 0: bytes.removeLast(1 + random.index(bytes.count - 1))
        case 1: bytes += noise
        default:
            // The format, the rules or a command: its number and past are those that have counted.
            let (first, last) = (ClusterEntry.magic.count, ClusterEntry.magic.count + 9)
            let place = first + random.index(bytes.count - ClusterEntry.headBytes + 9)
            bytes[place < last ? place : place - last + ClusterEntry.headBytes] ^= UInt8(
                1 + random.index(255))
        }
        return bytes
    }

    private func happens(_ kind: Fault.Kind, _ chance: Double = 1) -> Bool {
        guard troubles.contains(where: { $0.kind == kind && simulation.now < $0.until }),
            random.chance(chance)
        else { return false }
        simulation.met(kind)
        return true
    }

    /// One for each time that something arrives.
    private func ways(for gateway: SimulatedGateway) -> [Duration] {
        guard !gateway.isCutOff, !happens(.journalLoses, 0.3) else { return [] }
        return (0..<(happens(.journalRepeats, 0.3) ? 2 : 1)).map { _ in
            let way = random.latency(.microseconds(200), .milliseconds(10))
            guard happens(.journalDelays, 0.4) else { return way }
            // Some so late that their base is too old.
            return way + (random.chance(0.1) ? .seconds(90) : .seconds(5)) * random.fraction()
        }
    }

    private func arrived(_ bytes: [UInt8]) {
        guard !isLeaderless else { return }
        store(bytes)
    }

    /// A wrong journal: every entry is the next of its session.
    private func renumbered(_ bytes: [UInt8]) -> [UInt8] {
        guard var entry = try? ClusterEntry(bytes), entry.session > 0 else { return bytes }
        numbers[entry.session, default: 0] += 1
        entry.n = numbers[entry.session, default: 0]
        return entry.bytes
    }

    private func store(_ bytes: [UInt8]) {
        let off = Duration.seconds(4) * (random.fraction() - 0.5)
        let stamp = SimulatedClock.beginning.advanced(by: simulation.now + off)
        let bytes = simulation.mutation == .clusterRenumbers ? renumbered(bytes) : bytes
        let entry = StoredEntry(sequence: Int64(entries.count) + 1, stamp: stamp, bytes: bytes)
        entries.append(entry)
        moments.append(simulation.now)
        if stored(entry) { counting.append(entries.count - 1) }
        for gateway in gateways where gateway.process.state != .dead {
            for way in ways(for: gateway) {
                let connection = connectionNumber
                simulation.after(way, on: gateway.process) { [self] in
                    if connection == connectionNumber { gateway.heard([entry]) }
                }
            }
        }
    }
}
