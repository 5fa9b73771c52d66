import Goals
import RepriseCommandLine
import RepriseCore
import ReprisePhone
import RepriseReminders

/// One scenario of the demo `reminders`: its actions on the phone, and its expected results.
struct RemindersScenario: Scenario {
    let name: String
    let title: String
    /// The expected screens, in order, in the words of ``GoalsScreen``.
    var screens: [String] = []
    /// When a reminder must ring from the step `listen` on, by the phone's wall clock; nil: not
    /// checked.
    var heard: [String]?
    /// The number of pressed notification buttons: their effects have no screen.
    var buttons = 0
    /// The commands that buttons must apply to the goals, each once.
    var applied: [String] = []
    /// Whether the phone must hold a reminder of every active goal at the end.
    var leavesNoneSilent = true
    var isInCaseStudy = true
    /// Whether loading the goals is slow.
    var takesLong = false
    /// Whether time is counted from a second launch by the person.
    var startsAtLaunch = false
    var rules = PhoneRules()
    let steps: [Step<RemindersSession>]

    /// Those that measure no time are played beside the others, on a phone of their own.
    var queue: Int { screens.isEmpty || takesLong ? 1 : 0 }
    /// How the taps have to end, by the ledger.
    var outcomes: [Outcome: Int64] {
        screens.isEmpty && buttons == 0 ? [:] : [.applied: Int64(screens.count + buttons)]
    }

    private static let entry = ["dataEntry read/pages"]

    /// All, in the order of the demo.
    static func all(_: DemoSettings = DemoSettings()) -> [RemindersScenario] {
        cases + problems + stores + changes + crowds + calendars + versions + buttons
    }
}

// MARK: In the case study

extension RemindersScenario {
    /// Its test cases.
    private static let cases = [
        RemindersScenario(
            name: "case-1", title: "1 active goal", screens: entry,
            steps: [.make("read"), .home, .advance(by: .days(1)), .tap]),
        RemindersScenario(
            name: "case-2", title: "2 paused by its switch", screens: ["inactiveGoal read"],
            steps: [.make("read"), .ring("read"), .perform(.pause, ["read"]), .tap]),
        RemindersScenario(
            name: "case-3", title: "3 deleted, its notification lingers",
            screens: ["deletedGoal read"],
            steps: [.make("read"), .ring("read"), .perform(.delete, ["read"]), .tap]),
        RemindersScenario(
            name: "case-4", title: "4 tapped while the app is dead", screens: entry,
            steps: [.make("read"), .kill, .advance(by: .days(1)), .tap]),
        RemindersScenario(
            name: "case-5", title: "5 of five two paused, one deleted",
            screens: [
                "inactiveGoal a", "inactiveGoal b", "deletedGoal c", "dataEntry d/pages",
                "dataEntry e/pages",
            ],
            steps: [
                .make("a", "b", "c", "d", "e"), .perform(.pause, ["a", "b"]),
                .perform(.delete, ["c"]),
                .forEach(["a", "b", "c", "d", "e"]) { [.ring($0), .tap, .settle] },
            ]),
    ]

    /// Its problems.
    private static let problems = [
        RemindersScenario(
            name: "problem-1", title: "P1 not among the active goals",
            screens: ["inactiveGoal read"],
            steps: [
                .make("read"), .kill, .ring("read"),
                .edit { try await $0.set(.archived, ["read"]) }, .tap,
            ]),
        RemindersScenario(
            name: "problem-2", title: "P2 tapped before the goals are loaded", screens: entry,
            steps: [.has("read"), .install("--store-delay", "300"), .ring("read"), .tap]),
        RemindersScenario(
            name: "problem-3", title: "P3 many deleted at once",
            steps: [
                .make((1...8).map { .demo("g\($0)") }),
                .perform(.deleteMany, (4...8).map { "g\($0)" }),
            ]),
        RemindersScenario(
            name: "problem-4", title: "P4 all put aside", screens: ["inactiveGoal read"],
            steps: [.make("read", "run"), .ring("read"), .perform(.pauseAll), .tap]),
    ]

