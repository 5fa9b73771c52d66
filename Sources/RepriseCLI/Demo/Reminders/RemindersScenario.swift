import Goals
import RepriseCore
import ReprisePhone
import RepriseReminders

/// One scenario of the demo `reminders`: its actions on the phone, and its expected results.
struct RemindersScenario: NamedScenario {
    let name: String
    let title: String
    /// The expected screens, in order, in the words of ``GoalsScreen``.
    var screens: [String] = []
    /// When a reminder must ring from ``RemindersScenarioRunner/listens()`` on, by the phone's wall clock;
    /// nil: not checked.
    var heard: [String]?
    /// The number of pressed notification buttons: their effects have no screen.
    var buttons = 0
    /// The commands that buttons must apply to the goals, each once.
    var applied: [String] = []
    /// Whether the phone must hold a reminder of every active goal at the end.
    var leavesNoneSilent = true
    /// Whether the case study covers it, so that its code can run.
    var isOfSeed = true
    /// Whether it measures no time, so that it can run beside others.
    var isUntimed: Bool { screens.isEmpty || takesLong }
    /// Whether loading the goals is slow.
    var takesLong = false
    /// Whether time is counted from a second launch by the person.
    var startsAtLaunch = false
    /// How the phone behaves where Apple's documentation leaves it open.
    var rules = PhoneRules()
    /// The actions.
    let play: @Sendable (RemindersScenarioRunner) async throws -> Void

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
