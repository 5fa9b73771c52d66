import Goals
import RepriseCore
import ReprisePhone
import RepriseReminders

/// Cases beyond the case study: many goals, kills in the middle of a plan, calendars, older
/// versions.
extension RemindersScenario {
    static let crowds = [
        RemindersScenario(
            name: "many", title: "200 goals with 3 reminders each", leavesNoneSilent: false
        ) { play in
            try await play.makes(
                (0..<200).map { index in
                    .demo(
                        "g\(index)", at: [8, 13, 19].map { TimeOfDay($0, index % 60) })
                })
            let ids = (0..<200).map { "g\($0)" }
            try await play.does(GoalsCommand(do: .deleteMany, ids: Array(ids.dropFirst(20))))
        },
        RemindersScenario(
            name: "plan-kills", title: "killed between any two planned changes",
            isOfSeed: false
        ) { play in
            // Once each, so that a plan is four changes: one removes, three add.
            let day = Schedule.Days.once(LocalDate(2035, 1, 1))
            func goals(_ round: Int) -> [Goal] {
                (0..<3).map { .demo("g\(round)-\($0)", on: day) }
            }
            try await play.makes(goals(0))
            for position in 0...4 {
                try await play.kill()
                try await play.edits { try await $0.importAll(goals(position + 1)) }
                try await play.installs("--die-after-changes", "\(position)")
                try await play.launchesAndDies()
                try await play.installs()
                try await play.launch()
                try await play.plans()
            }
        },
        RemindersScenario(
            name: "week-off", title: "the phone is off for a week",
            screens: ["dataEntry read/pages"], isOfSeed: false
        ) { play in
            try await play.makes([.demo("read"), .demo("run")])
            try await play.isOff(for: .days(7))
            // Missed reminders are shown at the start; any of them is tapped.
            try await play.tap(of: "read")
        },
    ]

    static let calendars = [
        RemindersScenario(
            name: "clock-day", title: "the calendar set a day forward, and back",
            heard: ["07:30", "07:30"], isOfSeed: false
        ) { play in
            try await play.makes([.demo("read")])
            try await play.goesHome()
            try await play.advances(toHour: 12)
            try await play.phone.setCalendar(by: .days(1))
            try await play.opensAndPlans()
            try await play.goesHome()
            try await play.phone.setCalendar(by: .zero - .days(1))
            try await play.opensAndPlans()
            try await play.goesHome()
            try await play.listens()
            try await play.passes(.days(2))
            try await play.opensAndPlans()
        },
        RemindersScenario(
            name: "zone", title: "to another time zone, and on",
            heard: ["07:30", "07:30"], isOfSeed: false
        ) { play in
            try await play.makes([.demo("read")])
            try await play.goesHome()
            try await play.travels(to: "Asia/Tokyo")
            try await play.advances(toHour: 12)
            try await play.listens()
            try await play.advances(toHour: 12)
            try await play.travels(to: "America/New_York")
            try await play.advances(toHour: 12)
            try await play.opensAndPlans()
        },
        night("dst-spring", "02:30 in the night without one", isForward: true, ["03:30"]),
        night("dst-autumn", "02:30 in the night with two", isForward: false, ["02:30"]),
    ]

    private static func night(
        _ name: String, _ title: String, isForward: Bool, _ heard: [String]
    ) -> RemindersScenario {
        RemindersScenario(name: name, title: title, heard: heard, isOfSeed: false) { play in
            try await play.isEvening(beforeSetting: isForward, in: "Europe/Berlin")
            try await play.makes([.demo("read", at: [TimeOfDay(2, 30)])])
            try await play.kill()
            try await play.listens()
            try await play.passes(.seconds(12 * 3_600))
            try await play.launch()
        }
    }

    static let versions = [
        RemindersScenario(
            name: "tap-twice", title: "the same tap by two entrances",
            screens: ["dataEntry read/pages"], rules: PhoneRules(launchingTap: .sceneThenDelegate)
        ) { play in
            try await play.has([.demo("read")])
            try await play.rings("read")
            try await play.tap()
        },
        RemindersScenario(
            name: "old-version", title: "rung by the version before the last two",
            screens: ["dataEntry read/liked", "dataEntry read/liked"], isOfSeed: false
        ) { play in
            try await play.has([.demo("read")])
            for info in [
                #""reprise":{"v":1,"goal":"read","question":"liked"}"#,
                #""goalId":"read","questionId":"liked","isTest":false"#,
            ] {
                try await play.rings(info: info)
                try await play.tap()
                try await play.settles()
            }
        },
    ]
}
