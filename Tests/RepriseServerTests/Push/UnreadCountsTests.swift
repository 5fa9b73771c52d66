import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Badges that are kept", .timeLimit(.minutes(2)))
struct UnreadCountsTests {
    private static let people = ["ada", "bob", "eve"]
    private static let rooms = (0..<6).map { "room-\($0)" }

    /// What is unread of everything, counted from nothing.
    private static func recount(_ user: UserID, _ push: PushUnderTest) async throws -> Int64 {
        var sum: Int64 = 0
        for room in rooms.map({ channel($0) }) {
            guard let member = try await push.accounts.member(user, in: room) else { continue }
            let position = try await push.accounts.positions(of: room, first: user, limit: 1)[0]
            sum += try await push.log.unread(
                of: user, in: room, after: max(member.joined, position.read)
            ).count
        }
        return sum
    }

    @Test(
        "equal a recount, through messages, edits, deletions, trimming, reading, leaving, joining again, restarts and a new epoch",
        arguments: [100_000, 4])
    func random(limit: Int) async throws {
        var seeded = SeededGenerator()
        let push = try PushUnderTest()
        for room in Self.rooms { try await push.make(room, members: Self.people) }
        var counts = UnreadCounts(accounts: push.accounts, log: push.log, limit: limit)
        var ids: [(room: String, id: String)] = []
        for step in 0..<450 {
            if step % 150 == 149 {
                await push.kill()
                try push.reopen(isRestored: step % 300 == 299)
                counts = UnreadCounts(
                    accounts: push.accounts, log: push.log, limit: limit)
            }
            try await Self.change(push, step, &ids, &seeded)
            for name in Self.people where Bool.random(using: &seeded) {
                let user = try UserID(name)
                let (kept, fresh) = (
                    try await counts.count(of: user), try await Self.recount(user, push)
                )
                try #require(kept == fresh, "\(name) at step \(step), seed \(seeded.seed)")
            }
        }
        await push.end()
    }

    private static func change(
        _ push: PushUnderTest, _ step: Int, _ ids: inout [(room: String, id: String)],
        _ seeded: inout SeededGenerator
    ) async throws {
        let room = rooms[Int.random(in: 0..<rooms.count, using: &seeded)]
        let name = people[Int.random(in: 0..<people.count, using: &seeded)]
        let head = try await push.log.state(of: channel(room)).head
        switch Int.random(in: 0..<20, using: &seeded) {
        case 0..<9:
            try await push.publish("m\(step)", in: room, from: step % 7 == 0 ? nil : name)
            ids.append((room, "m\(step)"))
        case 9, 10:
            guard let one = ids.randomElement(using: &seeded) else { return }
            try await push.publish(
                "e\(step)", in: one.room, from: name, change: .edits(try EntryID(one.id)))
        case 11, 12:
            guard let one = ids.randomElement(using: &seeded) else { return }
            try await push.publish(
                "d\(step)", in: one.room, from: name, body: "",
                change: .deletes(try EntryID(one.id)))
        case 13:
            try await push.publish(
                "b\(step)", in: room, from: name, body: "",
                change: .deletes(try EntryID("x\(step)")))
        case 14:
            _ = try await push.log.trim(
                channel(room), through: Int64.random(in: 0...head, using: &seeded))
        case 15:
            try await push.log.trim(
                RetentionPolicy(count: Int64.random(in: 5...20, using: &seeded)),
                now: push.clock.wall())
        case 16:
            try await push.accounts.removeMember(try UserID(name), from: channel(room))
        case 17:
            try await push.accounts.setMember(
                try UserID(name), role: .member, joined: head, in: channel(room),
                at: push.clock.wall())
        default:
            let read = Int64.random(in: 0...head, using: &seeded)
            do {
                try await push.move(name, read: read, in: room)
            } catch let error as RepriseError where error.code == .refused {
                // He was removed.
            }
        }
    }

    @Test("are right in the end, when much changes while they are counted")
    func concurrent() async throws {
        let push = try PushUnderTest()
        for room in Self.rooms { try await push.make(room, members: Self.people) }
        let counts = UnreadCounts(accounts: push.accounts, log: push.log)
        let (log, accounts) = (push.log, push.accounts)
        let users = try Self.people.map { try UserID($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask {
                    for step in 0..<100 {
                        let room = channel(Self.rooms[(number + step) % Self.rooms.count])
                        // The log's writer is one; two that wait for it are served in turn.
                        _ = try await log.append([
                            NewMessage(
                                channel: room, id: .random(), from: users[number % 3], body: [0x31])
                        ])
                        _ = try await accounts.move(
                            MovePosition(
                                channel: room, user: users[step % 3], device: nil,
                                read: Int64(step / 2)))
                    }
                }
                group.addTask {
                    for step in 0..<200 {
                        _ = try await counts.count(of: users[step % 3])
                        if step % 10 == 0 { await counts.prepare(Set(users)) }
                    }
                }
            }
            try await group.waitForAll()
        }
        for user in users {
            let (kept, fresh) = (
                try await counts.count(of: user), try await Self.recount(user, push)
            )
            #expect(kept == fresh)
        }
        await push.end()
    }

