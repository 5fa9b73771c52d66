import Foundation
import RepriseCore
import RepriseFakes
import RepriseServer
import RepriseTesting
import RepriseWire
import Testing

/// Measured only when it is asked for:
/// `REPRISE_FIGURES=1 swift test --traits Lab -c release --filter PushFigures`.
@Suite(
    "Figures of push", .serialized,
    .enabled(
        if: ProcessInfo.processInfo.environment["REPRISE_FIGURES"] != nil,
        "It has a command of its own."))
struct PushFiguresTests {
    /// Bytes of memory that this process has now, and has had at most.
    private static func memory() -> (now: Int, most: Int) {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        func value(_ name: String) -> Int {
            let line = text.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
            return (Int(line.filter(\.isNumber)) ?? 0) << 10
        }
        return (value("VmRSS:"), value("VmHWM:"))
    }

    @Test("a message to a channel of 100,000 members, each with a device")
    func large() async throws {
        let push = try PushUnderTest(RecordingProvider(concurrency: 500))
        try await push.make(members: [])
        let room = channel("room")
        let accounts = push.accounts
        for start in stride(from: 0, to: 100_000, by: 2_000) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in start..<start + 2_000 {
                    let clock = push.clock
                    group.addTask {
                        let user = try UserID("user-\(number)")
                        try await accounts.setMember(
                            user, role: .member, joined: 0, in: room, at: clock.wall())
                        try await accounts.setDevice(
                            RegisteredDevice(
                                id: try EntryID("phone"), platform: "ios",
                                pushToken: try PushToken("aa\(100_000 + number)"),
                                lastSeen: clock.wall()), of: user)
                    }
                }
                try await group.waitForAll()
            }
        }
        try await push.start()
        let before = Self.memory().now
        try await push.publish("m1")
        let began = ContinuousClock.now
        push.clock.advance(by: .seconds(6))
        var most = 0
        while push.provider.pushes.count < 100_000, ContinuousClock.now - began < .seconds(100) {
            try await Task.sleep(for: .milliseconds(20))
            push.clock.advance(by: .milliseconds(20))
            most = max(most, Self.memory().now)
        }
        let took = (ContinuousClock.now - began) / .seconds(1)
        let count = push.provider.pushes.count
        print(
            "figures: \(count) pushes in \(took) s, \(Double(count) / took)/s, "
                + "memory +\((most - before) >> 20) MB (with \(count) kept by the recorder)")
        await push.end()
        #expect(count == 100_000)
    }

    @Test("APNs: how many pushes a second the provider sends to the stand-in, both in this process")
    func apns() async throws {
        try await APNsUnderTest.with { test in
            test.fake.keepTaken(false)
            let push = test.push(body: String(repeating: "x", count: 100))
            let provider = test.provider
            let began = ContinuousClock.now
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<200 {
                    group.addTask { for _ in 0..<100 { _ = await provider.send(push) } }
                }
            }
            let took = (ContinuousClock.now - began) / .seconds(1)
            print(
                "figures: APNs \(Double(test.fake.takenCount) / took)/s, "
                    + "memory \(Self.memory().now >> 20) MB")
            #expect(test.fake.takenCount == 20_000)
        }
    }

    @Test("Web Push: how many messages a second are sealed and sent to the stand-in")
    func webPush() async throws {
        try await WebPushUnderTest.with { test in
            test.service.keepTaken(false)
            let push = test.push(to: test.service.subscribe("b1"))
            let provider = test.provider
            let began = ContinuousClock.now
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<100 {
                    group.addTask { for _ in 0..<100 { _ = await provider.send(push) } }
                }
            }
            let took = (ContinuousClock.now - began) / .seconds(1)
            print("figures: Web Push \(Double(test.service.takenCount) / took)/s")
            #expect(test.service.takenCount == 10_000)
        }
    }
}
