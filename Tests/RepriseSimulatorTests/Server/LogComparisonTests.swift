import Foundation
import RepriseCore
import RepriseServer
import RepriseSimulator
import RepriseWire
import Testing

/// Tier (c) of the log: the model may be believed, because it does what SQLite does.
@Suite("The model of the log against the SQLite log")
struct LogComparisonTests {
    /// Random operations on both, as a server and its faults would do them.
    struct Operations {
        var random: SeededRandom
        let store: any LogStore
        let channels: [ChannelName]
        var now = SimulatedClock.beginning
        var count = 0
        var failures = 0

        init(seed: UInt64, store: any LogStore) throws {
            random = SeededRandom(seed: seed, purpose: "operations")
            self.store = store
            channels = try ["a", "b", "c"].map { try ChannelName($0) }
        }

        mutating func step() throws {
            now = now.advanced(by: .milliseconds(Int64(random.index(5_000)) - 500))
            switch random.index(20) {
            case 0...9: try append()
            case 10...13: try read()
            case 14: try trim()
            case 15, 16:
                _ = try store.crash(
                    losingPower: random.chance(0.5), keepsUnsynced: random.chance(0.5))
            case 17: try store.backUp()
            case 18:
                guard random.chance(0.3) else { return try append() }
                try store.restore(epoch: try Epoch("r\(random.index(1_000_000))"))
            default:
                if random.chance(0.3) { now = now.advanced(by: .seconds(20 * 86_400)) }
                if random.chance(0.1) {
                    try store.replace(epoch: try Epoch("n\(random.index(1_000_000))"))
                }
            }
        }

        private mutating func append() throws {
            let batch = try (0..<1 + random.index(5)).map { _ in
                let id = random.chance(0.3) ? random.index(max(count, 1)) : count
                count = max(count, id + 1)
                let after =
                    random.chance(0.2) ? try EntryID("id\(random.index(count + 1))") : nil
                return NewMessage(
                    channel: channels[random.index(channels.count)], id: try EntryID("id\(id)"),
                    after: after, change: try change(),
                    from: random.chance(0.2) ? nil : try UserID("user\(random.index(2))"),
                    mayChangeOthers: random.chance(0.2),
                    body: Array("\"\(String(repeating: "x", count: random.index(60)))\"".utf8))
            }
            let fate = fate()
            failures += fate == .done ? 0 : 1
            _ = try? store.append(batch, now: now) { fate }
        }

        /// Mostly of a message that is there; sometimes of one that will come later.
        private mutating func change() throws -> MessageChange<EntryID>? {
            guard random.chance(0.35) else { return nil }
            let target = try EntryID("id\(random.index(count + 3))")
            return random.chance(0.5) ? .edits(target) : .deletes(target)
        }

        private mutating func trim() throws {
            let policy = RetentionPolicy(
                count: random.chance(0.6) ? Int64(random.index(12)) : nil,
                age: random.chance(0.4) ? .seconds(random.index(200)) : nil,
                bytes: random.chance(0.3) ? Int64(random.index(400)) : nil)
            let fate = fate()
            try? store.trim(policy, now: now) { fate }
        }

        private mutating func fate() -> SimulatedDisk.Fate {
            let rank = random.fraction()
            return rank < 0.12 ? .syncFailed : rank < 0.2 ? .full : .done
        }

        private mutating func read() throws {
            let channel = channels[random.index(channels.count)]
            let head = try store.state(of: channel).head
            var coverage = Coverage()
            for _ in 0..<random.index(4) where head > 0 {
                let after = Int64(random.index(Int(head)))
                coverage.insert(
                    after: after, through: after + 1 + Int64(random.index(Int(head - after))))
            }
            _ = try store.page(
                of: channel, missing: coverage.complement(through: head + Int64(random.index(2))),
                limit: random.index(6), byteLimit: random.index(300))
        }
    }

    /// Runs `count` operations of each seed; returns the first difference.
    static func difference(
        seeds: Range<UInt64>, operations count: Int, mutation: Mutation? = nil
    ) throws -> String? {
        for seed in seeds {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("reprise-compared-\(EntryID.random())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let epoch = try Epoch("first")
            var found: String?
            let store = ComparedLogStore(
                model: ModelLogStore(LogModel(epoch: epoch, idsPerRun: 16), mutation: mutation),
                real: try SQLiteLogStore(in: folder, epoch: epoch) {
                    $0.idsPerRun = 16
                    $0.arrivalsPerTurn = 8
                },
                differs: { found = found ?? "seed \(seed): \($0)" })
            var operations = try Operations(seed: seed, store: store)
            for _ in 0..<count where found == nil { try operations.step() }
            if let found { return found }
        }
        return nil
    }

    @Test(
        "every row and every answer agree, under random operations, failed commits, crashes and restores"
    )
    func agreement() throws {
        #expect(try Self.difference(seeds: 0..<6, operations: 100) == nil)
    }

    @Test(
        "a model that is wrong is found out",
        arguments: [Mutation.forgetIDs, .keepHeadsAfterFailedCommit, .trimWithoutFloor])
    func wrongModel(_ mutation: Mutation) throws {
        #expect(try Self.difference(seeds: 0..<20, operations: 150, mutation: mutation) != nil)
    }
}
