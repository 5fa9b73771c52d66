import Goals
import RepriseCore
import ReprisePhone
import RepriseReminders

/// One scenario of the demo `reminders`: what happens on the phone, and what has to come of it.
struct RemindersScenario: NamedScenario {
    let name: String
    let title: String
    /// What a person has to see, in order, in the words of ``GoalsScreen``.
    var screens: [String] = []
    /// When a reminder has to ring from ``RemindersPlay/listens()`` on, by the phone's wall clock;
    /// nil: it is not listened to.
    var heard: [String]?
    /// How many buttons of notifications are pressed: what they do has no screen.
    var buttons = 0
    /// What the app's goals have to be given by buttons, each once.
    var applied: [String] = []
    /// Whether the phone holds at least one reminder of every goal in use in the end.
    var leavesNoneSilent = true
    /// Whether the seed says anything about it, so that its code can be asked.
    var isOfSeed = true
    /// Whether nobody waits for a screen, so that it can be played beside others without being in
    /// the way of their times.
    var isUntimed: Bool { screens.isEmpty || takesLong }
    /// Whether it is the goals that take long.
    var takesLong = false
    /// Whether a person opens the app again, from when time is counted then.
    var startsAtLaunch = false
    /// How the phone behaves where Apple's documentation leaves it open.
    var rules = PhoneRules()
    /// What happens.
    let play: @Sendable (RemindersPlay) async throws -> Void

    /// How the taps have to end, by the ledger.
    var outcomes: [Outcome: Int64] {
        screens.isEmpty && buttons == 0 ? [:] : [.applied: Int64(screens.count + buttons)]
    }

    /// All, in the order of the demo.
    static let all =
        cases + problems + stores + changes + crowds + calendars + versions + actions
}

extension Goal {
    /// One of the demo, asked every morning.
    ///
    /// - Parameters:
    ///   - id: its identity.
    ///   - times: when it is asked, each a reminder of its own.
    ///   - days: on which days.
    /// - Returns: the goal.
    static func demo(
        _ id: String, at times: [TimeOfDay] = [TimeOfDay(7, 30)], on days: Schedule.Days = .daily
    ) -> Goal {
        Goal(
            id: id, title: "Title of \(id)",
            questions: [
                Question(id: "pages", title: "Pages?", kind: .number),
                Question(id: "liked", title: "Liked it?", kind: .yesNo),
            ],
            reminders: times.enumerated().map { index, time in
                Reminder(
                    id: "r\(index)", part: "pages", schedule: Schedule(days, at: [time]),
                    title: "Time to \(id)", category: GoalActions.category)
            })
    }
}
