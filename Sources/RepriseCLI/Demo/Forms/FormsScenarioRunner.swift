import Foundation
import Reprise
import RepriseCore
import ReprisePhone

/// One run of a scenario by one app: the actions and expectations of scenarios.
///
/// Each call returns when its effect has happened; none of them waits for a fixed time.
struct FormsScenarioRunner: Sendable {
    private static let timeout = DemoTimeout.most

    let phone: Phone
    let app: PhoneAppSpec
    let algorithm: FormsAlgorithm
    let eyes: FormsEyes
    let clock: FormsClock
    /// The number of the last event before.
    let since: Int

    // MARK: Actions

    /// The person opens the app, and it has everything that it needs.
    func isReady() async throws {
        try await launch()
        try await phone.expects(.report("formsData", app: app.id), within: Self.timeout)
    }

    /// The person opens the app.
    func launch() async throws {
        try await phone.launch(app.id)
        try await phone.expects(.report("process", app: app.id), within: Self.timeout)
    }

    /// The page has said hello, and has been answered.
    func doesHandshake() async throws {
        try await phone.expects(.report("handshake", app: app.id), within: Self.timeout)
    }

    func goesHome() async throws {
        try await phone.home()
        try await phone.expects(.phone(.background, app: app.id), within: Self.timeout)
    }

    func suspend() async throws {
        try await phone.suspend(app.id)
        try await phone.expects(.phone(.suspended, app: app.id), within: Self.timeout)
    }

    /// SIGKILL, after the earlier taps were delivered: only the app's state is lost, not the
    /// system's.
    func kill() async throws {
        try await until("its taps are taken") { try await tally().untaken == 0 }
        try await phone.kill(app.id)
        try await phone.expects(.phone(.terminated, app: app.id), within: Self.timeout)
    }

    /// A notification with the name of a campaign.
    func push(_ campaign: String) async throws {
        try await phone.push(
            #"{"aps": {"alert": {"title": "News", "body": "Tap me"}}, "campaign": "\#(campaign)"}"#,
            app: app.id)
        try await phone.expects(.phone(.delivered, app: app.id), within: Self.timeout)
    }

    /// The person taps the newest notification.
    func tap() async throws { try await phone.tap(app: app.id) }

    /// The app is replaced by its next version.
    func update() async throws {
        try await until("its taps are taken") { try await tally().untaken == 0 }
        var newer = app
        newer.arguments.removeAll { $0 == "--older" }
        try await phone.install(newer)
        try await phone.expects(.phone(.terminated, app: app.id), within: Self.timeout)
    }

    /// Time passes.
    func passes(_ time: Duration) async throws {
        try await phone.advance(by: time)
        clock.move(by: time)
    }

    // MARK: Expectations

    /// The app has done with the events all that it can do without a network.
    func doesWhatItCan() async throws {
        try await until("it has done what it can") {
            let tally = try await tally()
            guard tally.untaken == 0 else { return false }
            return algorithm == .reprise ? tally.said["app.handshake"] != nil : tally.open == 0
        }
    }

    /// Every tap has ended in whatever way, and no form is on the screen.
    func settles() async throws {
        try await until("every tap has come to its end") {
            let tally = try await tally()
            guard tally.untaken == 0, await !eyes.isFormOnScreen else { return false }
            return algorithm == .reprise ? try ledger().pending == 0 : tally.open == 0
        }
        let appeared = try await log().filter { $0.what == "app.formDidAppear" }.count
        // The eyes may be a moment behind the page.
        try await until("what has appeared was seen") {
            let seen = await eyes.sightings.count
            let isFormOnScreen = await eyes.isFormOnScreen
            return seen >= appeared && !isFormOnScreen
        }
    }

    /// The ledger of the app's journal, read from outside.
    func ledger() throws -> LedgerSum {
        try Reprise.ledger(at: phone.folder.data(of: app.id))
    }

    /// The phone's log of this app.
    func log() async throws -> [PhoneEvent] {
        try await phone.log().filter {
            $0.number > since && ($0.app == app.id || $0.app == nil)
        }
    }

    private func tally() async throws -> TapTally {
        TapTally(try await log(), ends: ["app.lost", "app.formDidAppear", "app.handled"])
    }

    private func until(_ what: String, _ condition: () async throws -> Bool) async throws {
        try await DemoTimeout(app: app.id, log: log).until(what, condition)
    }
}
