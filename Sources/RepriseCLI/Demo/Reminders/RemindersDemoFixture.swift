import Foundation
import Goals
import RepriseCore
import ReprisePhone

/// The phone; each play has an app of its own on it, and goals.
actor RemindersDemoFixture {
    private let phone: Phone
    private let program: URL
    private var plays = 0

    private init(phone: Phone, program: URL) {
        self.phone = phone
        self.program = program
    }

    /// Sets up the fixture, calls `body` with it, and removes it.
    ///
    /// - Throws: ``CommandFailure``, ``RepriseError``; what `body` throws.
    static func with<T>(_ body: (RemindersDemoFixture) async throws -> T) async throws -> T {
        try await DemoFolder.with { folder in
            let phone = try await Phone.start(
                in: folder.url.appendingPathComponent("phone"), supervisor: .tool(folder.program))
            do {
                let result = try await body(
                    RemindersDemoFixture(phone: phone, program: folder.program))
                await phone.end()
                return result
            } catch {
                await phone.end()
                throw error
            }
        }
    }

    /// Plays a scenario with one of the apps.
    func play(_ scenario: RemindersScenario, as algorithm: RemindersAlgorithm) async throws
        -> RemindersRun
    {
        plays += 1
        let app = "p\(plays)-\(scenario.name)"
        let since = try await phone.status().lastEvent
        try await phone.ask(.zone("UTC"))
        try await phone.ask(.rules(scenario.rules))
        let folder = GoalsFolder(of: phone.folder.data(of: app))
        try folder.make()
        let goals = GoalStore(at: folder.database)
        try await goals.load()
        let play = RemindersScenarioRunner(
            phone: phone, program: program, app: app, algorithm: algorithm,
            observer: RemindersObserver(),
            goals: goals, since: since, leavesNoneSilent: scenario.leavesNoneSilent)
        try await play.installs()
        try await phone.permit(app: app)
        try await scenario.play(play)
        try await play.settles()
        try await play.plans()
        let log = try await play.log()
        let run = RemindersRun(
            algorithm: algorithm, log: log, centre: try await play.centre(),
            heard: await play.observer.heard(in: log),
            ledger: algorithm == .reprise ? try play.ledger() : nil)
        try await phone.ask(.uninstall(app: app))
        return run
    }
}

/// The results of one app in a scenario.
struct RemindersRun: Sendable {
    let algorithm: RemindersAlgorithm
    let log: [PhoneEvent]
    let centre: NotificationCentre
    /// When something rang, by the phone's wall clock.
    let heard: [String]
    let ledger: LedgerSum?

    /// The screens that a person saw.
    var screens: [String] { log.filter { $0.what == "app.screen" }.map(\.detail) }

    /// The commands that buttons applied to the goals.
    var applied: [String] { log.filter { $0.what == "app.applied" }.map(\.detail) }

    /// Requests that the phone dropped at its limit.
    var dropped: Int {
        log.filter { $0.what == "dropped" && $0.detail.hasSuffix("more than 64 pending") }.count
    }

    /// Whether it knows its goals: Reprise reads the store, the original schedules where a person
    /// creates them.
    var hasMadeGoals: Bool { algorithm == .reprise || log.contains { $0.what == "app.did" } }

    /// From the tap to its screen, the longest one; nil: there was none.
    ///
    /// - Parameter starts: the events from which time is counted, the newest before each screen.
    /// - Returns: the time.
    func time(since starts: Set<String>) -> Duration? {
        var (start, longest) = (Int64?.none, Int64?.none)
        for event in log {
            if starts.contains(event.what) { start = event.microseconds }
            guard event.what == "app.screen", let start else { continue }
            longest = max(longest ?? 0, event.microseconds - start)
        }
        return longest.map { .microseconds($0) }
    }
}