    @Test("a message in one of 10,000 channels has that one counted, not the others")
    func many() async throws {
        let push = try PushUnderTest()
        let bob = try UserID("bob")
        let (accounts, log) = (push.accounts, push.log)
        // Into the file: ten thousand calls would take longer than all that is tested.
        let queue = try DatabaseQueue(path: push.folder.path + "/accounts.sqlite")
        try await queue.write { db in
            for number in 0..<10_000 {
                try db.execute(
                    sql: """
                        INSERT INTO channels (name, visibility, history, made, members)
                        VALUES (?1, 'private', 'all', 0, 1);
                        INSERT INTO members VALUES (?1, 'bob', 'member', 0, 0);
                        """.replacingOccurrences(of: "?1", with: "'room-\(number)'"))
            }
        }
        try queue.close()
        _ = try await log.append(
            (0..<9_000).map {
                NewMessage(channel: channel("room-\($0)"), id: .random(), body: [0x31])
            })
        let counts = UnreadCounts(accounts: accounts, log: log)
        let clock = ContinuousClock()
        var began = clock.now
        let all = try await counts.count(of: bob)
        let first = clock.now - began
        #expect(all == 9_000)
        var times: [Duration] = []
        for number in 0..<50 {
            _ = try await log.append([
                NewMessage(channel: channel("room-\(number * 7)"), id: .random(), body: [0x31])
            ])
            began = clock.now
            let count = try await counts.count(of: bob)
            times.append(clock.now - began)
            #expect(count == Int64(9_001 + number))
        }
        times.sort()
        print(
            "a badge of 10,000 channels: \(first) at first, then \(times[25]), at most \(times[49])"
        )
        #expect(await counts.recounts == 1)
        await push.end()
    }

    @Test(
        "one read counts users of a bounded number of channels; the others are in the next",
        .limit("push.badgeQuery"))
    func together() async throws {
        let push = try PushUnderTest()
        for room in Self.rooms {
            try await push.make(room, members: Self.people)
            try await push.publish("m-\(room)", in: room)
        }
        let users = try Self.people.map { try UserID($0) }
        let asked = users.map { ($0, channels: [ChannelName]?.none) }
        for (limit, found) in [(6, 1), (7, 2), (13, 3)] {
            #expect(
                try await push.accounts.positions.unreadStarts(asked, atMost: limit).count == found)
        }
        let counts = UnreadCounts(accounts: push.accounts, log: push.log, readAtOnce: 6)
        await counts.prepare(Set(users))
        #expect(await counts.recounts == 3)
        for user in users { #expect(try await counts.count(of: user) == 6) }
        #expect(await counts.recounts == 3, "they were counted before")
        await push.end()
    }

    @Test(
        "a bounded number of counts is kept, and those unused for the longest are dropped",
        .limit("push.badgeCache"))
    func room() async throws {
        let push = try PushUnderTest()
        let people = (0..<40).map { "user-\($0)" }
        try await push.make(members: people)
        try await push.publish("m1")
        let counts = UnreadCounts(accounts: push.accounts, log: push.log, limit: 20)
        for name in people {
            #expect(try await counts.count(of: try UserID(name)) == 1)
            #expect(await counts.keptChannels <= 20)
        }
        #expect(await counts.recounts == 40)
        #expect(try await counts.count(of: try UserID("user-39")) == 1)
        #expect(await counts.recounts == 40, "the last one is kept")
        #expect(try await counts.count(of: try UserID("user-0")) == 1)
        #expect(await counts.recounts == 41, "the first one is not")
        await push.end()
    }
}

@Suite("Changed channels of a log")
struct ChannelChangesTests {
    @Test(
        "are those noted since, or reported as no longer known", .limit("push.changedChannels"))
    func model() {
        var seeded = SeededGenerator()
        var changes = ChannelChanges(limit: 8)
        var noted: [String] = []
        let names = (0..<12).map { "c\($0)" }
        for _ in 0..<5_000 {
            if Int.random(in: 0..<3, using: &seeded) > 0 {
                let name = names[Int.random(in: 0..<names.count, using: &seeded)]
                changes.note(channel(name))
                noted.append(name)
            }
            let since = Int.random(in: max(0, noted.count - 20)...noted.count, using: &seeded)
            let some = names.shuffled(using: &seeded).prefix(Int.random(in: 0...12, using: &seeded))
            let asked = Dictionary(uniqueKeysWithValues: some.map { (channel($0), Int64(0)) })
            let later = Set(noted[since...])
            let found = changes.since(Int64(since), among: asked.keys)
            guard let found else {
                // It may say that it does not know, but not of the last eight channels.
                #expect(later.count >= 8, "seed \(seeded.seed)")
                continue
            }
            #expect(
                Set(found.map(\.text)) == later.intersection(some), "seed \(seeded.seed)")
            #expect(found.count == Set(found).count)
        }
        #expect(changes.last == Int64(noted.count))
    }
}
