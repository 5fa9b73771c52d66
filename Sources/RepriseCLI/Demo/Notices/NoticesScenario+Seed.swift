import RepriseCore

/// The cases of `case-badge-banner`: its four tests, and the rows of its tables.
extension NoticesScenario {
    static let states = [
        NoticesScenario(name: "test-1", title: "T1 the app is in the foreground") { play in
            try await play.launch()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.badgeIsRight()
        },
        NoticesScenario(name: "test-2", title: "T2 the home button was pressed") { play in
            try await play.launch()
            try await play.goesHome()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.badgeIsRight()
        },
        NoticesScenario(name: "test-3", title: "T3 over another app, then tapped") { play in
            try await play.launch()
            try await play.switchesToAnotherApp()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.badgeIsRight()
            try await play.taps("m1")
            try await play.badgeIsRight()
        },
        NoticesScenario(name: "test-4", title: "T4 force-quit, no push, then opened") { play in
            try await play.launch()
            try await play.isForceQuit()
            try await play.writes("m1", .atOpen)
            try await play.opens()
            try await play.areStored(["m1"])
            try await play.badgeIsRight()
        },
        NoticesScenario(name: "two-talks", title: "total unread, of two conversations") { play in
            try await play.launch()
            try await play.goesHome()
            for index in 1...4 {
                try await play.writes("m\(index)", in: index % 2)
                try await play.areSeen(["m\(index)"])
                try await play.badgeIsRight()
            }
        },
        NoticesScenario(name: "signs", title: "typing, and who has read what") { play in
            try await play.launch()
            try await play.adaTypes()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.adaReads()
            try await play.goesHome()
            try await play.taps("m1")
            try await play.isKnownAsRead("m1")
            try await play.badgeIsRight()
        },
        NoticesScenario(name: "granted", title: "25 of 30 s in the background, then back") { play in
            try await play.launch()
            try await play.goesHome()
            try await play.passes(.seconds(25))
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.opens()
            try await play.badgeIsRight()
        },
    ]

    static let reading = [
        NoticesScenario(name: "read-here", title: "tapped: read, and the badge is gone") { play in
            try await play.launch()
            try await play.goesHome()
            try await play.writes("m1")
            try await play.writes("m2")
            try await play.areSeen(["m1", "m2"])
            try await play.taps("m2")
            try await play.areGone(["m1", "m2"])
            try await play.badgeIsRight()
        },
        NoticesScenario(name: "opened", title: "opened and not read: the badge stays") { play in
            try await play.launch()
            try await play.goesHome()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.opens()
            try await play.badgeIsRight()
        },
        NoticesScenario(name: "read-there", title: "read on a tablet while it stands") { play in
            try await play.launch()
            try await play.goesHome()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.readsElsewhere()
            try await play.areGone(["m1"])
            try await play.badgeIsRight()
        },
        NoticesScenario(
            name: "read-there-dead", title: "the same by push, the app is dead", isPushed: true
        ) { play in
            try await play.launch()
            try await play.goesHome()
            try await play.isKilled()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.readsElsewhere()
            try await play.areGone(["m1"])
            try await play.badgeIsRight()
        },
        NoticesScenario(name: "on-screen", title: "its conversation is on the screen") { play in
            try await play.launch()
            try await play.goesHome()
            try await play.writes("m1")
            try await play.areSeen(["m1"])
            try await play.taps("m1")
            // The case study's own test deliberately has a banner over the conversation.
            try await play.writes("m2", play.algorithm == .reprise ? .quiet : .any)
            try await play.areStored(["m2"])
            try await play.badgeIsRight()
        },
    ]

    /// On its own server where it is long, so that it delays no other.
    static func threeDevices(_ scale: NoticesScale) -> NoticesScenario {
        NoticesScenario(
            name: "three-devices", title: "\(scale.steps.grouped) random steps, three devices",
            isAlone: scale == .full
        ) { play in try await play.doesRandomly(scale.steps) }
    }
}
