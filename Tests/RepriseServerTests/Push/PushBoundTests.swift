import Crypto
import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// What pushing bears: docs/limits.md, Push.
@Suite("Bounds of pushing", .timeLimit(.minutes(1)))
struct PushBoundTests {
    private static let bob = UserID(unchecked: "bob")

    @Test(
        "a user has 10,000 mutes and no more; one of them can still be changed",
        .limit("push.mutes"))
    func mutes() async throws {
        let test = try await AccountsUnderTest(implicitChannels: true)
        let other = try DatabaseQueue(path: test.folder.path + "/accounts.sqlite")
        try await other.write { db in
            for number in 0..<9_999 {
                try db.execute(
                    sql: "INSERT INTO mutes (user, kind, name) VALUES ('bob', 'channel', ?)",
                    arguments: ["c\(number)"])
            }
        }
        try other.close()
        let accounts = test.accounts
        try await accounts.perform(SetMute(Mute(.user(try UserID("ada"))), of: Self.bob), at: now)
        await expectError(.full) {
            try await accounts.perform(
                SetMute(Mute(.user(try UserID("eve"))), of: Self.bob), at: now)
        }
        let until = now.advanced(by: .seconds(60))
        try await accounts.perform(
            SetMute(Mute(.user(try UserID("ada")), until: until), of: Self.bob), at: now)
        #expect(try await accounts.mutes.all(of: Self.bob, at: now).count == 10_000)
        await test.remove()
    }

    @Test("at most 10,000 channels of a user count for the badge", .limit("push.badgeChannels"))
    func badgeChannels() async throws {
        let test = try await AccountsUnderTest(implicitChannels: true)
        let other = try DatabaseQueue(path: test.folder.path + "/accounts.sqlite")
        try await other.write { db in
            for number in 0..<10_001 {
                let name = "room-\(100_000 + number)"
                try db.execute(
                    sql: """
                        INSERT INTO channels (name, visibility, history, made, members)
                        VALUES (?, 'private', 'all', 0, 1)
                        """, arguments: [name])
                try db.execute(
                    sql: "INSERT INTO members VALUES (?, 'bob', 'member', 0, 0)", arguments: [name])
            }
        }
        try other.close()
        let starts = try await test.accounts.positions.unreadStarts([(Self.bob, channels: nil)])
        #expect(starts.map(\.count) == [10_000])
        #expect(starts.first?.last?.0.text == "room-109999")
        await test.remove()
    }

    @Test(
        "users are counted together until their channels are too many, the last one's with them",
        .limit("push.badgeQuery"))
    func badgeStarts() async throws {
        let test = try await AccountsUnderTest(implicitChannels: true)
        let users = (0..<4).map { UserID(unchecked: "user-\($0)") }
        for room in ["a", "b", "c"] {
            for user in users {
                try await test.accounts.setMember(
                    user, role: .member, joined: 0, in: channel(room), at: now)
            }
        }
        for (limit, counted) in [(1, 1), (3, 1), (4, 2), (7, 3), (.max, 4)] {
            let starts = try await test.accounts.positions.unreadStarts(
                users.map { ($0, channels: nil) }, atMost: limit)
            #expect(starts.count == counted && starts.allSatisfy { $0.count == 3 })
        }
        await test.remove()
    }

    @Test("a user's waiting alerts about a message are found by an index, however many others wait")
    func waitingAlerts() async throws {
        let test = try await AccountsUnderTest(implicitChannels: true)
        let other = try DatabaseQueue(path: test.folder.path + "/accounts.sqlite")
        let plan = try await other.read { db in
            try Row.fetchAll(
                db, sql: "EXPLAIN QUERY PLAN " + PushQueue.waitingSQL,
                arguments: ["bob", "room", 1]
            ).map { $0["detail"] as String }
        }
        try other.close()
        let index = "USING INDEX push_queue_by_message (channel=? AND seq=? AND user=?)"
        #expect(plan.count == 1 && plan[0].contains(index), "\(plan)")
        await test.remove()
    }

