import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// One of the apps with forms in one scenario.
struct FormsSession: PhoneSession {
    static let ends: Set = ["app.lost", "app.formDidAppear", "app.handled"]

    let app: PlayedApp<FormsAlgorithm>
    let observer: FormsObserver
    let observing: Task<Void, Never>

    func stop() { observing.cancel() }
    func willKill() async throws { try await tapsAreTaken() }

    func launch() async throws {
        try await phone.launch(id)
        try await expectReport("process")
    }

    /// Every tap has ended in whatever way, and no form is on the screen.
    func settle() async throws {
        try await until("every tap has come to its end") {
            let tally = try await tally()
            guard tally.untaken == 0, await !observer.isFormOnScreen else { return false }
            return isReprise ? try ledger().pending == 0 : tally.open == 0
        }
        let appeared = try await count("app.formDidAppear")
        // The observer may be a moment behind the page.
        try await until("what has appeared was seen") {
            let seen = await observer.sightings.count
            let isFormOnScreen = await observer.isFormOnScreen
            return seen >= appeared && !isFormOnScreen
        }
    }
}

extension Step<FormsSession> {
    /// The person opens the app, and it has everything that it needs.
    static var ready: Step {
        Step { session in
            try await session.launch()
            try await session.expectReport("formsData")
        }
    }
    /// A notification with the name of a campaign.
    static func push(_ campaign: String) -> Step {
        Step { session in
            try await session.phone.push(
                #"{"aps": {"alert": {"title": "News", "body": "Tap me"}}, "campaign": "\#(campaign)"}"#,
                app: session.id)
            try await session.expect(.delivered)
        }
    }
    static var slowNetwork: Step { Step { try await $0.phone.slow(latency: .milliseconds(2_500)) } }
    /// The page has said hello, and has been answered.
    static var handshake: Step { reports("handshake") }
    /// The app has done all that it can do without a network.
    static var doesWhatItCan: Step {
        until("it has done what it can") { session in
            let tally = try await session.tally()
            guard tally.untaken == 0 else { return false }
            return session.isReprise ? tally.said["app.handshake"] != nil : tally.open == 0
        }
    }
}
