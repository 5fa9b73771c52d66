import Foundation
import Reprise
import RepriseCore
import RepriseNotices
import ReprisePhone

/// One run of a scenario by one app: the actions and expectations of scenarios.
///
/// Each call returns when its effect has happened, or at a timeout, which the report contains.
struct NoticesScenarioRunner: Sendable {
    static let timeout = DemoTimeout.most

    let phone: Phone
    let server: NoticesServer
    let program: URL
    /// The app's name on the phone.
    let app: String
    let algorithm: NoticesAlgorithm
    /// The phone's user.
    let person: String
    let channels: [String]
    /// Ada, who sends.
    let sender: NoticesCaller
    /// The person, before another device.
    let elsewhere: NoticesCaller
    /// The app's push token; nil: no pushes.
    let pushToken: String?
    let book: NoticesRecorder
    let clock: FormsClock
    /// The number of the last event before.
    let since: Int

    /// Timeout for an expectation; short for the original app where none of it runs any more.
    var timeout: Duration { algorithm == .reprise ? .seconds(20) : .milliseconds(1_500) }

    // MARK: The app

    /// Installs the app, or replaces it by one that is started in another way.
    func installs(_ arguments: [String] = [], extensionArguments: [String] = []) async throws {
        let name = algorithm == .reprise ? "notices" : "notices-seed"
        var all = [
            "app", name, "--server", await server.url, "--user", person,
            "--token", elsewhere.token.secret,
        ]
        for channel in channels { all += ["--channel", channel] }
        if let pushToken { all += ["--push-token", pushToken] }
        var spec = PhoneAppSpec(id: app, executable: program.path, arguments: all + arguments)
        if algorithm == .reprise {
            spec.serviceExtension = program.path
            spec.extensionArguments = ["app", "notices-extension"] + extensionArguments
        }
        try await phone.install(spec)
    }

    /// The person opens the app, which is not there, and it has caught up.
    func launch() async throws {
        let before = try await log().last?.number ?? 0
        try await phone.launch(app)
        try await isReady(after: before)
    }

    private func isReady(after event: Int) async throws {
        try await until("it has caught up") {
            let said = try await log().filter { $0.number > event }
            let live = Set(said.filter { $0.what == "app.live" }.map(\.detail))
            return live.isSuperset(of: channels)
                && (pushToken == nil || said.contains { $0.what == "app.registered" })
        }
    }

    /// The app dies over what it does.
    func launchesAndDies() async throws {
        try await phone.launch(app)
        try await dies()
    }

    func dies() async throws {
        try await phone.expects(.phone(.exited, app: app), within: Self.timeout)
    }

    func goesHome() async throws {
        try await phone.home()
        try await phone.expects(.phone(.background, app: app), within: Self.timeout)
    }

    /// Another app is in the foreground.
    func switchesToAnotherApp() async throws {
        try await phone.install(
            PhoneAppSpec(
                id: "other", executable: program.path, arguments: ["app", "notices-seed"]))
        try await phone.launch("other")
        try await phone.expects(.phone(.background, app: app), within: Self.timeout)
    }

    /// The person comes back to the app, whether it runs or not.
    func opens() async throws {
        let isThere = try await phone.app(app).process != nil
        guard isThere else { return try await launch() }
        try await phone.launch(app)
    }

    /// SIGSTOP.
    func isSuspended() async throws {
        try await phone.suspend(app)
        try await phone.expects(.phone(.suspended, app: app), within: Self.timeout)
    }

    /// SIGCONT.
    func isResumed() async throws {
        try await phone.resume(app)
        try await phone.expects(.phone(.resumed, app: app), within: Self.timeout)
    }

    /// SIGKILL.
    func isKilled() async throws {
        try await phone.kill(app)
        try await phone.expects(.phone(.terminated, app: app), within: Self.timeout)
    }

    func isForceQuit() async throws {
        try await phone.forceQuit(app)
        try await phone.expects(.phone(.terminated, app: app), within: Self.timeout)
    }

    func passes(_ time: Duration) async throws {
        try await phone.advance(by: time)
        clock.move(by: time)
    }

    // MARK: Expectations

    /// The phone's log of this app.
    func log() async throws -> [PhoneEvent] {
        try await phone.log().filter { $0.number > since && ($0.app == app || $0.app == nil) }
    }

    /// The person opens the app at the end; after all is idle, or a timeout, the result is judged.
    func ends() async throws -> NoticesRun {
        try await opens()
        let end = ContinuousClock.now + (algorithm == .reprise ? .seconds(12) : timeout)
        while true {
            let run = try await result()
            let isSettled = run.ledger.map { $0.isBalanced && $0.pending == 0 } ?? true
            if run.faults.isEmpty, isSettled, isLive(run.log) { return run }
            guard ContinuousClock.now < end else { return run }
            try await Task.sleep(for: .milliseconds(25))
        }
    }

    /// Whether the running process has caught up: one that has just started has nothing to do yet.
    private func isLive(_ log: [PhoneEvent]) -> Bool {
        guard algorithm == .reprise else { return true }
        let since = log.last { $0.what == "launched" }?.number ?? 0
        let live = log.filter { $0.number > since && $0.what == "app.live" }.map(\.detail)
        return Set(live).isSuperset(of: channels)
    }

    /// The result so far.
    func result() async throws -> NoticesRun {
        let status = try await phone.app(app)
        var standings: [String: NoticesStatus] = [:]
        for channel in channels {
            standings[channel] = try await elsewhere.standing(in: channel)
        }
        let isOurs = algorithm == .reprise
        let folder = phone.folder.data(of: app)
        let reading =
            try isOurs
            ? NoticesReading.read(at: folder, schemas: Reprise.featureSchemas, limit: 0) : nil
        return NoticesRun(
            algorithm: algorithm, log: try await log(), messages: await book.messages,
            noted: await book.faults, routes: await book.routes, badge: Int64(status.badge),
            standings: standings, delivered: status.delivered.map(\.request),
            secondAlerts: reading?.counts.first { $0.what == "secondAlert" }?.count ?? 0,
            ledger: isOurs ? try Reprise.ledger(at: folder) : nil)
    }

    func until(_ what: String, _ condition: () async throws -> Bool) async throws {
        try await DemoTimeout(app: app, log: log).until(what, condition)
    }
}
