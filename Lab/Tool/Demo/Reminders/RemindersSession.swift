import Foundation
import Goals
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// One of the apps with reminders in one scenario.
struct RemindersSession: PhoneSession {
    static let ends: Set = ["app.lost", "app.screen"]

    let app: PlayedApp<RemindersAlgorithm>
    /// The app's database, from outside.
    let goals: GoalStore
    /// Whether every active goal must ring.
    let leavesNoneSilent: Bool
    /// The number of the event from which on it is recorded what rings; nil: nothing is.
    let listensFrom = Shared(Int?.none)

    func willKill() async throws { try await tapsAreTaken() }

    func launch() async throws {
        try await phone.launch(id)
        try await expectReport("loaded")
    }

    /// The person comes back to an app that runs, and it looks again.
    func open() async throws {
        try await phone.launch(id)
        try await expect(.foreground)
        try await plan()
    }

    /// Performs a command in the running app.
    ///
    /// The original app calls the system six hundred times for two hundred goals: while the phone
    /// logs that, it is slow and not stuck.
    func perform(_ command: GoalsCommand) async throws {
        let name = try GoalsFolder(of: folder).leave(command)
        var seen = try await activity()
        while true {
            do {
                try await expectReport("did", name)
                return
            } catch let stuck as PhoneUnmetExpectation {
                let now = try await activity()
                guard now != seen else { throw stuck }
                seen = now
            }
        }
    }

    /// Every tap has ended in whatever way.
    func settle() async throws {
        try await until("every tap has come to its end") {
            let tally = try await tally()
            guard tally.untaken == 0 else { return false }
            // The journal does not exist yet while an app starts for the first time.
            return isReprise ? (try? ledger().pending) == 0 : tally.open == 0
        }
    }

