import RepriseCore
import ReprisePhone
import RepriseWire

/// Settings, kills and outages.
extension NoticesScenario {
    static let settings = [
        NoticesScenario(name: "permission", title: "denied, and later allowed") { play in
            try await play.phone.permit(.denied, app: play.app)
            try await play.launch()
            try await play.goesHome()
            try await play.writes("m1", .quiet)
            try await play.areStored(["m1"])
            try await play.phone.permit(.authorized, app: play.app)
            try await play.opens()
            try await play.badgeIsRight()
            try await play.goesHome()
            try await play.writes("m2")
            try await play.areSeen(["m2"])
            try await play.badgeIsRight()
        },
        NoticesScenario(
            name: "quiet-hours", title: "quiet over midnight, by Tokyo's clock", isOfSeed: false
        ) { play in
            try await play.isQuiet(from: "22:00", to: "07:00", in: "Asia/Tokyo")
            try await play.launch()
            for (index, time) in ["21:30", "22:30", "00:30", "06:30", "07:30"].enumerated() {
                // The server's calendar does not advance with the phone's: caught-up messages would
                // seem hours old. So the app is started anew, and live.
                try await play.isKilled()
                try await play.becomes(time, in: "Asia/Tokyo")
                try await play.launch()
                let isLoud = time == "21:30" || time == "07:30"
                try await play.writes("m\(index)", isLoud ? .banner : .quiet)
                try await play.areStored(["m\(index)"])
                if isLoud { try await play.areSeen(["m\(index)"]) }
                try await play.badgeIsRight()
            }
        },
        NoticesScenario(
            name: "quiet-push", title: "the same by push, the app is dead", isPushed: true,
            isOfSeed: false
        ) { play in
            try await play.isQuietNow()
            try await play.launch()
            try await play.isKilled()
            try await play.writes("m1", .quiet)
            try await play.isListed("m1")
            try await play.badgeIsRight()
        },
    ]

    static let troubles = [
        NoticesScenario(
            name: "banner-badge", title: "killed between banner and badge"
        ) { play in
            try await play.launch()
            try await play.goesHome()
            try await play.isKilled()
            // The first change is the banner, and behind it the process is no more.
            try await play.installs(["--die-after-changes", "1"])
            try await play.launch()
            try await play.goesHome()
            try await play.writes("m1")
            try await play.dies()
            try await play.badgeIsRight()
            try await play.installs()
            try await play.opens()
            try await play.badgeIsRight()
        },
        NoticesScenario(
            name: "before-banner", title: "killed before the banner it had decided",
            isOfSeed: false
        ) { play in
            try await play.launch()
            try await play.goesHome()
            try await play.isKilled()
            try await play.installs(["--die-after-changes", "0"])
            try await play.launch()
            try await play.goesHome()
            try await play.writes("m1", .atOpen)
            try await play.dies()
            try await play.installs()
            try await play.opens()
            try await play.areSeen(["m1"])
            try await play.badgeIsRight()
        },
        NoticesScenario(
            name: "extension-limit", title: "the extension hangs until its limit",
            isPushed: true, isOfSeed: false
        ) { play in
            try await play.installs(
                extensionArguments: ["--hang-at", "decided", "--ignores-warning"])
            try await play.launch()
            try await play.isForceQuit()
            try await play.writes("m1")
            try await play.phone.expects(
                .report("extension", app: play.app), within: NoticesScenarioRunner.timeout)
            try await play.passes(.seconds(27))
            try await play.passes(.seconds(3))
            try await play.areSeen(["m1"])
            try await play.badgeIsRight()
        },
        NoticesScenario(
            name: "server-killed", title: "the server dies before it has pushed",
            isPushed: true, isAlone: true
        ) { play in
            try await play.launch()
            try await play.isKilled()
            try await play.writes("m1")
            await play.server.kill()
            try await play.server.start()
            try await play.areSeen(["m1"])
            try await play.badgeIsRight()
        },
    ]

    static func providerDown(_ scale: NoticesScale) -> NoticesScenario {
        let time =
            scale == .full ? "for an hour" : "(an hour, cut to \(Int(scale.outage.inSeconds)) s)"
        return NoticesScenario(
            name: "provider-down", title: "Apple is down \(time)", isPushed: true, isOfSeed: false,
            isAlone: scale == .full
        ) { play in
            try await play.launch()
            try await play.isKilled()
            play.server.setDown(true)
            for index in 1...3 { try await play.writes("m\(index)") }
            try await Task.sleep(for: scale.outage)
            play.server.setDown(false)
            try await play.areSeen(["m1", "m2", "m3"], within: scale.timeout)
            try await play.badgeIsRight()
        }
    }
}
