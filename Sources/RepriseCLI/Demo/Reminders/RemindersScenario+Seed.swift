import Goals
import RepriseCore
import ReprisePhone
import RepriseReminders

/// The cases of `case-reminder-routing`.
extension RemindersScenario {
    /// Its test cases (373–424).
    static let cases = [
        RemindersScenario(
            name: "case-1", title: "1 active goal", screens: ["dataEntry read/pages"]
        ) { play in
            try await play.makes([.demo("read")])
            try await play.goesHome()
            try await play.passes(.days(1))
            try await play.tap()
        },
        RemindersScenario(
            name: "case-2", title: "2 paused by its switch", screens: ["inactiveGoal read"]
        ) { play in
            try await play.makes([.demo("read")])
            try await play.rings("read")
            try await play.does(GoalsCommand(do: .pause, ids: ["read"]))
            try await play.tap()
        },
        RemindersScenario(
            name: "case-3", title: "3 deleted, its notification lingers",
            screens: ["deletedGoal read"]
        ) { play in
            try await play.makes([.demo("read")])
            try await play.rings("read")
            try await play.does(GoalsCommand(do: .delete, ids: ["read"]))
            try await play.tap()
        },
        RemindersScenario(
            name: "case-4", title: "4 tapped while the app is dead",
            screens: ["dataEntry read/pages"]
        ) { play in
            try await play.makes([.demo("read")])
            try await play.kill()
            try await play.passes(.days(1))
            try await play.tap()
        },
        RemindersScenario(
            name: "case-5", title: "5 of five two paused, one deleted",
            screens: [
                "inactiveGoal a", "inactiveGoal b", "deletedGoal c", "dataEntry d/pages",
                "dataEntry e/pages",
            ]
        ) { play in
            let ids = ["a", "b", "c", "d", "e"]
            try await play.makes(ids.map { .demo($0) })
            try await play.does(GoalsCommand(do: .pause, ids: ["a", "b"]))
            try await play.does(GoalsCommand(do: .delete, ids: ["c"]))
            for id in ids {
                try await play.rings(id)
                try await play.tap()
                try await play.settles()
            }
        },
    ]

    /// Its problems (39–97).
    static let problems = [
        RemindersScenario(
            name: "problem-1", title: "P1 not among the active goals",
            screens: ["inactiveGoal read"]
        ) { play in
            try await play.makes([.demo("read")])
            try await play.kill()
            try await play.rings("read")
            try await play.edits { try await $0.set(.archived, ["read"]) }
            try await play.tap()
        },
        RemindersScenario(
            name: "problem-2", title: "P2 tapped before the goals are loaded",
            screens: ["dataEntry read/pages"]
        ) { play in
            try await play.has([.demo("read")])
            try await play.installs("--store-delay", "300")
            try await play.rings("read")
            try await play.tap()
        },
        RemindersScenario(
            name: "problem-3", title: "P3 many deleted at once"
        ) { play in
            let ids = (1...8).map { "g\($0)" }
            try await play.makes(ids.map { .demo($0) })
            try await play.does(GoalsCommand(do: .deleteMany, ids: Array(ids.dropFirst(3))))
        },
        RemindersScenario(
            name: "problem-4", title: "P4 all put aside",
            screens: ["inactiveGoal read"]
        ) { play in
            try await play.makes([.demo("read"), .demo("run")])
            try await play.rings("read")
            try await play.does(GoalsCommand(do: .pauseAll))
            try await play.tap()
        },
    ]

    /// A tap that launches a dead app, and how long its goals take to load.
    static let stores =
        [0, 50, 500, 5_000].map { delay in
            RemindersScenario(
                name: "store-\(delay)", title: "dead, goals load in \(delay.grouped) ms",
                screens: ["dataEntry read/pages"], takesLong: delay > 1_000
            ) { play in
                try await play.has([.demo("read")])
                try await play.installs("--store-delay", "\(delay)")
                try await play.rings("read")
                try await play.tap()
            }
        } + [
            RemindersScenario(
                name: "store-fails", title: "dead, goals load at the fourth attempt",
                screens: ["dataEntry read/pages"]
            ) { play in
                try await play.has([.demo("read")])
                try await play.installs("--store-failures", "3")
                try await play.rings("read")
                try await play.tap()
            },
            RemindersScenario(
                name: "killed", title: "killed while the goals load",
                screens: ["dataEntry read/pages"], startsAtLaunch: true
            ) { play in
                try await play.has([.demo("read")])
                try await play.installs("--store-delay", "60000")
                try await play.rings("read")
                try await play.tap()
                try await play.isTaken()
                try await play.kill()
                try await play.installs()
                try await play.launch()
            },
        ]

    /// Changes of a goal between its ring and its screen.
    static let changes = [
        RemindersScenario(
            name: "deleted-meanwhile", title: "deleted while the tap waits",
            screens: ["deletedGoal read"]
        ) { play in
            try await play.has([.demo("read")])
            try await play.installs("--store-delay", "400")
            try await play.rings("read")
            try await play.tap()
            try await play.isTaken()
            try await play.edits { try await $0.delete(["read"]) }
        },
        RemindersScenario(
            name: "reactivated", title: "paused when it rings, active when tapped",
            screens: ["dataEntry read/pages"]
        ) { play in
            try await play.makes([.demo("read")])
            try await play.does(GoalsCommand(do: .pause, ids: ["read"]))
            try await play.rings("read")
            try await play.does(GoalsCommand(do: .activate, ids: ["read"]))
            try await play.tap()
        },
        RemindersScenario(
            name: "import-same", title: "import, the same ids at other times",
            screens: ["dataEntry read/pages"]
        ) { play in
            try await play.makes([.demo("read"), .demo("run")])
            try await play.rings("read")
            try await play.does(
                GoalsCommand(
                    do: .importAll,
                    goals: [.demo("read", at: [TimeOfDay(9, 15)]), .demo("run")]))
            try await play.tap()
        },
        RemindersScenario(
            name: "import-new", title: "import, new ids", screens: ["replacedGoal read by new"]
        ) { play in
            try await play.makes([.demo("read")])
            try await play.rings("read")
            try await play.does(
                GoalsCommand(do: .importAll, goals: [.demo("new")], replacing: ["read": "new"]))
            try await play.tap()
        },
    ]
}

extension Duration {
    static func days(_ count: Int) -> Duration { .seconds(count * 86_400) }
}
