import RepriseCore
import RepriseReminders

/// Buttons of notifications, pressed while the app does not run: the original app has none.
extension RemindersScenario {
    static let actions = [
        RemindersScenario(
            name: "button-log", title: "an answer typed on the notification",
            heard: ["07:30"], buttons: 1, applied: [#"log("12") read"#], isOfSeed: false
        ) { play in
            try await play.rangThisMorning([.demo("read")])
            try await play.press(.text("log", answer: "12"), of: "read")
            try await play.settles()
        },
        RemindersScenario(
            name: "button-later", title: "“In 10 minutes”, and it rings then",
            heard: ["07:30", "08:10"], buttons: 1, isOfSeed: false
        ) { play in
            try await play.rangThisMorning([.demo("read")])
            try await play.press(.button("later"), of: "read")
            try await play.isTaken()
            // The checker sees a request at a time that no schedule names.
            try await play.comesTo("it is to ring in ten minutes") { $0.orphans == 1 }
            try await play.passes(.seconds(3_600))
            try await play.launch()
        },
        RemindersScenario(
            name: "button-skip", title: "“Not today”: the evening is quiet",
            heard: ["07:30", "07:30"], buttons: 1, isOfSeed: false
        ) { play in
            try await play.rangThisMorning([
                .demo("read", at: [TimeOfDay(7, 30), TimeOfDay(21, 0)])
            ])
            try await play.press(.button("skip"), of: "read")
            try await play.isTaken()
            try await play.comesTo("nothing rings tonight") { $0.silent == 1 }
            try await play.passes(.days(1))
            try await play.launch()
        },
        RemindersScenario(
            name: "button-pause", title: "“Pause”: it rings no more, another does",
            heard: ["07:30", "09:00", "09:00"], buttons: 1, applied: ["pause read"],
            isOfSeed: false
        ) { play in
            try await play.rangThisMorning([
                .demo("read"), .demo("run", at: [TimeOfDay(9, 0)]),
            ])
            try await play.press(.button("pause"), of: "read")
            try await play.settles()
            try await play.plans()
            try await play.passes(.seconds(26 * 3_600))
            try await play.launch()
        },
    ]
}
