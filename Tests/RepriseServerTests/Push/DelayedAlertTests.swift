import RepriseCore
import RepriseFakes
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Alerts that wait for a push service or a device's rate", .timeLimit(.minutes(1)))
struct DelayedAlertTests {
    /// What the provider says to one user alone.
    private static func provider(
        _ service: PushService, toAda answer: PushOutcome
    ) -> RecordingProvider {
        RecordingProvider(service) { push, _ in
            push.hint.to?.text == "ada" ? answer : .accepted
        }
    }

    private func pushes(of user: String, _ push: PushUnderTest) -> Int {
        push.provider.pushes.count { $0.hint.to?.text == user }
    }

    private func waiting(_ push: PushUnderTest) async throws -> [Int] {
        let queue = push.accounts.pushQueue
        return [push.count("displaced"), try await queue.alertCount(push.provider.service).all]
    }

    @Test(
        "the newest 100 of a user stay, the older ones are dropped, and another user gets all",
        .limit("push.delayedAlerts"))
    func displaced() async throws {
        let provider = Self.provider(.apns, toAda: .later(.seconds(3_600), "429"))
        try await withPush(provider) { push in
            try await push.make(members: ["ada", "bob"])
            for number in 0..<10 { try await push.register("phone-\(number)", of: "ada") }
            try await push.register("pad", of: "bob")
            for number in 1...15 { try await push.publish("m\(number)") }
            try await push.until(pushes: 165)
            try await becomes("dropped and waiting", [50, 100]) { try await waiting(push) }
            #expect(pushes(of: "bob", push) == 15)
            let ada = try UserID("ada")
            for (seq, count) in [(5, 0), (6, 10), (15, 10)] as [(Int64, Int)] {
                let left = try await push.accounts.pushQueue.waiting(
                    for: seq, in: channel("room"), of: ada)
                #expect(left?.count == count)
            }
        }
    }

    @Test(
        "those count that are not sent because the service is down",
        .limit("push.delayedAlerts"), arguments: [AccountsPlace.single, .cluster])
    func down(place: AccountsPlace) async throws {
        let provider = Self.provider(.webPush, toAda: .unavailable(nil, "503"))
        try await withPush(at: place, provider) { push in
            try await push.make(members: ["ada", "bob"])
            for number in 0..<10 {
                try await subscribe("web-\(number)", of: "ada", at: "https://a.example", push)
            }
            try await subscribe("web", of: "bob", at: "https://b.example", push)
            for number in 1...15 { try await push.publish("m\(number)") }
            try await push.pass(.seconds(10))
            try await eventually("the other has all") {
                // His service gets half of the places until its first answer.
                push.clock.advance(by: .milliseconds(100))
                return pushes(of: "bob", push) == 15
            }
            try await becomes("dropped and waiting", [50, 100]) { try await waiting(push) }
        }
    }

    private func subscribe(
        _ device: String, of user: String, at origin: String, _ push: PushUnderTest
    ) async throws {
        let service = FakePushService()
        service.listens(at: origin)
        let browser = service.subscribe(device)
        try await push.accounts.setDevice(
            RegisteredDevice(
                id: try EntryID(device), platform: "web",
                subscription: try WebPushSubscription(
                    endpoint: browser.endpoint, key: browser.p256dh, secret: browser.auth),
                lastSeen: push.clock.wall()), of: try UserID(user))
    }

    @Test("a burst of 120 is sent at the device's rate, none of it dropped")
    func rate() async throws {
        try await withPush { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob")
            for number in 1...120 { try await push.publish("m\(number)") }
            try await push.until(pushes: 120, step: .seconds(1))
            try await push.untilQueueIsEmpty()
            #expect(Set(push.provider.ids).count == 120 && push.count("displaced") == 0)
        }
    }

    @Test(
        "10,000 that wait for their devices' rates hold up no push to others",
        .limit("push.queued", "push.delayedAlerts"))
    func manyAtTheirRate() async throws {
        try await withPush { push in
            let users = (0..<130).map { "user-\($0)" }
            try await push.make(members: users)
            for user in users { try await push.register("phone-of-\(user)", of: user) }
            try await push.make("other", members: ["bob"])
            try await push.register("phone", of: "bob")
            for number in 1...130 { try await push.publish("m\(number)") }
            let queue = push.accounts.pushQueue
            var alerts = (all: 0, delayed: 0)
            let deadline = ContinuousClock.now + .seconds(30)
            let most = 125 * PushLimits.delayedAlerts
            while alerts.delayed < most, ContinuousClock.now < deadline {
                // Once they are queued, hardly: each device gets its burst, and nothing more.
                let step: Duration = .milliseconds(alerts.all == 0 ? 250 : 1)
                try await push.pass(step, step: step)
                alerts = try await queue.alertCount(.apns)
            }
            #expect(alerts.delayed >= most)
            try await push.publish("late", in: "other")
            try await eventually("the other has it") {
                push.clock.advance(by: .milliseconds(100))
                return pushes(of: "bob", push) == 1
            }
            #expect(try await queue.alertCount(.apns).delayed > PushLimits.queued)
        }
    }
}
