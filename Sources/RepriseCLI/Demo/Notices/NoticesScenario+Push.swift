import RepriseCore

/// Scenarios of pushes: the app runs no code.
extension NoticesScenario {
    static let pushes = [
        NoticesScenario(
            name: "suspended", title: "10 messages while suspended", isPushed: true
        ) { play in
            try await play.launch()
            try await play.goesHome()
            try await play.isSuspended()
            let names = (1...10).map { "m\($0)" }
            for name in names { try await play.writes(name) }
            try await play.areSeen(names)
            try await play.isResumed()
            try await play.areStored(names)
            try await play.badgeIsRight()
        },
        NoticesScenario(
            name: "terminated", title: "terminated, with push", isPushed: true
        ) { play in
            try await play.launch()
            try await play.goesHome()
            try await play.isKilled()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.badgeIsRight()
            try await play.taps("m1")
        },
        NoticesScenario(name: "no-push", title: "terminated, without push") { play in
            try await play.launch()
            try await play.goesHome()
            try await play.isKilled()
            try await play.writes("m1", .atOpen)
            try await play.writes("m2", .atOpen)
            try await play.opens()
            try await play.areStored(["m1", "m2"])
            try await play.badgeIsRight()
        },
        NoticesScenario(
            name: "force-quit", title: "force-quit, with push, then tapped", isPushed: true
        ) { play in
            try await play.launch()
            try await play.isForceQuit()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.badgeIsRight()
            try await play.taps("m1")
            try await play.badgeIsRight()
        },
    ]

    static let races = [
        NoticesScenario(
            name: "socket-push", title: "first by socket, then by push", isPushed: true,
            isOfSeed: false
        ) { play in
            try await play.launch()
            try await play.goesHome()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.isPushedLate("m1")
            try await play.badgeIsRight()
        },
        NoticesScenario(
            name: "push-socket", title: "first by push, then by socket", isPushed: true,
            isOfSeed: false
        ) { play in
            try await play.launch()
            try await play.goesHome()
            try await play.isSuspended()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.isResumed()
            try await play.areStored(["m1"])
            try await play.badgeIsRight()
        },
        NoticesScenario(
            name: "at-once", title: "by push and socket at once", isPushed: true,
            isOfSeed: false, mayRace: true
        ) { play in
            try await play.launch()
            try await play.goesHome()
            for index in 1...5 {
                try await play.writes("m\(index)")
                try await play.isPushedLate("m\(index)")
            }
            try await play.areSeen((1...5).map { "m\($0)" })
            try await play.badgeIsRight()
        },
        NoticesScenario(
            name: "foreground-push", title: "the same, in the foreground", isPushed: true,
            isOfSeed: false, mayRace: true
        ) { play in
            try await play.launch()
            for index in 1...5 {
                try await play.writes("m\(index)")
                try await play.isPushedLate("m\(index)")
            }
            try await play.areSeen((1...5).map { "m\($0)" })
            try await play.badgeIsRight()
        },
    ]
}
