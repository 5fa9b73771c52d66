import RepriseCore
import RepriseServer
import RepriseTesting

/// A journal in this process that loses, doubles, delays and reorders what is sent to it and what
/// it tells, by seed; what it holds it holds.
///
/// It stands for a JetStream stream: one order, no holes, a stamp by a clock that is not monotone,
/// and nothing promised of a publish without an answer.
struct FaultyJournal {
    /// How often things go wrong, of 100.
    struct Faults {
        var lost = 10
        var doubled = 10
        var late = 15
        /// The longest delay of what is late.
        var longest: Duration = .seconds(5)
        /// How far the stamps are off.
        var clock: Duration = .seconds(2)

        static let none = Faults(lost: 0, doubled: 0, late: 0, clock: .zero)
    }

    private struct Transfer {
        let due: Duration
        let number: Int
        /// Nil for the journal itself.
        let reader: Int?
        let entry: StoredEntry
    }

    var faults = Faults()
    private(set) var entries: [StoredEntry] = []
    /// The most entries that are read at once.
    var pageEntries = 64
    /// Those that the node that leads has lost: they cannot be read.
    var missing: Set<Int64> = []
    /// The first entry that can be read.
    private(set) var first: Int64 = 1
    private(set) var lostCount = 0
    private(set) var doubledCount = 0
    private var random: SeededGenerator
    /// Which is due first stands last.
    private var transfers: [Transfer] = []
    private var number = 0
    let readers: Int
    /// By which clock it stamps.
    var clockOf: @Sendable (Duration) -> WallTime = {
        WallTime(milliseconds: 1_800_000_000_000).advanced(by: $0)
    }

    init(seed: UInt64, readers: Int) {
        random = SeededGenerator(seed: seed)
        self.readers = readers
    }

    func wall(_ now: Duration) -> WallTime { clockOf(now) }

    mutating func send(_ bytes: [UInt8], at now: Duration) {
        transfer(StoredEntry(sequence: 0, stamp: wall(now), bytes: bytes), to: nil, at: now)
    }

    /// What has arrived by now: for each reader what he hears.
    mutating func advance(to now: Duration) -> [(reader: Int, entry: StoredEntry)] {
        var heard: [(reader: Int, entry: StoredEntry)] = []
        while let first = transfers.last, first.due <= now {
            transfers.removeLast()
            if let reader = first.reader {
                heard.append((reader, first.entry))
            } else {
                store(first.entry.bytes, at: now)
            }
        }
        return heard
    }

    /// The entries behind one, at most so many, up to the next that is missing.
    func read(after sequence: Int64, limit: Int? = nil) -> [StoredEntry] {
        let there = entries.dropFirst(Int(max(sequence, first - 1)))
            .drop { missing.contains($0.sequence) }
        return Array(
            there.prefix(limit ?? pageEntries).prefix { !missing.contains($0.sequence) })
    }

    /// Removes what is before, as a purge does.
    mutating func removeEntries(through sequence: Int64) { first = max(first, sequence + 1) }

    /// Loses what is stored behind a sequence, as a journal that is restored from an old copy.
    mutating func goBack(to sequence: Int64) { entries.removeLast(entries.count - Int(sequence)) }

    private mutating func store(_ bytes: [UInt8], at now: Duration) {
        let off = faults.clock / .milliseconds(1)
        let stamp = wall(now).advanced(
            by: .milliseconds(
                off > 0 ? Int64.random(in: -Int64(off)...Int64(off), using: &random) : 0))
        let entry = StoredEntry(
            sequence: Int64(entries.count) + 1, stamp: stamp, bytes: bytes)
        entries.append(entry)
        for reader in 0..<readers { transfer(entry, to: reader, at: now) }
    }

    private mutating func transfer(_ entry: StoredEntry, to reader: Int?, at now: Duration) {
        guard !happens(faults.lost) else {
            lostCount += 1
            return
        }
        let isDoubled = happens(faults.doubled)
        if isDoubled { doubledCount += 1 }
        for _ in 0..<(isDoubled ? 2 : 1) {
            number += 1
            let longest = happens(faults.late) ? faults.longest : .milliseconds(3)
            let delay = longest * Double.random(in: 0..<1, using: &random)
            let new = Transfer(due: now + delay, number: number, reader: reader, entry: entry)
            let before = transfers.lastIndex { ($0.due, $0.number) > (new.due, new.number) }
            transfers.insert(new, at: before.map { $0 + 1 } ?? 0)
        }
    }

    private mutating func happens(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &random) < percent
    }
}