    private static func vapid() throws -> VAPID {
        let folder = try TemporaryFolder()
        let url = folder.url.appendingPathComponent("key.pem")
        try Data(P256.Signing.PrivateKey().pemRepresentation.utf8).write(to: url)
        return VAPID(
            key: try PushKey.read(url.path, setting: "--vapid-key"), subject: "mailto:me@a.org")
    }

    @Test(
        "a push service gets one token for six hours, and then another", .limit("push.vapidToken"))
    func vapidAge() throws {
        var vapid = try Self.vapid()
        let clock = ManualClock()
        let first = try vapid.authorization(for: "https://a.example", clock: clock)
        clock.advance(by: .seconds(6 * 3_600 - 1))
        #expect(try vapid.authorization(for: "https://a.example", clock: clock) == first)
        clock.advance(by: .seconds(1))
        #expect(try vapid.authorization(for: "https://a.example", clock: clock) != first)
    }

    @Test(
        "a push service gets another token once the calendar is set, forward or back",
        arguments: [Duration.seconds(7 * 3_600), .seconds(-60)])
    func vapidCalendar(by: Duration) throws {
        var vapid = try Self.vapid()
        let clock = ManualClock()
        let first = try vapid.authorization(for: "https://a.example", clock: clock)
        clock.jumpWall(by: by)
        let second = try vapid.authorization(for: "https://a.example", clock: clock)
        #expect(second != first)
        #expect(try vapid.authorization(for: "https://a.example", clock: clock) == second)
    }

    @Test(
        "tokens for 1,000 push services are kept; with one more all are made anew",
        .limit("push.vapidToken"))
    func vapidTokens() throws {
        var vapid = try Self.vapid()
        let clock = ManualClock()
        let first = try vapid.authorization(for: "https://0.example", clock: clock)
        for number in 1..<1_000 {
            _ = try vapid.authorization(for: "https://\(number).example", clock: clock)
        }
        #expect(try vapid.authorization(for: "https://0.example", clock: clock) == first)
        _ = try vapid.authorization(for: "https://1000.example", clock: clock)
        #expect(try vapid.authorization(for: "https://0.example", clock: clock) != first)
    }

    @Test(
        "a server that ends waits for a push under way, and stores its outcome",
        .limit("push.shutdown"))
    func ending() async throws {
        let push = try PushUnderTest()
        try await push.accounts.pushQueue.scans.begin(.apns) { _ in 0 }
        try await push.make(members: ["bob"])
        try await push.register("phone", of: "bob")
        try await push.publish("m1", isNoted: false)
        let provider = HeldProvider()
        let dispatcher = PushDispatcher(
            provider, queue: push.accounts.pushQueue,
            unread: UnreadCounts(accounts: push.accounts, log: push.log),
            log: push.log, metrics: push.metrics, clock: push.clock, logger: RunningServer.logger)
        let running = Task { await dispatcher.run() }
        let deadline = ContinuousClock.now + .seconds(20)
        while provider.asked == 0, ContinuousClock.now < deadline {
            try await push.pass(.seconds(1))
        }
        #expect(provider.asked == 1)
        #expect(try await push.accounts.pushQueue.count(.apns) == 1)
        await dispatcher.stop()
        provider.letGo()
        await running.value
        #expect(try await push.accounts.pushQueue.count(.apns) == 0)
        await push.end()
    }
}

/// Takes a push, and answers when it is told to.
private final class HeldProvider: PushProvider {
    let service = PushService.apns
    let concurrency = 4
    private let count = Mutex(0)
    private let gate = AsyncStream<Void>.makeStream()

    var asked: Int { count.withLock { $0 } }

    func letGo() { gate.continuation.finish() }

    func send(_ push: Push) async -> PushOutcome {
        count.withLock { $0 += 1 }
        for await _ in gate.stream {}
        return .accepted
    }

    func close() async {}
}
