import Goals
import RepriseCore
import ReprisePhone
import RepriseReminders
import Testing

/// The five test cases of `case-reminder-routing` (373–424), with notifications that the app has
/// planned itself.
@Suite("Case study reminder routing on the phone", .serialized)
struct CaseStudyTests {
    @Test(
        "1 and 4: an active goal's reminder opens its question, from a running app and from a dead one",
        arguments: [false, true])
    func active(isDead: Bool) async throws {
        try await GoalsPhone.play { stage in
            try await stage.phone.launch()
            try await stage.pending(60)
            if isDead {
                try await stage.phone.kill()
                try await stage.phone.expects(.phone(.terminated))
            } else {
                try await stage.phone.home()
            }
            try await stage.phone.advance(by: .seconds(86_400))
            try await stage.phone.expects(.phone(.delivered))
            try await stage.phone.tap()
            try await stage.screen("dataEntry read/pages")
        }
    }

    @Test(
        "2: a goal that is paused does not ring, and a tap on what rang before says that it is paused"
    )
    func inactive() async throws {
        try await GoalsPhone.play { stage in
            try await stage.phone.launch()
            try await stage.pending(60)
            try await stage.does(#"{"do":"pause","ids":["read"]}"#)
            try await stage.pending(0)
            try await stage.rings(#"{"goalId":"read"}"#)
            try await stage.phone.tap()
            try await stage.screen("inactiveGoal read")
            try await stage.does(#"{"do":"activate","ids":["read"]}"#)
            try await stage.pending(60)
        }
    }

    @Test(
        "3: a goal deleted behind the app's back rings no more after the next launch, and a tap before says so"
    )
    func deleted() async throws {
        try await GoalsPhone.play { stage in
            try await stage.phone.launch()
            try await stage.pending(60)
            try await stage.phone.kill()
            try await stage.phone.expects(.phone(.terminated))
            try await stage.goals.delete(["read"])
            try await stage.phone.advance(by: .seconds(86_400))
            try await stage.phone.expects(.phone(.delivered))
            try await stage.phone.tap()
            try await stage.screen("deletedGoal read")
            try await stage.pending(0)
        }
    }

    @Test("5: of five goals two are paused and one deleted; each tap has its screen")
    func several() async throws {
        let ids = ["a", "b", "c", "d", "e"]
        try await GoalsPhone.play(goals: ids.map(Goal.named)) { stage in
            try await stage.phone.launch()
            try await stage.pending(60)
            try await stage.does(#"{"do":"pause","ids":["a","b"]}"#)
            try await stage.does(#"{"do":"deleteMany","ids":["c"]}"#)
            for (id, screen) in zip(
                ids,
                ["inactiveGoal a", "inactiveGoal b", "deletedGoal c", "dataEntry d", "dataEntry e"])
            {
                try await stage.rings(#"{"goalId":"\#(id)"}"#)
                try await stage.phone.tap()
                try await stage.screen(screen)
            }
        }
    }

    @Test("An import with new ids leads on to what has taken the goal's place")
    func imported() async throws {
        try await GoalsPhone.play { stage in
            try await stage.goals.importAll([.named("new")], replacing: ["read": "new"])
            try await stage.rings(#"{"goalId":"read"}"#)
            try await stage.phone.tap()
            try await stage.screen("replacedGoal read by new")
        }
    }

    @Test(
        "The case study's own code shows “no longer exists” for a goal that its store has not loaded yet"
    )
    func seed() async throws {
        try await GoalsPhone.play("--as", "first", "--store-delay", "5000") { stage in
            try await stage.rings(#"{"goalId":"read","questionId":"pages"}"#)
            try await stage.phone.tap()
            try await stage.screen("missingGoal read")
        }
        try await GoalsPhone.play("--as", "repaired", "--store-delay", "5000") { stage in
            try await stage.rings(#"{"goalId":"read"}"#)
            try await stage.phone.tap()
            try await stage.screen("missingGoal read")
        }
        try await GoalsPhone.play("--as", "repaired") { stage in
            // Its sleeps may be too short for any store: here it is there before the tap.
            try await stage.phone.launch()
            try await stage.phone.expects(.report("loaded"))
            try await stage.rings(#"{"goalId":"read","questionId":"pages"}"#)
            try await stage.phone.tap()
            try await stage.screen("dataEntry read/pages")
        }
    }
}
