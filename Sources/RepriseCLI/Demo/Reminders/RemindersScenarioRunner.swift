import Foundation
import Goals
import Reprise
import RepriseCore
import ReprisePhone

/// One run of a scenario by one app: the actions and expectations of scenarios.
///
/// Each call returns when its effect has happened; none of them waits for a fixed time.
struct RemindersScenarioRunner: Sendable {
    let phone: Phone
    let program: URL
    /// The app's name on the phone.
    let app: String
    let algorithm: RemindersAlgorithm
    let observer: RemindersObserver
    /// The app's database, from outside.
    let goals: GoalStore
    /// The number of the last event before.
    let since: Int
    /// Whether every active goal must ring.
    let leavesNoneSilent: Bool

    private static let timeout = DemoTimeout.most

    // MARK: The app

    /// Installs the app, or replaces it by one that is started in another way.
    func installs(_ arguments: String...) async throws {
        try await phone.install(
            PhoneAppSpec(
                id: app, executable: program.path,
                arguments: ["app", "reminders", "--as", algorithm.rawValue] + arguments,
                backgroundTasks: [RemindersApp.refresh]))
    }

    func launch() async throws {
        try await phone.launch(app)
        try await phone.expects(.report("loaded", app: app), within: Self.timeout)
    }

    /// The app ends itself before anything is said to be done.
    func launchesAndDies() async throws {
        try await phone.launch(app)
        try await phone.expects(.phone(.exited, app: app), within: Self.timeout)
    }

    func goesHome() async throws {
        try await phone.home()
        try await phone.expects(.phone(.background, app: app), within: Self.timeout)
    }

    /// The person comes back to an app that runs, and it looks again.
    func opensAndPlans() async throws {
        try await phone.launch(app)
        try await phone.expects(.phone(.foreground, app: app), within: Self.timeout)
        try await plans()
    }

    /// SIGKILL, after the earlier taps were delivered: only the app's state is lost, not the
    /// system's.
    func kill() async throws {
        try await until("its taps are taken") { try await tally().untaken == 0 }
        try await phone.kill(app)
        try await phone.expects(.phone(.terminated, app: app), within: Self.timeout)
    }

    // MARK: Goals

    /// Creates goals that the app does not know yet.
    func has(_ goals: [Goal]) async throws { try await self.goals.save(goals) }

    /// A person makes goals in the app, and it has asked the system to ring for them.
    func makes(_ goals: [Goal]) async throws {
        try await launch()
        try await does(GoalsCommand(do: .save, goals: goals))
        try await plans()
    }

    /// Performs a command in the running app.
    ///
    /// The original app calls the system six hundred times for two hundred goals: while the phone
    /// logs that, it is slow and not stuck.
    func does(_ command: GoalsCommand) async throws {
        let name = try GoalsFolder(of: phone.folder.data(of: app)).leave(command)
        var seen = try await heard()
        while true {
            do {
                try await phone.expects(.report("did", name, app: app), within: Self.timeout)
                return
            } catch let stuck as PhoneDisappointment {
                let now = try await heard()
                guard now != seen else { throw stuck }
                seen = now
            }
        }
    }

    /// Something is done behind the app's back.
    func edits(_ body: (GoalStore) async throws -> Void) async throws { try await body(goals) }

    // MARK: Taps

    /// A notification of a goal, as the app's version would have it.
    func rings(_ goal: String) async throws {
        try await rings(
            info: algorithm == .reprise
                ? #""reprise":{"v":2,"sort":"goal","id":"\#(goal)","part":"pages"}"#
                : #""goalId":"\#(goal)","questionId":"pages""#)
    }

    func rings(info: String) async throws {
        try await phone.push(#"{"aps":{"alert":{"title":"Reminder"}},\#(info)}"#, app: app)
        try await phone.expects(.phone(.delivered, app: app), within: Self.timeout)
    }

    /// The person taps the newest notification.
    func tap() async throws { try await phone.tap(app: app) }

    /// The person taps the newest notification of a goal.
    func tap(of goal: String) async throws {
        let shown = try await phone.app(app).delivered
        let notification = shown.first { $0.request.content.thread == goal }
        try await phone.tap(notification?.request.id, app: app)
    }

    /// The person presses a button of the newest notification of a goal.
    func press(_ button: NotificationResponse.Action, of goal: String) async throws {
        let shown = try await phone.app(app).delivered
        let notification = shown.first { $0.request.content.thread == goal }
        try await phone.tap(notification?.request.id, button, app: app)
    }

    /// The app has the tap, and has said so to the system.
    func isTaken() async throws {
        try await phone.expects(.report("created", app: app), within: Self.timeout)
        try await until("its taps are taken") { try await tally().untaken == 0 }
    }

    // MARK: Expectations

    /// Every tap has ended in whatever way.
    func settles() async throws {
        try await until("every tap has come to its end") {
            let tally = try await tally()
            guard tally.untaken == 0 else { return false }
            // The journal does not exist yet while an app starts for the first time.
            return algorithm == .reprise ? (try? ledger().pending) == 0 : tally.open == 0
        }
    }

    /// The app has asked the system for what rings for its goals, as far as it ever will.
    func plans() async throws {
        // The original app has finished when its command has.
        guard algorithm == .reprise else { return }
        var deadline = ContinuousClock.now + .seconds(10)
        var seen: Heard?
        // An unmet condition without further changes is judged at the end.
        while ContinuousClock.now < deadline {
            let now = try await heard()
            if now != seen {
                if try await centre().isInOrder(withAll: leavesNoneSilent) { return }
                seen = now
                deadline = .now + .seconds(10)
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// The app's activity as seen by the phone.
    private struct Heard: Equatable {
        var lastEvent: Int
        var pending: [NotificationRequest]
    }

    private func heard() async throws -> Heard {
        let status = try await phone.status()
        return Heard(
            lastEvent: status.lastEvent,
            pending: status.apps.first { $0.id == app }?.pending ?? [])
    }

    /// Waits until the notification centre meets the condition.
    func comesTo(_ what: String, _ condition: (NotificationCentre) -> Bool) async throws {
        try await until(what) { condition(try await centre()) }
    }

    /// The ledger of the app's journal, read from outside.
    func ledger() throws -> LedgerSum { try Reprise.ledger(at: phone.folder.data(of: app)) }

    /// The phone's pending notifications beside the goals.
    func centre() async throws -> NotificationCentre {
        try await NotificationCentre(phone.status(), app: app, goals: goals.goals())
    }

    /// The phone's log of this app.
    func log() async throws -> [PhoneEvent] {
        try await phone.log().filter { $0.number > since && ($0.app == app || $0.app == nil) }
    }

    private func tally() async throws -> TapTally {
        TapTally(try await log(), ends: ["app.lost", "app.screen"])
    }

    private func until(_ what: String, _ condition: () async throws -> Bool) async throws {
        try await DemoTimeout(app: app, log: log).until(what, condition)
    }
}
