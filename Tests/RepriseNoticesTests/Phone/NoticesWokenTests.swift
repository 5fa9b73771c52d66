import Foundation
import RepriseCore
import RepriseNotices
import ReprisePhone
import RepriseTestSupport
import Testing

/// Real processes, as ``NoticesOnThePhoneTests``: what races, and what the system wakes an app for.
@Suite("Notices on the phone that races or wakes", .serialized, .timeLimit(.minutes(3)))
struct NoticesWokenTests {
    @Test("Push and socket at once: one of each stands, and a second alert is counted")
    func bothAtOnce() async throws {
        try await NoticesPhone.play { stage in
            try await stage.launch()
            try await stage.phone.home()
            var ids = (1...8).map { "m\($0)" }
            for (index, id) in ids.enumerated() {
                let seq = Int64(index + 1)
                async let published: Void = stage.publish(id)
                async let pushed: Void = stage.push(id, seq: seq, badge: seq)
                _ = try await (published, pushed)
            }
            for id in ids { try await stage.phone.expects(.report("stored", id)) }
            try await stage.becomes(ids.count, ids)

            // Those may have rung once each. This one rings twice: its own banner stands when the
            // push comes.
            try await stage.publish("m9")
            ids.append("m9")
            try await stage.becomes(ids.count, ids)
            try await stage.push("m9", seq: 9, badge: 9)
            // With the next message the app is told what stands.
            try await stage.publish("m10")
            ids.append("m10")
            try await stage.becomes(ids.count, ids)
            #expect(try await stage.banners(of: "m9") == 2)

            // The app confirms what it posted after the banner stands.
            try await eventually("each that rang is in the journal") {
                guard let decided = try stage.decided()?.decided else { return false }
                return Set(decided.map(\.id)) == Set(ids)
                    && decided.allSatisfy { $0.unconfirmed == 0 && $0.alerts > 0 }
            }
            let decided = try #require(try stage.decided()?.decided)
            for one in decided {
                // A push that came after the app had looked, and before its own banner took the
                // push's place, rang without a trace.
                #expect(try await one.alerts <= stage.banners(of: one.id), "\(one.id)")
            }
            #expect(decided.first { $0.id == "m9" }?.alerts == 2)
            #expect(decided.allSatisfy { (1...2).contains($0.alerts) })
        }
    }

    @Test(
        "A background push to a frozen app: it is connected, what came is shown, what was read goes"
    )
    func wokenWhileFrozen() async throws {
        try await NoticesPhone.play { stage in
            try await stage.launch()
            try await stage.phone.home()
            try await stage.publish("m1")
            try await stage.becomes(1, ["m1"])
            try await stage.phone.advance(by: .seconds(24))
            try await stage.phone.expects(.phone(.suspended))
            try await stage.publish("m2")
            try await stage.readElsewhere(through: 1)
            #expect(try await stage.standing() == ["m1"])
            try await stage.wake(seq: 1, head: 2)
            try await stage.phone.expects(.report("pushed"))
            // It was done by the time at which the system froze the app again.
            #expect(try await stage.standing() == ["m2"])
            #expect(try await stage.phone.app().badge == 1)
        }
    }

    @Test(
        "A background push launches a dead app: what came is shown, what was read goes, whether the app is told that it is in the background or not",
        arguments: PhoneRules.BackgroundLaunch.allCases)
    func launchedForIt(rule: PhoneRules.BackgroundLaunch) async throws {
        try await NoticesPhone.play { stage in
            var rules = PhoneRules()
            rules.backgroundLaunch = rule
            try await stage.phone.ask(.rules(rules))
            try await stage.launch()
            try await stage.phone.home()
            try await stage.publish("m1")
            try await stage.becomes(1, ["m1"])
            try await stage.dies()
            try await stage.publish("m2")
            try await stage.readElsewhere(through: 1)
            try await stage.wake(seq: 1, head: 2)
            try await stage.phone.expects(.phone(.launched, "push"))
            try await stage.phone.expects(.report("pushed"))
            #expect(try await stage.standing() == ["m2"])
            #expect(try await stage.phone.app().badge == 1)
        }
    }

    @Test("Killed before the banner, read elsewhere meanwhile and no push: it is never shown")
    func readWhileDead() async throws {
        try await NoticesPhone.play("--die-after-changes", "0") { stage in
            try await stage.launch()
            try await stage.phone.home()
            try await stage.publish("m1")
            try await stage.phone.expects(.phone(.exited))
            try await stage.readElsewhere(through: 1)
            try await stage.install()
            try await stage.launch()
            try await stage.publish("m2")
            try await stage.becomes(1, ["m2"])
            #expect(try await stage.banners(of: "m1") == 0)
        }
    }
}
