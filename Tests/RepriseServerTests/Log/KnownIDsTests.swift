import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Enough ids that some lie in a sealed run and some do not.
@Suite("Ids that the SQLite log knows")
struct KnownIDsTests {
    /// More than two runs hold: one is sealed, one is being sealed, some are neither.
    private static let count = 40_000
    private static let perRun = 16_384

    @Test(
        "stay known in sealed runs, over restarts and trims, for 30 days and while their messages are stored",
        .limit("log.ids")
    )
    func lifeOfIDs() async throws {
        let clock = ManualClock()
        let store = try SQLiteStore(clock: clock) { $0.idsPerRun = Self.perRun }
        try await store.reopen()
        let room = try ChannelName("room")
        let ids = (0..<Self.count).map { _ in EntryID.random() }
        try await append(ids[...], to: store, room)
        try await expectKnown(ids, in: store, room)
        try await store.reopen()
        try await expectKnown(ids, in: store, room)

        clock.advance(by: .seconds(31 * 86_400))
        try await store.log.trim(RetentionPolicy(), now: clock.wall())
        try await expectKnown(ids, in: store, room)

        _ = try await store.log.trim(room, through: Int64(Self.count))
        try await store.log.trim(
            RetentionPolicy(), now: clock.wall().advanced(by: .seconds(-2 * 86_400)))
        try await expectKnown(ids, in: store, room)

        try await store.log.trim(RetentionPolicy(), now: clock.wall())
        let sealed = stride(from: 0, to: Self.perRun, by: 499).map { ids[$0] }
        let again = try await store.append(sealed.map { message(room, id: $0) })
        #expect(again.map { $0.event?.seq } == sealed.indices.map { Int64(Self.count + 1 + $0) })
        await store.remove()
    }

    @Test("are written in the order of their bytes, so that none is left out if that is cut short")
    func order() async throws {
        let store = try SQLiteStore { $0.idsPerRun = Self.perRun }
        try await store.reopen()
        let room = try ChannelName("room")
        // Short ones, and those whose first eight bytes are the same.
        let ids = try (0..<Self.count).map { index in
            switch index % 5 {
            case 0: try EntryID("\(index)")
            case 1, 2: try EntryID("the-same-\(EntryID.random())")
            default: EntryID.random()
            }
        }
        // All that have collected with the commit that reaches a run's length.
        let run = ids.prefix(18_000).map(\.text).sorted()
        var stored = 0
        for count in [22_000, 4_000, 4_000] {
            try await append(ids[stored..<stored + count], to: store, room)
            stored += count
            let written = try await Self.ids(ofRun: 1, in: store)
            #expect(written == Array(run.prefix(stored - 16_000)))
            try await expectKnown(Array(ids.prefix(stored)), in: store, room)
            try await store.reopen()
            try await expectKnown(Array(ids.prefix(stored)), in: store, room)
        }
        try await append(ids[stored...], to: store, room)
        #expect(try await Self.ids(ofRun: 1, in: store) == run)
        try await expectKnown(ids, every: 31, in: store, room)
        await store.remove()
    }

    @Test(
        "are sealed a few a commit, and each is known between any two, also when the log is opened there",
        .limit("log.idRuns")
    )
    func slices() async throws {
        let perRun = 512
        let store = try SQLiteStore { $0.idsPerRun = perRun }
        try await store.reopen()
        let room = try ChannelName("room")
        var ids = (0..<perRun - 1).map { _ in EntryID.random() }
        _ = try await store.append(ids.map { message(room, id: $0) })
        let file = try Self.file(of: store)
        var (sealed, commits) = (0, 0)
        while sealed < perRun + 4, commits < 4 * perRun {
            let new = (0..<1 + commits % 6).map { _ in EntryID.random() }
            _ = try await store.append(new.map { message(room, id: $0) })
            ids += new
            commits += 1
            let now = try await file.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM ids") }
            #expect((now ?? 0) - sealed <= max(new.count, perRun / 128))
            sealed = now ?? 0
            if commits % 9 == 0 { try await store.reopen() }
            if commits % 9 < 2 { try await expectKnown(ids, every: 3, in: store, room) }
        }
        try file.close()
        #expect(sealed >= perRun + 4, "the run after the first is being sealed")
        let lines = try store.sqlite.stepped.dump()
        #expect(lines.count { $0.hasPrefix("run ") } == 1)
        let run = lines.filter { $0.hasPrefix("id 1 ") }.map { $0.split(separator: " ")[2] }
        #expect(run == ids.prefix(perRun).map(\.text).sorted().map { $0[...] })
        await store.remove()
    }