    /// A tap that launches a dead app, and how long its goals take to load.
    private static let stores =
        [0, 50, 500, 5_000].map { delay in
            RemindersScenario(
                name: "store-\(delay)", title: "dead, goals load in \(delay.grouped) ms",
                screens: entry, takesLong: delay > 1_000,
                steps: [.has("read"), .install("--store-delay", "\(delay)"), .ring("read"), .tap])
        } + [
            RemindersScenario(
                name: "store-fails", title: "dead, goals load at the fourth attempt",
                screens: entry,
                steps: [.has("read"), .install("--store-failures", "3"), .ring("read"), .tap]),
            RemindersScenario(
                name: "killed", title: "killed while the goals load",
                screens: entry, startsAtLaunch: true,
                steps: [
                    .has("read"), .install("--store-delay", "60000"), .ring("read"), .tap,
                    .isTaken, .kill, .install(), .launch,
                ]),
        ]

    /// Changes of a goal between its ring and its screen.
    private static let changes = [
        RemindersScenario(
            name: "deleted-meanwhile", title: "deleted while the tap waits",
            screens: ["deletedGoal read"],
            steps: [
                .has("read"), .install("--store-waits"), .ring("read"), .tap,
                .isTaken, .edit { try await $0.delete(["read"]) }, .storeLoads,
            ]),
        RemindersScenario(
            name: "reactivated", title: "paused when it rings, active when tapped", screens: entry,
            steps: [
                .make("read"), .perform(.pause, ["read"]), .ring("read"),
                .perform(.activate, ["read"]), .tap,
            ]),
        RemindersScenario(
            name: "import-same", title: "import, the same ids at other times", screens: entry,
            steps: [
                .make("read", "run"), .ring("read"),
                .importAll([.demo("read", at: [TimeOfDay(9, 15)]), .demo("run")]), .tap,
            ]),
        RemindersScenario(
            name: "import-new", title: "import, new ids", screens: ["replacedGoal read by new"],
            steps: [
                .make("read"), .ring("read"),
                .importAll([.demo("new")], replacing: ["read": "new"]), .tap,
            ]),
    ]
}

// MARK: Beyond it

extension RemindersScenario {
    private static let crowds = [
        RemindersScenario(
            name: "many", title: "200 goals with 3 reminders each", leavesNoneSilent: false,
            steps: [
                .make(
                    (0..<200).map { index in
                        .demo("g\(index)", at: [8, 13, 19].map { TimeOfDay($0, index % 60) })
                    }),
                .perform(.deleteMany, (20..<200).map { "g\($0)" }),
            ]),
        RemindersScenario(
            name: "plan-kills", title: "killed between any two planned changes",
            isInCaseStudy: false,
            steps: [
                .make(once(0)),
                .forEach(0...4) { position in
                    [
                        .kill, .edit { try await $0.importAll(once(position + 1)) },
                        .install("--die-after-changes", "\(position)"), .launchAndDie,
                        .install(), .launch, .plan,
                    ]
                },
            ]),
        // Missed reminders are shown at the start; any of them is tapped.
        RemindersScenario(
            name: "week-off", title: "the phone is off for a week", screens: entry,
            isInCaseStudy: false,
            steps: [.make("read", "run"), .off(for: .days(7)), .tap(of: "read")]),
    ]

    /// Three goals that ring once each, so that a plan is four changes: one removes, three add.
    private static func once(_ round: Int) -> [Goal] {
        (0..<3).map { .demo("g\(round)-\($0)", on: .once(LocalDate(2035, 1, 1))) }
    }

