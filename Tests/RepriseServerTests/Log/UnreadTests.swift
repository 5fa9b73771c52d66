import RepriseCore
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@testable import RepriseServer

@Suite("Unread counts of a log")
struct UnreadTests {
    let room: ChannelName
    let ada: UserID
    let bob: UserID

    init() throws {
        room = try ChannelName("room")
        ada = try UserID("ada")
        bob = try UserID("bob")
    }

    private func said(
        by user: UserID?, _ change: MessageChange<EntryID>? = nil, id: EntryID = .random()
    ) -> NewMessage {
        NewMessage(channel: room, id: id, change: change, from: user, body: [0x31])
    }

    @Test(
        "are the others' messages behind the position, without edits, deletions, deleted and trimmed messages",
        arguments: LogUnderTest.all)
    func counts(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let (first, second) = (said(by: bob), said(by: bob))
            _ = try await store.append([
                first, second, said(by: ada), said(by: nil), said(by: bob, .edits(second.id)),
                said(by: bob, .deletes(first.id)), said(by: bob),
            ])
            let log = store.log
            #expect(try await log.unread(of: ada, in: room, after: 0) == Unread(count: 3, head: 7))
            #expect(try await log.unread(of: ada, in: room, after: 2) == Unread(count: 2, head: 7))
            #expect(try await log.unread(of: bob, in: room, after: 0) == Unread(count: 2, head: 7))
            #expect(try await log.unread(of: ada, in: room, after: 7) == Unread(count: 0, head: 7))
            #expect(try await log.unread(of: ada, in: room, after: 99) == Unread(count: 0, head: 7))
            _ = try await log.trim(room, through: 2)
            #expect(try await log.unread(of: ada, in: room, after: 0) == Unread(count: 2, head: 7))
            let empty = try ChannelName("empty")
            #expect(try await log.unread(of: ada, in: empty, after: 0) == Unread(count: 0, head: 0))
        }
    }

    private func mention(
        _ names: String..., by user: UserID?, id: EntryID = .random(),
        _ change: MessageChange<EntryID>? = nil
    ) -> NewMessage {
        let list = names.map { "\"\($0)\"" }.joined(separator: ",")
        return NewMessage(
            channel: room, id: id, change: change, from: user,
            body: Array(#"{"notice":{"mentions":[\#(list)]}}"#.utf8))
    }

    @Test(
        "count mentions apart, without the user's own, those of edits, deleted and trimmed messages"
    )
    func mentions() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        let (first, second) = (mention("ada", by: bob), mention("ada", "eve", by: bob))
        _ = try await store.append([
            first, second, said(by: bob), mention("ada", by: ada), mention("eve", by: bob),
            mention("ada", by: bob, .edits(second.id)), mention("ada", by: nil),
        ])
        func count(_ user: UserID, after: Int64 = 0) async throws -> Int64 {
            try await store.log.unread(of: user, in: room, after: after).mentions
        }
        let eve = try UserID("eve")
        #expect(try await count(ada) == 3)
        #expect(try await count(ada, after: 1) == 2)
        #expect(try await count(ada, after: 2) == 1)
        #expect(try await count(bob) == 0)
        #expect(try await count(eve) == 2)
        _ = try await store.append([said(by: bob, .deletes(second.id))])
        #expect(try await count(ada) == 2)
        #expect(try await count(eve) == 1)
        try await store.reopen()
        #expect(try await count(ada) == 2, "they are on the disk")
        _ = try await store.log.trim(room, through: 5)
        #expect(try await count(eve) == 0)
        #expect(try await count(ada) == 1)
        await store.remove()
    }

    @Test(
        "read only new and newly read messages when asked again, and always equal a full count",
        .limit("log.unread", "log.unreadCache"),
        arguments: 0..<4)
    func again(round: Int) async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        var random = SeededGenerator(seed: UInt64(round))
        // Long enough that counts are remembered.
        _ = try await store.append((0..<1_500).map { said(by: $0 % 97 == 0 ? bob : ada) })
        var mine = try await store.everything(in: room).events
        var read: Int64 = 0
        for _ in 0..<60 {
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1: _ = try await store.append([said(by: bob)])
            case 2: _ = try await store.append((0..<40).map { _ in said(by: ada) })
            case 3:
                let victim = mine[Int.random(in: 0..<mine.count, using: &random)]
                let deletion = NewMessage(
                    channel: room, id: .random(), change: .deletes(victim.id), from: bob,
                    mayChangeOthers: true, body: [])
                _ = try await store.append([deletion])
            case 4: read += .random(in: 0...30, using: &random)
            default:
                let floor = try await store.log.state(of: room).floor
                _ = try await store.log.trim(room, through: floor + 5)
            }
            mine = try await store.everything(in: room).events
            let floor = try await store.log.state(of: room).floor
            let expected = mine.count {
                $0.seq > max(read, floor) && $0.from != ada && $0.change == nil && !$0.isDeleted
            }
            let unread = try await store.log.unread(of: ada, in: room, after: read)
            #expect(unread == Unread(count: Int64(expected), head: mine.last?.seq ?? 0))
        }
        await store.remove()
    }

    @Test(
        "of a user who has published 300,000 messages himself are counted once, not with each request"
    )
    func own() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        for _ in 0..<60 { _ = try await store.append((0..<5_000).map { _ in said(by: ada) }) }
        let clock = ContinuousClock()
        let first = try await clock.measure {
            let unread = try await store.log.unread(of: ada, in: room, after: 0)
            #expect(unread.count == 0)
        }
        let others = try await clock.measure {
            for read in 0..<50 {
                let unread = try await store.log.unread(of: ada, in: room, after: Int64(read))
                #expect(unread.count == 0)
            }
        }
        let quiet = try ChannelName("quiet")
        _ = try await store.append([
            NewMessage(channel: quiet, id: .random(), from: bob, body: [0x31])
        ])
        try await store.reopen()  // which forgets the counts
        func together(after: Int64) async throws -> [Int64] {
            let asked = [room, quiet].map { UnreadQuestion(user: ada, channel: $0, after: after) }
            return try await store.log.unread(asked).map(\.count)
        }
        #expect(try await together(after: 0) == [0, 1])
        let overAll = try await clock.measure {
            for read in 1...50 {
                let counts = try await together(after: Int64(read))
                #expect(counts == [0, 0])
            }
        }
        print("counting 300,000 own messages: \(first), fifty times again: \(others), \(overAll)")
        #expect(others < first * 25)
        #expect(overAll < first * 25, "over all channels")
        await store.remove()
    }

    @Test("of many channels are counted in several reads, between which there are others")
    func parts() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        let names = ["a", "b", "c"].map { channel($0) }
        for name in names { try await store.fill(name, 20) }
        await store.close()
        let log = try LogDatabase.open(at: store.folder.path, SQLiteMessageLog.Configuration())
        let asked = names.map { UnreadQuestion(user: ada, channel: $0, after: 0) }
        for (limit, expected) in [(20, [20]), (21, [20, 20]), (1_000, [20, 20, 20])] {
            let counts = try log.readNow { db in
                try log.reading.unread(asked[...], db, scanning: Int64(limit)) { _ in nil }
                    .map(\.unread.count)
            }
            #expect(counts == expected.map(Int64.init), "at most \(limit)")
        }
        log.close()
        await store.remove()
    }

    @Test(
        "are counted up to 10,000", .limit("log.unread", "log.unreadCache", "push.badge"),
        arguments: LogUnderTest.all)
    func bound(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            _ = try await store.append((0..<10_100).map { _ in said(by: bob) })
            let clock = ContinuousClock()
            let start = clock.now
            let unread = try await store.log.unread(of: ada, in: room, after: 50)
            print("counting 10,000 unread: \(clock.now - start)")
            #expect(unread == Unread(count: 10_000, head: 10_100))
            #expect(try await store.log.unread(of: ada, in: room, after: 200).count == 9_900)
        }
    }
}