    @Test(
        "are known in more runs than are tested at once, also of a former version; a damaged filter is refused"
    )
    func manyRuns() async throws {
        let store = try SQLiteStore { $0.idsPerRun = 8 }
        try await store.reopen()
        let room = try ChannelName("room")
        var ids: [EntryID] = []
        for _ in 0..<200 {
            ids.append(.random())
            _ = try await store.append([message(room, id: ids[ids.count - 1])])
        }
        try await expectKnown(ids, every: 1, in: store, room)
        await store.close()
        try store.change("UPDATE id_runs SET filter2 = NULL WHERE run % 3 = 0")
        try await store.reopen()
        try await expectKnown(ids, every: 1, in: store, room)
        await store.close()
        try store.change("UPDATE id_runs SET filter2 = zeroblob(7) WHERE run = 20")
        try await store.reopen()
        await #expect(throws: RepriseError.self) {
            _ = try await store.append([message(room, id: .random())])
        }
        await store.remove()
    }

    @Test("are searched on from the one that was found stored, until none of a run is")
    func keptInRun() async throws {
        let clock = ManualClock()
        let store = try SQLiteStore(clock: clock) { $0.idsPerRun = 8 }
        try await store.reopen()
        let (gone, kept) = (try ChannelName("gone"), try ChannelName("kept"))
        let ids = try "abcdefgh".map { try EntryID(String($0)) }
        let batch = ids.prefix(6).map { message(gone, id: $0) }
        _ = try await store.append(batch + ids.suffix(2).map { message(kept, id: $0) })
        clock.advance(by: .seconds(31 * 86_400))
        func runs() async throws -> Int {
            try await store.log.trim(RetentionPolicy(), now: clock.wall())
            return try store.sqlite.stepped.dump().count { $0.hasPrefix("run ") }
        }
        _ = try await store.log.trim(gone, through: 6)
        #expect(try await runs() == 1)
        // No floor of a log falls: it shows that "a" is not looked at again.
        let file = try DatabaseQueue(path: store.folder.path + "/messages.sqlite")
        try await file.write {
            try $0.execute(sql: "UPDATE heads SET floor = 0 WHERE name = 'gone'")
        }
        try file.close()
        _ = try await store.log.trim(kept, through: 1)
        #expect(try await runs() == 1, "the other is stored")
        _ = try await store.log.trim(kept, through: 2)
        #expect(try await runs() == 0)
        await store.remove()
    }

    /// Each batch is a commit.
    private func append(
        _ ids: ArraySlice<EntryID>, to store: SQLiteStore, _ room: ChannelName
    ) async throws {
        for start in stride(from: ids.startIndex, to: ids.endIndex, by: 2_000) {
            let batch = ids[start..<min(start + 2_000, ids.endIndex)]
            _ = try await store.append(batch.map { message(room, id: $0) })
        }
    }

    private static func file(of store: SQLiteStore) throws -> DatabaseQueue {
        var reading = Configuration()
        reading.readonly = true
        return try DatabaseQueue(
            path: store.folder.path + "/messages.sqlite", configuration: reading)
    }

    private static func ids(ofRun run: Int, in store: SQLiteStore) async throws -> [String] {
        let file = try file(of: store)
        defer { try? file.close() }
        return try await file.read { db in
            try String.fetchAll(
                db, sql: "SELECT id FROM ids WHERE run = ? ORDER BY id", arguments: [run])
        }
    }

    private func expectKnown(
        _ ids: [EntryID], every step: Int = 997, in store: SQLiteStore, _ room: ChannelName
    ) async throws {
        let samples = stride(from: 0, to: ids.count, by: step)
        let results = try await store.append(samples.map { message(room, id: ids[$0]) })
        #expect(results == samples.map { .duplicate(seq: Int64($0) + 1) })
    }
}
