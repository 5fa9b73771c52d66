import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Small turns, so that a few hundred messages pass through every state of both tables.
@Suite("The newest messages of the log")
struct ArrivalsTests {
    private static let rooms = (0..<7).map { channel("room-\($0)") }
    private static let turn = 16

    private static func store() async throws -> SQLiteStore {
        let store = try SQLiteStore { $0.arrivalsPerTurn = turn }
        try await store.reopen()
        return store
    }

    /// What each channel must have, from what the log has answered.
    private struct Expected {
        var events: [ChannelName: [ServerFrame.Event]] = [:]

        mutating func take(_ results: [AppendResult]) {
            for event in results.flatMap(\.events) {
                events[event.channel, default: []].append(event)
                if case .deletes(let target) = event.change { blank(target, in: event.channel) }
            }
        }

        private mutating func blank(_ target: Int64, in channel: ChannelName) {
            events[channel] = events[channel]?.map { event in
                guard event.seq == target || event.change == .edits(target) else { return event }
                var event = event
                event.body = Array("null".utf8)
                event.isDeleted = true
                return event
            }
        }

        mutating func trim(_ channel: ChannelName, through: Int64) {
            events[channel]?.removeAll { $0.seq <= through }
        }
    }

    @Test(
        "are in the right place between any two commits: appended, edited, deleted, trimmed, moved, removed, and read again at a start",
        arguments: 1...6 as ClosedRange<UInt64>)
    func random(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let store = try await Self.store()
        let ada = try UserID("ada")
        var expected = Expected()
        var met: Set<String> = []
        for step in 0..<240 {
            let size = [1, 1, 2, 3, 5, 9, 40].randomElement(using: &random) ?? 1
            let rooms = Self.rooms.prefix([1, 3, 7].randomElement(using: &random) ?? 1)
            let batch =
                rooms.isEmpty
                ? []
                : try (0..<size).map { number in
                    try Self.anyMessage(
                        in: rooms.randomElement(using: &random) ?? Self.rooms[0], by: ada,
                        "\(step) \(number)", expected, &random)
                }
            expected.take(try await store.append(batch))
            switch Int.random(in: 0..<20, using: &random) {
            case 0: try await store.reopen()
            case 1:
                let room = Self.rooms[0]
                let through = Int64.random(
                    in: 0...(expected.events[room]?.last?.seq ?? 0), using: &random)
                _ = try await store.log.trim(room, through: through)
                expected.trim(room, through: through)
            default: break
            }
            if step % 8 == 0 || step > 230 {
                try await Self.compare(expected, store, ada)
                met.formUnion(try Self.whereabouts(in: store))
            }
        }
        #expect(met == ["moved", "not moved", "a copy"])
        await store.remove()
    }

    private static func anyMessage(
        in room: ChannelName, by user: UserID, _ body: String, _ expected: Expected,
        _ random: inout SeededGenerator
    ) throws -> NewMessage {
        let target = expected.events[room]?.suffix(30).randomElement(using: &random)
        let change: MessageChange<EntryID>? =
            switch (target, Int.random(in: 0..<6, using: &random)) {
            case (let target?, 0): .edits(target.id)
            case (let target?, 1): .deletes(target.id)
            default: nil
            }
        return NewMessage(
            channel: room, id: EntryID(unchecked: "m-\(body.replacing(" ", with: "-"))"),
            change: change, from: user, mayChangeOthers: true, body: Array("\"\(body)\"".utf8))
    }

    private static func compare(
        _ expected: Expected, _ store: SQLiteStore, _ user: UserID
    ) async throws {
        for room in rooms {
            let events = expected.events[room] ?? []
            let page = try await store.everything(in: room)
            #expect(page.events == events)
            #expect(page.gone.allSatisfy { $0.reason == .retention })
            let head = page.state.head
            // Page by page, from anywhere.
            for after in [0, head / 3, max(head - 3, 0)] {
                let part = try await store.log.history(of: room, after: after, limit: 5)
                #expect(part.events == Array(events.filter { $0.seq > after }.prefix(5)))
                let unread = try await store.log.unread(
                    of: try UserID("eve"), in: room, after: after)
                let counted = events.count {
                    $0.seq > after && $0.change == nil && !$0.isDeleted
                }
                #expect(unread.count == Int64(counted))
                #expect(try await store.log.unread(of: user, in: room, after: after).count == 0)
            }
        }
    }

