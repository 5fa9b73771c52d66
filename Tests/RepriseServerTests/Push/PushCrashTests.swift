import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Pushes and the end of a process", .timeLimit(.minutes(2)))
struct PushCrashTests {
    @Test("a message that was durable when the server was killed is pushed by the next one")
    func betweenCommitAndNote() async throws {
        let push = try PushUnderTest()
        try await push.start()
        try await push.make(members: ["bob"])
        try await push.register("phone", of: "bob")
        try await push.publish("m1", isNoted: false)
        await push.kill()
        try push.reopen()
        try await push.start()
        try await push.until(pushes: 1)
        try await push.untilQueueIsEmpty()
        #expect(push.provider.ids == ["m1"])
        await push.end()
    }

    @Test("a push that was not answered at the kill is sent again; one that was is not")
    func underWay() async throws {
        let push = try PushUnderTest()
        try await push.start()
        try await push.make(members: ["bob"])
        try await push.register("phone", of: "bob")
        try await push.publish("m1")
        try await push.until(pushes: 1)
        try await push.untilQueueIsEmpty()
        push.provider.hang()
        try await push.publish("m2")
        try await push.until(pushes: 2)
        await push.kill()
        try push.reopen()
        try await push.start()
        try await push.until(pushes: 1)
        try await push.untilQueueIsEmpty()
        #expect(push.provider.ids == ["m2"])
        await push.end()
    }

    @Test(
        "a scan that was cut off goes on behind the last member whose pushes are queued",
        .limit("push.scanMembers"))
    func cutScan() async throws {
        let push = try PushUnderTest()
        try await push.accounts.pushQueue.scans.begin(.apns) { _ in 0 }
        let names = (0..<1_200).map { "user-\(1_000 + $0)" }
        try await push.make(members: names)
        for name in names { try await push.register("d-\(name)", of: name) }
        try await push.publish("m1", isNoted: false)
        var scan = try #require(
            try await push.accounts.pushQueue.scans.scan(.apns, in: channel("room")))
        let candidate = PushCandidate(
            seq: 1, id: try EntryID("m1"), from: nil,
            expires: push.clock.wall().advanced(by: .seconds(3_600)))
        let added = try await push.accounts.pushQueue.scans.step(
            &scan, .apns, to: 1, [candidate], now: push.clock.wall())
        #expect(added == PushLimits.membersPerStep && scan.target == 1)
        await push.kill()
        try push.reopen()
        try await push.start()
        // So much work may last: time that ran ahead of it would let the messages grow old.
        try await push.until(pushes: 1_200, step: .milliseconds(25))
        try await push.untilQueueIsEmpty(step: .milliseconds(25))
        #expect(push.provider.pushes.count == 1_200)
        #expect(Set(push.provider.pushes.map(\.address)).count == 1_200)
        await push.end()
    }

    @Test("dismissals that wait for a server's start take no place of the alerts in its queue")
    func dismissals() async throws {
        let push = try PushUnderTest()
        try await push.start()
        try await push.make(members: ["bob"])
        for device in ["phone", "pad"] { try await push.register(device, of: "bob") }
        let seq = try await push.publish("m1")
        try await push.until(pushes: 2)
        try await push.untilQueueIsEmpty()
        try await push.move("bob", read: seq, on: "phone")
        await push.kill()
        try push.reopen()
        #expect(try await push.accounts.pushQueue.count(.apns) == 2)
        try await push.start()
        try await push.until(pushes: 2)
        try await push.untilQueueIsEmpty()
        try await eventually("nothing is queued") { push.dispatcher.figures.queued == 0 }
        await push.end()
    }

    @Test("messages from before pushing was set up are not pushed")
    func before() async throws {
        let push = try PushUnderTest()
        try await push.make(members: ["bob"])
        try await push.register("phone", of: "bob")
        try await push.publish("old", isNoted: false)
        try await push.start()
        try await push.publish("new")
        try await push.until(pushes: 1)
        try await push.untilQueueIsEmpty()
        #expect(push.provider.ids == ["new"])
        await push.end()
    }

    @Test(
        "a provider that is back after an hour gets the pushes that are still wanted, and no more")
    func anHour() async throws {
        let provider = RecordingProvider { _, _ in .unavailable(nil, "down") }
        try await withPush(provider) { push in
            let people = (0..<40).map { "user-\($0)" }
            try await push.make(members: people)
            for name in people { try await push.register("d-\(name)", of: name) }
            try await push.publish("m1")
            try await push.pass(.seconds(10))
            let seq = try await push.publish("m2")
            try await push.pass(.seconds(3_600), step: .seconds(5))
            let asked = provider.pushes.count
            // 16 at once and some that find out; a machine that is slow asks less often.
            #expect((17...260).contains(asked), "asked \(asked) times in an hour")
            // Meanwhile some have read, and some have received.
            for name in people.prefix(10) { try await push.move(name, read: seq) }
            for name in people[10..<20] {
                try await push.move(name, delivered: seq, on: "d-\(name)")
            }
            // One that was asked for before may still be refused.
            let accepted = Mutex<[String]>([])
            provider.answer { sent, _ in
                accepted.withLock { $0.append("\(sent.collapse) \(sent.address.hashValue)") }
                return .accepted
            }
            try await push.until(pushes: asked + 40, step: .seconds(1))
            try await push.untilQueueIsEmpty()
            #expect(push.count("sent") == 40, "two messages for twenty people")
            #expect(Set(accepted.withLock(\.self)).count == 40)
            #expect(push.count("read") == 20 && push.count("delivered") == 20)
        }
    }
}