    private static let calendars = [
        RemindersScenario(
            name: "clock-day", title: "the calendar set a day forward, and back",
            heard: ["07:30", "07:30"], isInCaseStudy: false,
            steps: [
                .make("read"), .home, .advance(toHour: 12), .setCalendar(by: .days(1)), .open,
                .home, .setCalendar(by: .zero - .days(1)), .open, .home, .listen,
                .advance(by: .days(2)), .open,
            ]),
        RemindersScenario(
            name: "zone", title: "to another time zone, and on",
            heard: ["07:30", "07:30"], isInCaseStudy: false,
            steps: [
                .make("read"), .home, .zone("Asia/Tokyo"), .open, .home,
                .advance(toHour: 12), .listen, .advance(toHour: 12),
                .zone("America/New_York"), .open, .home, .advance(toHour: 12), .open,
            ]),
        night("dst-spring", "02:30 in the night without one", isForward: true, "03:30"),
        night("dst-autumn", "02:30 in the night with two", isForward: false, "02:30"),
    ]

    private static func night(
        _ name: String, _ title: String, isForward: Bool, _ heard: String
    ) -> RemindersScenario {
        RemindersScenario(
            name: name, title: title, heard: [heard], isInCaseStudy: false,
            steps: [
                .evening(beforeSetting: isForward, in: "Europe/Berlin"),
                .make([.demo("read", at: [TimeOfDay(2, 30)])]), .kill, .listen,
                .advance(by: .seconds(12 * 3_600)), .launch,
            ])
    }

    private static let versions = [
        RemindersScenario(
            name: "tap-twice", title: "the same tap by two entrances",
            screens: entry, rules: PhoneRules(launchingTap: .sceneThenDelegate),
            steps: [.has("read"), .ring("read"), .tap]),
        RemindersScenario(
            name: "old-version", title: "rung by the version before the last two",
            screens: ["dataEntry read/liked", "dataEntry read/liked"], isInCaseStudy: false,
            steps: [
                .has("read"),
                .ring(info: #""reprise":{"v":1,"goal":"read","question":"liked"}"#), .tap, .settle,
                .ring(info: #""goalId":"read","questionId":"liked","isTest":false"#), .tap, .settle,
            ]),
    ]

    /// Buttons of notifications, pressed while the app does not run: the original app has none.
    private static let buttons = [
        button(
            "log", "an answer typed on the notification", heard: ["07:30"],
            applied: [#"log("12") read"#], [.demo("read")],
            [.press(.text("log", answer: "12"), of: "read"), .settle]),
        // The checker sees a request at a time that no schedule names.
        button(
            "later", "“In 10 minutes”, and it rings then", heard: ["07:30", "08:10"],
            [.demo("read")],
            [
                .press(.button("later"), of: "read"), .isTaken,
                .until("it is to ring in ten minutes") { try await $0.centre().orphans == 1 },
                .advance(by: .seconds(3_600)), .launch,
            ]),
        button(
            "skip", "“Not today”: the evening is quiet", heard: ["07:30", "07:30"],
            [.demo("read", at: [TimeOfDay(7, 30), TimeOfDay(21, 0)])],
            [
                .press(.button("skip"), of: "read"), .isTaken,
                .until("nothing rings tonight") { try await $0.centre().silent == 1 },
                .advance(by: .days(1)), .launch,
            ]),
        button(
            "pause", "“Pause”: it rings no more, another does",
            heard: ["07:30", "09:00", "09:00"], applied: ["pause read"],
            [.demo("read"), .demo("run", at: [TimeOfDay(9, 0)])],
            [
                .press(.button("pause"), of: "read"), .settle, .plan,
                .advance(by: .seconds(26 * 3_600)), .launch,
            ]),
    ]

    /// The goals exist, the app was killed, and the time is eight in the morning.
    private static func button(
        _ name: String, _ title: String, heard: [String], applied: [String] = [], _ goals: [Goal],
        _ steps: [Step<RemindersSession>]
    ) -> RemindersScenario {
        RemindersScenario(
            name: "button-\(name)", title: title, heard: heard, buttons: 1, applied: applied,
            isInCaseStudy: false,
            // Before 07:30 the first to ring is over at midnight.
            steps: [
                .make(goals),
                .until("the next days are planned") { try await $0.centre().pending >= 8 },
                .kill, .advance(toHour: 0), .listen, .advance(toHour: 8),
            ] + steps)
    }
}

extension Goal {
    /// One of the demo, asked every morning, with a reminder for each time.
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
