import RepriseCore
import RepriseServer
import RepriseTesting
import RepriseWire
import Testing

/// The promise of catch-up: what is missing is answered, each sequence once.
@Suite("Pages")
struct TilingTests {
    /// What the channel holds, kept by the test.
    private struct Model {
        var events: [ServerFrame.Event] = []
        var floor: Int64 = 0
        var head: Int64 { events.last?.seq ?? 0 }
    }

    @Test(
        "tile whatever is missing, through trims, holes and restarts", arguments: LogUnderTest.all)
    func tiling(_ kind: LogUnderTest) async throws {
        var random = SeededGenerator()
        print("tiling: REPRISE_SEED=\(random.seed)")
        let room = try ChannelName("room")
        let other = try ChannelName("other")
        try await kind.run { store in
            var model = Model()
            for _ in 0..<60 {
                try await change(&model, store, room, &random)
                try await store.fill(other, 1)
                for _ in 0..<8 {
                    try await check(model, store, room, &random)
                }
            }
        }
    }

    private func change(
        _ model: inout Model, _ store: any LogUnderTestStore, _ room: ChannelName,
        _ random: inout SeededGenerator
    ) async throws {
        let dice = Int.random(in: 0..<10, using: &random)
        if dice == 0 { try await store.reopen() }
        if dice < 8 || model.head == 0 {
            let count = Int.random(in: 1...30, using: &random)
            model.events += try await store.fill(room, count)
            let more = Int64.random(in: 1...9, using: &random)
            if dice < 3, try await store.widenLast(by: more, in: room) {
                model.events[model.events.count - 1].seq += more
            }
        }
        if dice > 6 {
            let through = Int64.random(in: 0...model.head, using: &random)
            let floor = try await store.log.trim(room, through: through).floor
            let last = model.events.last { $0.seq <= through }
            model.floor = max(model.floor, last?.seq ?? 0)
            #expect(floor == model.floor)
        }
    }

    private func check(
        _ model: Model, _ store: any LogUnderTestStore, _ room: ChannelName,
        _ random: inout SeededGenerator
    ) async throws {
        let missing = coverage(model, &random).complement(through: model.head)
        let limit = Int.random(in: 1...40, using: &random)
        let (events, gone) = try await answers(to: missing, store, room, limit: limit)
        let stored = Dictionary(uniqueKeysWithValues: model.events.map { ($0.seq, $0) })
        #expect(events.allSatisfy { stored[$0.seq] == $0 && $0.seq > model.floor })
        #expect(gone.allSatisfy { $0.reason == .retention && $0.range.through <= model.floor })
        let ranges =
            events.compactMap { SequenceRange(after: $0.prev, through: $0.seq) } + gone.map(\.range)
        var counts: [Int64: Int] = [:]
        for range in ranges {
            for seq in (range.after + 1)...range.through { counts[seq, default: 0] += 1 }
        }
        let wrong = missing.flatMap { ($0.after + 1)...$0.through }.filter { counts[$0] != 1 }
        #expect(wrong.isEmpty, "these sequences are not answered once")
    }

    private func answers(
        to missing: [SequenceRange], _ store: any LogUnderTestStore, _ room: ChannelName, limit: Int
    ) async throws -> (events: [ServerFrame.Event], gone: [Gone]) {
        var (events, gone, rest) = ([ServerFrame.Event](), [Gone](), missing)
        while let target = rest.last?.through {
            let page = try await store.log.page(
                of: room, missing: rest, limit: limit, byteLimit: 64)
            #expect(page.events.count <= limit)
            try #require(page.through > rest[0].after, "no progress")
            events += page.events
            gone += page.gone
            rest = rest.compactMap {
                SequenceRange(after: max($0.after, page.through), through: $0.through)
            }
            if page.through >= target { break }
        }
        return (events, gone)
    }

    private func coverage(_ model: Model, _ random: inout SeededGenerator) -> Coverage {
        var coverage = Coverage()
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            let after = Int64.random(in: 0...model.head, using: &random)
            coverage.insert(
                after: after, through: after + Int64.random(in: 1...20, using: &random))
        }
        return coverage
    }

    @Test("report messages that were removed by hand as erased, so that no client waits for them")
    func erasedByHand() async throws {
        let room = try ChannelName("room")
        let store = try SQLiteStore()
        try await store.reopen()
        try await store.fill(room, 9)
        await store.close()
        try store.change("DELETE FROM messages WHERE seq IN (1, 4, 5, 9)")
        try await store.reopen()
        let page = try await store.everything(in: room)
        #expect(page.events.map(\.seq) == [2, 3, 6, 7, 8])
        #expect(page.gone.map(\.range.description) == ["(0, 1]", "(3, 5]", "(8, 9]"])
        #expect(page.gone.allSatisfy { $0.reason == .erased })
        #expect(page.through == 9)
        await store.remove()
    }
}