    /// The app has asked the system for what rings for its goals, as far as it ever will.
    func plan() async throws {
        // The original app has finished when its command has.
        guard isReprise else { return }
        var deadline = ContinuousClock.now + .seconds(10)
        var seen: Activity?
        // An unmet condition without further changes is judged at the end.
        while ContinuousClock.now < deadline {
            let now = try await activity()
            if now != seen {
                if try await centre().isInOrder(withAll: leavesNoneSilent) { return }
                seen = now
                deadline = .now + .seconds(10)
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// The app's activity as seen by the phone.
    private struct Activity: Equatable {
        var lastEvent: Int
        var pending: [NotificationRequest]
    }

    private func activity() async throws -> Activity {
        let status = try await phone.status()
        return Activity(
            lastEvent: status.lastEvent,
            pending: status.apps.first { $0.id == id }?.pending ?? [])
    }

    /// The phone's pending notifications beside the goals.
    func centre() async throws -> NotificationCentre {
        try await NotificationCentre(phone.status(), app: id, goals: goals.goals())
    }

    func ring(_ info: String) async throws {
        try await phone.push(#"{"aps":{"alert":{"title":"Reminder"}},\#(info)}"#, app: id)
        try await expect(.delivered)
    }

    /// The newest notification of a goal.
    func notification(of goal: String) async throws -> String? {
        try await phone.app(id).delivered.first { $0.request.content.thread == goal }?.request.id
    }

    /// When something rang, as `07:30` by the phone's wall clock, which starts in UTC.
    func heard() async throws -> [String] {
        guard let start = listensFrom.value else { return [] }
        var calendar = Calendar(identifier: .gregorian)
        var (zone, times) = ("UTC", [String]())
        for event in try await log() {
            if event.what == "clock", TimeZone(identifier: event.detail) != nil {
                zone = event.detail
            }
            guard event.number > start, event.what == "delivered" else { continue }
            calendar.timeZone = TimeZone(identifier: zone) ?? .gmt
            let time = calendar.dateComponents([.hour, .minute], from: Date(event.at))
            times.append(String(format: "%02d:%02d", time.hour ?? 0, time.minute ?? 0))
        }
        return times
    }
}

extension Step<RemindersSession> {
    // MARK: The app

    /// The app ends itself before anything is said to be done.
    static var launchAndDie: Step {
        Step { session in
            try await session.phone.launch(session.id)
            try await session.expect(.exited)
        }
    }
    static var open: Step { Step { try await $0.open() } }

    // MARK: Goals

    /// There are goals that the app does not know yet.
    static func has(_ ids: String...) -> Step {
        Step { try await $0.goals.save(ids.map { .demo($0) }) }
    }
    /// A person makes goals in the app, and it has asked the system to ring for them.
    static func make(_ goals: [Goal]) -> Step {
        Step { session in
            try await session.launch()
            try await session.perform(GoalsCommand(do: .save, goals: goals))
            try await session.plan()
        }
    }
    static func make(_ ids: String...) -> Step { make(ids.map { .demo($0) }) }
    /// A person changes goals in the app.
    static func perform(_ action: GoalsCommand.Action, _ ids: [String]? = nil) -> Step {
        Step { try await $0.perform(GoalsCommand(do: action, ids: ids)) }
    }
    static func importAll(_ goals: [Goal], replacing: [String: String]? = nil) -> Step {
        Step {
            try await $0.perform(GoalsCommand(do: .importAll, goals: goals, replacing: replacing))
        }
    }
    /// Something is done behind the app's back.
    static func edit(_ body: @escaping @Sendable (GoalStore) async throws -> Void) -> Step {
        Step { try await body($0.goals) }
    }
    /// The app's store that has waited is loaded.
    static var storeLoads: Step {
        Step { try Data().write(to: GoalsFolder(of: $0.folder).release) }
    }

    // MARK: Taps

    /// A notification of a goal, as the app's version would have it.
    static func ring(_ goal: String) -> Step {
        Step { session in
            try await session.ring(
                session.isReprise
                    ? #""reprise":{"v":2,"sort":"goal","id":"\#(goal)","part":"pages"}"#
                    : #""goalId":"\#(goal)","questionId":"pages""#)
        }
    }
    static func ring(info: String) -> Step { Step { try await $0.ring(info) } }
    static func tap(of goal: String) -> Step {
        Step { try await $0.phone.tap(try await $0.notification(of: goal), app: $0.id) }
    }
    /// The person presses a button of the newest notification of a goal.
    static func press(_ button: NotificationResponse.Action, of goal: String) -> Step {
        Step { session in
            try await session.phone.tap(
                try await session.notification(of: goal), button, app: session.id)
        }
    }
    /// The app has the tap, and has said so to the system.
    static var isTaken: Step {
        Step { session in
            try await session.expectReport("created")
            try await session.tapsAreTaken()
        }
    }
    static var plan: Step { Step { try await $0.plan() } }
    // MARK: Time

    /// The phone is in another time zone from now on.
    static func zone(_ zone: String) -> Step { Step { try await $0.phone.ask(.zone(zone)) } }
    static func setCalendar(by time: Duration) -> Step {
        Step { try await $0.phone.setCalendar(by: time) }
    }
    /// It becomes the evening before the clocks are next set forward, or back.
    static func evening(beforeSetting isForward: Bool, in zone: String) -> Step {
        Step { session in
            try await session.phone.ask(.zone(zone))
            guard let place = TimeZone(identifier: zone) else { return }
            let now = Date(try await session.phone.status().now)
            var change = place.nextDaylightSavingTimeTransition(after: now)
            if let next = change, place.isDaylightSavingTime(for: next + 1) != isForward {
                change = place.nextDaylightSavingTimeTransition(after: next)
            }
            guard let change else { return }
            try await session.advance(by: .seconds((change - 6 * 3_600).timeIntervalSince(now)))
        }
    }
    /// The battery is out for so long.
    static func off(for time: Duration) -> Step {
        Step { session in
            await session.phone.powerOff()
            try await session.phone.powerOn(after: time)
        }
    }
    /// Records reminders that ring from now on.
    static var listen: Step {
        Step { session in
            let last = try await session.phone.status().lastEvent
            session.listensFrom.update { $0 = last }
        }
    }
}
