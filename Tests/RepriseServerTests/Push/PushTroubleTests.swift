import Crypto
import Foundation
import RepriseCore
import RepriseFakes
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Failing push providers", .timeLimit(.minutes(2)))
struct PushTroubleTests {
    @Test(
        "a provider that hangs or cuts its answer is given up, and pushed to again",
        .limit("push.provider"))
    func apns() async throws {
        try await APNsUnderTest.with(answer: .seconds(2)) { test in
            for answer in [FakeAnswer.hang, .hangInBody, .cutInBody] {
                let began = ContinuousClock.now
                guard case .unavailable = await test.send(answer) else {
                    Issue.record("\(answer)")
                    continue
                }
                #expect(ContinuousClock.now - began < .seconds(30))
            }
            try await accepted { await test.provider.send(test.push()) }
        }
    }

    @Test(
        "a browser's service that hangs, cuts, redirects or answers nonsense takes no push",
        .limit("push.answer"))
    func webPush() async throws {
        // Only who hangs is waited for: the others have the time that ships, however busy the
        // machine is.
        for answer in [FakeAnswer.hang, .hangInBody] {
            try await WebPushUnderTest.with(answer: .milliseconds(300)) {
                await expectUnavailable($0, answer)
            }
        }
        try await WebPushUnderTest.with { test in
            for answer in [FakeAnswer.cut, .cutInBody, .status(503, body: "<html>")] {
                await expectUnavailable(test, answer)
            }
            let push = test.push(to: test.service.subscribe("b1"))
            for status in [301, 418, 999] {
                test.service.script { _, _ in
                    .status(status, headers: ["location": "http://127.0.0.1:1/"], body: "{")
                }
                #expect(await test.provider.send(push) == .refused("\(status)"))
            }
            // A long answer is not read to its end, whatever it says.
            test.service.script { _, _ in
                .status(201, body: String(repeating: "x", count: 1_000_000))
            }
            #expect(await test.provider.send(push) == .accepted)
            test.service.script(nil)
            try await accepted { await test.provider.send(push) }
        }
    }

    private func expectUnavailable(_ test: WebPushUnderTest, _ answer: FakeAnswer) async {
        test.service.script { _, _ in answer }
        let outcome = await test.provider.send(test.push(to: test.service.subscribe("b1")))
        guard case .unavailable = outcome else {
            Issue.record("\(answer): \(outcome)")
            return
        }
    }

    /// The next one may still be put on a connection that was cut: that is a failure of the
    /// provider too, and tried again.
    private func accepted(_ send: () async -> PushOutcome) async throws {
        var outcomes: [PushOutcome] = []
        while outcomes.last != .accepted, outcomes.count < 5 { outcomes.append(await send()) }
        #expect(outcomes.last == .accepted, "it goes on: \(outcomes)")
    }

    @Test("a push that hung is sent again by the queue, and shown once")
    func queue() async throws {
        let provider = RecordingProvider { _, count in
            count == 0 ? .unavailable(nil, "No answer in 10 s.") : .accepted
        }
        try await withPush(provider) { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob")
            try await push.publish("m1")
            try await push.until(pushes: 2)
            try await push.untilQueueIsEmpty()
            #expect(provider.ids == ["m1", "m1"] && push.count("sent") == 1)
            #expect(Set(provider.pushes.map(\.collapse)).count == 1)
        }
    }

    @Test(
        "a calendar that Apple would refuse holds pushes up until it is put right, and no longer",
        arguments: [Duration.seconds(-7_200), .seconds(7_200)])
    func skew(by: Duration) async throws {
        // Apple's clock goes right; ours says something else.
        let apple = ManualClock()
        try await APNsUnderTest.with(fakeClock: apple) { test in
            test.clock.jumpWall(by: by)
            guard case .unauthorized = await test.provider.send(test.push()),
                case .unauthorized = await test.provider.send(test.push())
            else {
                Issue.record("it was taken")
                return
            }
            #expect(test.fake.takenCount == 0)
            test.clock.jumpWall(by: .zero - by)
            #expect(await test.provider.send(test.push()) == .accepted)
        }
    }

    @Test("a new key is used once it is read again, and one that cannot be used changes nothing")
    func reload() async throws {
        try await APNsUnderTest.with { test in
            #expect(await test.provider.send(test.push()) == .accepted)
            #expect(try test.provider.reload() == false, "the same key: the token stays")
            #expect(await test.provider.send(test.push()) == .accepted)
            #expect(test.fake.tokenCount == 1)
            try Data("nonsense".utf8).write(to: URL(filePath: test.keyFile))
            expectError(.badConfiguration) {
                _ = try test.provider.reload()
            }
            #expect(await test.provider.send(test.push()) == .accepted)
            // Apple takes no other token for twenty minutes.
            test.clock.advance(by: .seconds(1_300))
            try Data(test.fake.makeKey("KEY0000001", team: "TEAM000001").utf8)
                .write(to: URL(filePath: test.keyFile))
            #expect(try test.provider.reload())
            #expect(await test.provider.send(test.push()) == .accepted)
            #expect(test.fake.tokenCount == 2)
        }
    }

    @Test(
        "another key of Web Push is not taken while the server runs, because browsers know the old")
    func reloadWebPush() async throws {
        try await WebPushUnderTest.with { test in
            let browser = test.service.subscribe("b1", serverKey: test.provider.publicKey)
            #expect(try test.provider.reload() == false)
            try Data(P256.Signing.PrivateKey().pemRepresentation.utf8)
                .write(to: URL(filePath: test.keyFile))
            expectError(.badConfiguration) {
                _ = try test.provider.reload()
            }
            #expect(await test.provider.send(test.push(to: browser)) == .accepted)
        }
    }
}
