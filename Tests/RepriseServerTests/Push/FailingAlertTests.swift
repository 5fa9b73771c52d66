import RepriseCore
import RepriseFakes
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Alerts that wait because a push service fails", .timeLimit(.minutes(1)))
struct FailingAlertTests {
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
        return [push.count("displaced"), try await queue.alertCount(push.provider.service)]
    }

    @Test(
        "the newest 100 of a user stay, the older ones are dropped, and another user gets all",
        .limit("push.failingAlerts"))
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
        .limit("push.failingAlerts"), arguments: [AccountsPlace.single, .cluster])
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
            try await eventually("the other has all") { pushes(of: "bob", push) == 15 }
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

    @Test("those that wait for the device's rate do not count, and all are sent")
    func rate() async throws {
        try await withPush { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob")
            for number in 1...140 { try await push.publish("m\(number)") }
            try await push.until(pushes: 140, step: .seconds(1))
            try await push.untilQueueIsEmpty()
            #expect(Set(push.provider.ids).count == 140 && push.count("displaced") == 0)
        }
    }
}
