import Goals
import RepriseCore
import ReprisePhone
import RepriseReminders
import Testing

/// Real processes, real kills: each the app of the demo, launched by a phone.
@Suite("Taps on the phone", .serialized)
struct TapsOnThePhoneTests {
    private static let tap = #"{"reprise":{"v":2,"sort":"goal","id":"read","part":"pages"}}"#

    @Test(
        "Tapped while the app is dead, the screen comes as soon as the store is there",
        arguments: [0, 50, 500])
    func cold(delay: Int) async throws {
        try await GoalsPhone.play("--store-delay", "\(delay)") { stage in
            try await stage.rings(Self.tap)
            try await stage.phone.tap()
            try await stage.screen("dataEntry read/pages")
            try await stage.phone.expects(.report("presented"))
            let wait = try await stage.milliseconds(from: "app.loaded", to: "app.screen")
            #expect(wait < 5_000)
            try await stage.phone.hasNot(.report("screen"))
        }
    }

    @Test("A store that takes 5,000 ms is waited for, and one that fails is loaded again")
    func slow() async throws {
        try await GoalsPhone.play("--store-delay", "5000") { stage in
            try await stage.rings(Self.tap)
            try await stage.phone.tap()
            try await stage.screen("dataEntry read/pages")
        }
        try await GoalsPhone.play("--store-failures", "3") { stage in
            try await stage.rings(Self.tap)
            try await stage.phone.tap()
            for _ in 0..<3 { try await stage.phone.expects(.report("notLoaded")) }
            try await stage.screen("dataEntry read/pages")
        }
    }

    @Test("Deleted while the tap waits, it is judged by what is true when the screen comes")
    func deletedMeanwhile() async throws {
        try await GoalsPhone.play("--store-waits") { stage in
            try await stage.rings(Self.tap)
            try await stage.phone.tap()
            try await stage.phone.expects(.report("recorded"))
            try await stage.goals.delete(["read"])
            try stage.releaseStore()
            try await stage.screen("deletedGoal read")
        }
    }

    @Test("Paused when it rings and in use again when it is tapped, it is in use")
    func reactivated() async throws {
        try await GoalsPhone.play { stage in
            try await stage.goals.pause(["read"])
            try await stage.rings(Self.tap)
            try await stage.goals.set(.active, ["read"])
            try await stage.phone.tap()
            try await stage.screen("dataEntry read/pages")
        }
    }

    @Test(
        "The same tap through two entrances is one screen",
        arguments: [
            PhoneRules.LaunchingTap.sceneThenDelegate, .delegateThenScene, .sceneAlone,
            .delegateAlone,
        ])
    func twice(entrances: PhoneRules.LaunchingTap) async throws {
        var rules = PhoneRules()
        rules.launchingTap = entrances
        try await GoalsPhone.play(rules: rules) { stage in
            try await stage.rings(Self.tap)
            try await stage.phone.tap()
            try await stage.screen("dataEntry read/pages")
            try await stage.phone.expects(.report("presented"))
            try await stage.rings(#"{"goalId":"nobody"}"#)
            try await stage.phone.tap()
            // What comes behind is seen next: there was no second one.
            try await stage.phone.expects(.report("screen", "missingGoal nobody"))
            try await stage.phone.hasNot(.report("screen"))
        }
    }

    @Test(
        "Notifications of older versions, and what cannot be read, have a screen of their own",
        arguments: [
            (#"{"reprise":{"v":1,"goal":"read","question":"liked"}}"#, "dataEntry read/liked"),
            (#"{"goalId":"read","questionId":"pages","isTest":false}"#, "dataEntry read/pages"),
            (#"{"goalId":"read","questionId":"gone"}"#, "dataEntry read, without gone"),
            (#"{"goalId":7}"#, #"malformed invalid(field: "goalId")"#),
            ("{}", "malformed noRoute"),
        ])
    func payloads(info: String, screen: String) async throws {
        try await GoalsPhone.play { stage in
            try await stage.rings(info)
            try await stage.phone.tap()
            try await stage.screen(screen)
        }
    }

    @Test("An id of another user's goal is told from one that is not there")
    func owners() async throws {
        var theirs = Goal.named("theirs")
        theirs.owner = "bert"
        try await GoalsPhone.play("--owner", "anna", goals: [theirs]) { stage in
            try await stage.rings(#"{"goalId":"theirs"}"#)
            try await stage.phone.tap()
            try await stage.screen("malformed anotherUser")
        }
    }

    @Test("Killed between record and presentation, the next launch shows it")
    func killedBefore() async throws {
        try await GoalsPhone.play("--screen-delay", "60000") { stage in
            try await stage.rings(Self.tap)
            try await stage.phone.tap()
            try await stage.phone.expects(.report("route"))
            try await stage.phone.expects(.phone(.completed))
            try await stage.phone.kill()
            try await stage.phone.expects(.phone(.terminated))
            try await stage.install()
            try await stage.phone.launch()
            let route = try await stage.phone.expects(.report("route"))
            #expect(route.detail.hasPrefix("active attempt 2"))
            try await stage.screen("dataEntry read/pages")
        }
    }

    @Test("Killed when the screen was there and nobody had said so, it is shown again; said, never")
    func killedAfter() async throws {
        try await GoalsPhone.play("--die-before-presented") { stage in
            try await stage.rings(Self.tap)
            try await stage.phone.tap()
            try await stage.screen("dataEntry read/pages")
            try await stage.phone.expects(.phone(.exited))
            try await stage.install()
            try await stage.phone.launch()
            try await stage.screen("dataEntry read/pages")
            try await stage.phone.expects(.report("presented"))
            try await stage.phone.kill()
            try await stage.phone.expects(.phone(.terminated))
            try await stage.rings(#"{"goalId":"nobody"}"#)
            try await stage.phone.tap()
            try await stage.phone.expects(.report("screen", "missingGoal nobody"))
            try await stage.phone.hasNot(.report("screen"))
        }
    }

    @Test("An action is done by an app that was dead, without a screen and exactly once")
    func action() async throws {
        try await GoalsPhone.play { stage in
            try await stage.rings(
                #"{"reprise":{"v":2,"sort":"goal","id":"read","part":"liked"}}"#, category: "goal")
            try await stage.phone.launch()
            try await stage.phone.expects(.report("loaded"))
            try await stage.phone.kill()
            try await stage.phone.expects(.phone(.terminated))
            try await stage.phone.tap(nil, .button("yes"))
            try await stage.phone.expects(.report("applied"))
            #expect(try await stage.goals.answers(of: "read").map(\.text) == ["yes"])
            try await stage.phone.hasNot(.report("screen"))
        }
    }
}