    /// What the tables have.
    private static func whereabouts(in store: SQLiteStore) throws -> Set<String> {
        let queue = try DatabaseQueue(path: store.folder.path + "/messages.sqlite")
        let counts = try queue.read { db in
            try ["messages", "all_messages", "arrivals", "arrivals2"].map {
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? 0
            }
        }
        let wrong = try queue.read { db in
            try [
                """
                SELECT count(*) FROM heads WHERE
                (SELECT count(*) FROM all_messages WHERE channel = key) <> count OR
                (SELECT coalesce(sum(length(body)), 0) FROM all_messages WHERE channel = key) <> bytes
                """,
                """
                SELECT count(*) FROM (SELECT * FROM arrivals UNION ALL SELECT * FROM arrivals2) AS a
                JOIN heads ON key = a.channel
                WHERE a.seq <= floor AND CAST(body AS TEXT) <> 'null'
                """,
            ].map { try Int.fetchOne(db, sql: $0) }
        }
        #expect(wrong == [0, 0], "counts of the channels; bodies of what was trimmed")
        let arrived = counts[2] + counts[3]
        #expect(arrived < 4 * turn, "they do not grow")
        let unmoved = counts[1] - counts[0]
        var found: Set<String> = []
        if counts[0] > 0 { found.insert("moved") }
        if unmoved > 0 { found.insert("not moved") }
        if arrived > unmoved { found.insert("a copy") }
        return found
    }

    @Test("are read in the snapshot that a reader has, while they are moved and removed under it")
    func concurrent() async throws {
        let store = try await Self.store()
        let log = store.sqlite
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for step in 0..<600 {
                    _ = try await log.append(
                        Self.rooms.map { message($0, body: "\(step)") })
                }
            }
            for room in Self.rooms.prefix(3) {
                group.addTask {
                    var last: Int64 = 0
                    while last < 600 {
                        let page = try await log.history(of: room, after: 0, limit: .max)
                        let seqs = page.events.map(\.seq)
                        // The head may be a later one than was asked for.
                        #expect(seqs == Array(1..<page.through + 1))
                        #expect(page.gone.isEmpty && page.through >= last)
                        let unread = try await log.unread(
                            of: try UserID("eve"), in: room, after: 0)
                        #expect(unread.count == min(unread.head, WireLimits.unreadCounted))
                        last = page.through
                    }
                }
            }
            try await group.waitForAll()
        }
        await store.remove()
    }

    @Test("are not moved by a commit that failed: the next one finds them where they were")
    func rolledBack() async throws {
        let store = try await Self.store()
        let stepped = store.sqlite.stepped
        var events: [ServerFrame.Event] = []
        struct Wanted: Error {}
        for step in 0..<60 {
            let batch = Self.rooms.map { message($0, body: "\(step)") }
            if step % 3 == 1 {
                #expect(throws: (any Error).self) {
                    try stepped.append(batch, now: now) { _ in throw Wanted() }
                }
            }
            events += try stepped.append(batch, now: now).flatMap(\.events)
            for room in Self.rooms {
                let page = try stepped.page(
                    of: room, missing: [SequenceRange(after: 0, through: 1_000)].compactMap(\.self),
                    limit: .max, byteLimit: .max)
                #expect(page.events == events.filter { $0.channel == room })
            }
        }
        await store.remove()
    }

    @Test("that have vanished from the file keep the log from opening")
    func damaged() async throws {
        let store = try await Self.store()
        _ = try await store.append((0..<10).map { message(Self.rooms[$0 % 7]) })
        await store.close()
        let queue = try DatabaseQueue(path: store.folder.path + "/messages.sqlite")
        try await queue.write { try $0.execute(sql: "DELETE FROM arrivals WHERE n IN (4, 5)") }
        try queue.close()
        await expectError(.corrupt) { try await store.reopen() }
        await store.remove()
    }

    @Test(
        "do not keep a full disk full: they are trimmed where they are, and a policy trims the rest"
    )
    func fullDisk() async throws {
        let store = try SQLiteStore { $0.maximumBytes = 400_000 }
        try await store.reopen()
        let body = "\"" + String(repeating: "x", count: 9_000) + "\""
        await expectError(.diskFull) {
            for _ in 0..<100 {
                _ = try await store.append([message(Self.rooms[0], body: body)])
                _ = try await store.append((0..<8).map { _ in message(Self.rooms[1], body: body) })
            }
        }
        let heads = try await (
            store.log.state(of: Self.rooms[0]).head, store.log.state(of: Self.rooms[1]).head
        )
        try await store.log.trim(
            RetentionPolicy(count: 4), now: WallTime(milliseconds: 2_000_000_000_000))
        #expect(try await store.log.state(of: Self.rooms[1]).floor == heads.1 - 4)
        let state = try await store.log.trim(Self.rooms[0], through: heads.0 - 1)
        #expect(state.floor == heads.0 - 1)
        try await store.reopen()
        let left = try await store.everything(in: Self.rooms[0])
        #expect(left.events.map(\.seq) == [heads.0])
        #expect(try await store.append([message(Self.rooms[0])])[0].event?.seq == heads.0 + 1)
        await store.remove()
    }
}
