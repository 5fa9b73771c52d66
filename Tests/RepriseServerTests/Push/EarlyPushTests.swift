import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// A device that is not connected is pushed at once; docs/push.md.
@Suite("Pushes to devices that are not connected", .timeLimit(.minutes(2)))
struct EarlyPushTests {
    /// The devices that were pushed, by their tokens.
    private func devices(_ provider: RecordingProvider) -> [String] {
        provider.pushes.map { one in
            guard case .apns(let token) = one.address else { return "" }
            return token.text
        }
    }

    private func early(_ push: PushUnderTest) async throws -> Int {
        let accounts = try DatabaseQueue(path: push.folder.path + "/accounts.sqlite")
        defer { try? accounts.close() }
        return try await accounts.read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM push_early") ?? -1
        }
    }

    @Test("pushes to absent devices wait half a second, to connected ones five; each is sent once")
    func both() async throws {
        try await withPush(connected: ["c"]) { push in
            try await push.make(members: ["ada", "bob"])
            try await push.register("a", of: "ada", token: "aaaa")
            try await push.register("b", of: "bob", token: "bbbb")
            try await push.register("c", of: "bob", token: "cccc")
            try await push.publish("m1", from: "ada")
            try await push.until(pushes: 1, step: .milliseconds(1))
            try await eventually("that is written down") {
                try await push.accounts.pushQueue.count(.apns) == 0
            }
            #expect(try await early(push) == 1)
            try await push.until(pushes: 2)
            try await push.untilQueueIsEmpty()
            #expect(devices(push.provider) == ["bbbb", "cccc"])
            try await eventually("nothing stays behind") { try await early(push) == 0 }
        }
    }

    @Test("a device that has left is pushed what it did not receive while it was connected")
    func leaves() async throws {
        try await withPush(connected: ["phone"]) { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob")
            try await push.publish("m1")
            push.clock.advance(by: PushLimits.slot * 2)
            try await push.publish("m2", in: "room")
            push.connected?.all = []
            push.clock.advance(by: PushLimits.slot)
            try await push.until(pushes: 2, step: .milliseconds(10))
            #expect(push.provider.ids.sorted() == ["m1", "m2"])
            try await push.pass(.seconds(12))
            try await push.untilQueueIsEmpty()
            #expect(push.provider.pushes.count == 2)
        }
    }

    @Test("killed between the two scans, the next process pushes nothing again")
    func killed() async throws {
        let push = try PushUnderTest(connected: [])
        try await push.start()
        try await push.make(members: ["bob"])
        try await push.register("phone", of: "bob")
        try await push.publish("m1")
        try await push.until(pushes: 1, step: .milliseconds(1))
        try await eventually("that is written down") {
            try await push.accounts.pushQueue.count(.apns) == 0
        }
        await push.kill()
        try push.reopen()
        try await push.start()
        try await push.publish("m2")
        try await push.until(pushes: 1)
        try await push.pass(.seconds(12))
        try await push.untilQueueIsEmpty()
        #expect(push.provider.ids == ["m2"])
        await push.end()
    }

    @Test(
        "when more than 16 messages wait for their scan, all devices get the grace period",
        .limit("push.early"))
    func storm() async throws {
        try await withPush(connected: []) { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob")
            let count = PushLimits.messagesPerScan
            for number in 1...count { try await push.publish("m\(number)") }
            try await push.until(pushes: count, step: .milliseconds(1), "16 are pushed at once")
            for number in 1...(count + 1) { try await push.publish("n\(number)") }
            try await push.pass(.seconds(3))
            #expect(push.provider.pushes.count == count)
            try await push.until(pushes: 2 * count + 1)
            try await push.untilQueueIsEmpty()
            #expect(Set(push.provider.ids).count == push.provider.ids.count)
        }
    }

    @Test("many members are scanned step by step, each is pushed once", arguments: [1, 3])
    func many(messages: Int) async throws {
        try await withPush(RecordingProvider(concurrency: 500), connected: ["d7"]) { push in
            let count = 600
            try await push.make(members: (0..<count).map { "u\($0)" })
            for number in 0..<count {
                try await push.register(
                    "d\(number)", of: "u\(number)", token: String(10_000_000 + number))
            }
            for number in 1...messages { try await push.publish("m\(number)") }
            try await push.until(pushes: 1, step: .milliseconds(1))
            try await push.until(pushes: (count - 1) * messages, step: .microseconds(200))
            #expect(!devices(push.provider).contains("10000007"))
            try await push.until(pushes: count * messages, "the connected device's too")
            try await push.pass(.seconds(12))
            try await push.untilQueueIsEmpty()
            let pushed = zip(devices(push.provider), push.provider.pushes).map {
                "\($0) \($1.hint.seq)"
            }
            #expect(pushed.count == count * messages && Set(pushed).count == pushed.count)
        }
    }

    @Test("two large channels with messages at the same time are both scanned to their end at once")
    func together() async throws {
        try await withPush(RecordingProvider(concurrency: 500), connected: []) { push in
            let users = (0..<600).map { "u\($0)" }
            for name in ["one", "other"] { try await push.make(name, members: users) }
            for (number, user) in users.enumerated() {
                try await push.register(
                    "d\(number)", of: user, token: String(10_000_000 + number))
            }
            try await push.publish("m1", in: "one")
            try await push.publish("m2", in: "other")
            let began = push.clock.uptime()
            try await push.until(pushes: 1, step: .milliseconds(1))
            try await push.until(pushes: 1_200, step: .microseconds(200))
            #expect(push.clock.uptime() - began < PushLimits.grace)
            try await push.pass(.seconds(12))
            try await push.untilQueueIsEmpty()
            #expect(push.provider.pushes.count == 1_200)
        }
    }

    @Test("an early scan is not given up for a message that is stored meanwhile")
    func meanwhile() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let asked = Mutex(0)
        let provider = RecordingProvider(concurrency: 500)
        let push = try PushUnderTest(provider)
        try await push.accounts.pushQueue.scans.begin(.apns) { _ in 0 }
        try await push.make(members: (0..<600).map { "u\($0)" })
        for number in 0..<600 {
            try await push.register(
                "d\(number)", of: "u\(number)", token: String(10_000_000 + number))
        }
        let dispatcher = PushDispatcher(
            provider, queue: push.accounts.pushQueue,
            unread: UnreadCounts(accounts: push.accounts, log: push.log), log: push.log,
            connected: { _ in
                let isFirst = asked.withLock { asked in
                    asked += 1
                    return asked == 1
                }
                if isFirst { for await _ in gate {} }
                return []
            }, clock: push.clock, logger: RunningServer.logger)
        let running = Task { await dispatcher.run() }
        func publish(_ id: String) async throws {
            let message = NewMessage(
                channel: channel("room"), id: try EntryID(id), body: Array(#"{"text":"Hi"}"#.utf8))
            dispatcher.committed(try await push.log.append([message]).flatMap(\.events))
        }
        try await publish("m1")
        let began = push.clock.uptime()
        while asked.withLock(\.self) == 0, push.clock.uptime() - began < PushLimits.grace {
            try await push.pass(.milliseconds(10), step: .milliseconds(10))
        }
        try await publish("m2")
        try await push.pass(PushLimits.slot * 2)
        open.finish()
        try await push.until(pushes: 1_200, step: .microseconds(200))
        #expect(push.clock.uptime() - began < PushLimits.grace)
        await dispatcher.stop()
        await running.value
        await push.end()
    }

    @Test("a server pushes to an absent device while a connected one has its five seconds")
    func live() async throws {
        try await withServer(devices: ["here": "aaaa", "away": "bbbb"]) { server, provider in
            let here = try await server.client(as: "bob", device: try EntryID("here"))
            let start = ContinuousClock.now
            _ = try await server.gateway.committer.commit([message])
            try await eventually("both are pushed") { provider.pushes.count == 2 }
            #expect(ContinuousClock.now - start >= PushLimits.grace)
            #expect(devices(provider) == ["bbbb", "aaaa"])
            _ = here
        }
    }

    @Test("a server pushes a message that a failed commit stored nevertheless")
    func failedCommit() async throws {
        try await withServer(devices: ["away": "bbbb"]) { server, provider in
            // What is looked for at a start is over when this one is pushed.
            _ = try await server.gateway.committer.commit([message])
            try await eventually("the first is pushed") { devices(provider) == ["bbbb"] }
            // The server's own messages may be stored meanwhile.
            server.log.change { $0.failures = 1_000 }
            await expectError(.unavailable) {
                try await server.gateway.committer.commit([message])
            }
            server.log.change { $0.failures = 0 }
            try await eventually("it is pushed") { devices(provider) == ["bbbb", "bbbb"] }
        }
    }

    private var message: NewMessage {
        NewMessage(channel: channel(), id: .random(), body: Array(#"{"text":"Hi"}"#.utf8))
    }

    /// A server that pushes to these devices of bob's, by their names and tokens.
    private func withServer(
        devices: [String: String],
        _ body: (RunningServer, RecordingProvider) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let provider = RecordingProvider()
        let accounts = try Accounts.open(at: folder.path, implicitChannels: false)
        try await accounts.setChannel(
            channel(), ChannelSettings(), by: Principal(user: nil, isAdmin: true),
            at: WallTime(milliseconds: 1), head: 0)
        let bob = try UserID("bob")
        try await accounts.setMember(
            bob, role: .member, joined: 0, in: channel(), at: WallTime(milliseconds: 1))
        for (name, token) in devices {
            try await accounts.setDevice(
                RegisteredDevice(
                    id: try EntryID(name), platform: "ios", pushToken: try PushToken(token),
                    lastSeen: WallTime(milliseconds: 1)), of: bob)
        }
        await accounts.close()
        let admission = Admission(
            authenticator: TrustingAuthenticator(), accounts: ScriptedAccounts())
        let log = try MemoryLog()
        log.change { $0.time = SystemTimekeeper().wall().milliseconds }
        try await RunningServer.with(
            log: log, admission: admission, providers: [provider], folder: folder
        ) { server in
            let queue = try DatabaseQueue(path: folder.path + "/accounts.sqlite")
            try await eventually("it has begun") {
                try await queue.read {
                    try Int.fetchOne($0, sql: "SELECT count(*) FROM push_services") == 1
                }
            }
            try await body(server, provider)
        }
    }
}
