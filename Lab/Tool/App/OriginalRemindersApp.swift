import Foundation
import Goals
import RepriseCore
import ReprisePhone
import RepriseReminders
import RepriseSimulator

/// The original app of `case-reminder-routing`, before or after its repair, on the same system and
/// over the same goals.
///
/// `SleepingRouter` of the simulator decides: the original code, branch by branch. Where the case
/// study leaves something open, this favours the original: its store is loaded from the first
/// instant on, with retries until it succeeds, an id need not be a UUID, and its reminders ring for
/// ever without the app being opened, where the system can repeat them.
actor OriginalRemindersApp {
    private let phone: PhoneApp
    private let folder: GoalsFolder
    private let goals: GoalStore
    private let scheduler: OriginalScheduler
    private var machine: SleepingRouter
    private var isLoaded = false
    /// The taps, by number.
    private var taps: [(goal: String, question: String?)] = []
    private var seen: Set<EntryID> = []

    init(
        _ version: SleepingRouter.Version, phone: PhoneApp, folder: GoalsFolder, _ goals: GoalStore
    ) {
        (self.phone, self.folder, self.goals) = (phone, folder, goals)
        scheduler = OriginalScheduler(version: version, notifications: phone.notifications)
        machine = SleepingRouter(version)
    }

    func run() async {
        let handler = OriginalTaps(presents: [.banner, .list]) { [self] in await tapped($0) }
        async let loading: Void = load()
        if let response = phone.launch.response { await tapped(response) }
        await phone.run(life: OriginalLife(), notifications: handler)
        await loading
    }

    private func load() async {
        while !Task.isCancelled, !isLoaded {
            do {
                try await goals.load()
                isLoaded = true
                await phone.report("loaded")
            } catch {
                await phone.report("notLoaded")
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
        await folder.obey(phone: phone) { [self] in try await perform($0) }
    }

    private func perform(_ command: GoalsCommand) async throws {
        let before = try await goals.goals()
        try await command.perform(on: goals, at: phone.timekeeper.wall())
        try await scheduler.happened(command, before: before, after: try await goals.goals())
    }

    // MARK: Taps

    /// `userNotificationCenter(didReceive:)`.
    private func tapped(_ response: NotificationResponse) async {
        // Kind: both entrances set the same route.
        guard seen.insert(response.tapID).inserted else { return }
        await phone.report("created", response.tapID.text)
        let info = Data(response.notification.request.content.info)
        let payload = (try? JSONSerialization.jsonObject(with: info)) as? [String: Any]
        guard let goal = payload?["goalId"] as? String else {
            // "Unable to parse goal ID": the app opens without a screen.
            return await phone.report("lost", "no goal id")
        }
        taps.append((goal, payload?["questionId"] as? String))
        await perform(machine.tapped(taps.count - 1))
    }

    private func perform(_ actions: [SleepingRouter.Action]) async {
        for action in actions {
            switch action {
            case .complete: break  // the handler returns
            case .save: break  // saves what the app has changed: nothing
            case .sleep(let tap, let duration):
                Task {
                    try? await Task.sleep(for: duration)
                    await self.perform(self.machine.sleepEnded(tap: tap))
                }
            case .lookUp(let tap):
                let found = await lookUp(taps[tap].goal)
                await perform(machine.goalLookedUp(tap: tap, found: found))
            case .present(let tap, let screen): await present(tap, screen)
            }
        }
    }

    /// `goal(for:)`.
    private func lookUp(_ goal: String) async -> SleepingRouter.Found {
        guard isLoaded, let found = try? await goals.reminders.find(Route(sort: "goal", id: goal)),
            case .found(let entity) = found
        else { return .nothing }
        return entity.state == .active ? .active : .paused
    }

    private func present(_ tap: Int, _ screen: SleepingRouter.Screen) async {
        let (goal, question) = taps[tap]
        let text =
            switch screen {
            case .dataEntry: "dataEntry \(goal)" + (question.map { "/\($0)" } ?? "")
            case .inactiveGoal: "inactiveGoal \(goal)"
            case .missingGoal: "missingGoal \(goal)"
            }
        await phone.report("screen", text)
    }
}

/// `NotificationScheduler`: adds requests where a goal is created, and removes them in some of the
/// places where it must.
struct OriginalScheduler: Sendable {
    let version: SleepingRouter.Version
    let notifications: any UserNotifications

    func happened(_ command: GoalsCommand, before: [Goal], after: [Goal]) async throws {
        let ids = Set(command.ids ?? [])
        switch command.do {
        case .save:
            let active = (command.goals ?? []).filter { $0.state == .active }
            try await cancel(Set(active.map(\.id)))
            for goal in active { try await schedule(goal) }
        case .delete: try await cancel(ids)  // `deleteGoals(at:)`
        case .importAll: break  // "notifications persist"
        case .deleteMany, .pause, .pauseAll, .archive:
            // Phase 3 alone thinks of these.
            guard version == .repaired else { return }
            try await cancel(command.do == .pauseAll ? Set(before.map(\.id)) : ids)
        case .activate:
            guard version == .repaired else { return }
            for goal in after where ids.contains(goal.id) { try await schedule(goal) }
        }
    }

    /// `cancelNotifications(forGoalID:)`.
    private func cancel(_ goals: Set<String>) async throws {
        let pending = try await notifications.pending().filter { goals.contains($0.content.thread) }
        try await notifications.removePending(pending.map(\.id))
    }

    /// `scheduleNotifications(for:)`: one request for each time of day, repeated by the system.
    private func schedule(_ goal: Goal) async throws {
        for reminder in goal.reminders {
            for (index, (components, repeats)) in Self.triggers(reminder.schedule).enumerated() {
                var info: [String: String] = ["goalId": goal.id]
                info["questionId"] = reminder.part
                var content = NotificationContent(
                    title: reminder.title, body: reminder.body,
                    info: Array(try JSONEncoder().encode(info)))
                content.thread = goal.id
                try await notifications.add(
                    NotificationRequest(
                        id: "\(goal.id)-\(reminder.id)-\(index)", content: content,
                        trigger: .calendar(components, repeats: repeats)))
            }
        }
    }

    private static func triggers(_ schedule: RepriseCore.Schedule) -> [(
        DateComponents, repeats: Bool
    )] {
        schedule.times.flatMap { time -> [(DateComponents, repeats: Bool)] in
            let clock = DateComponents(hour: time.hour, minute: time.minute)
            func on(_ date: LocalDate) -> (DateComponents, repeats: Bool) {
                var components = clock
                (components.year, components.month, components.day) =
                    (date.year, date.month, date.day)
                return (components, false)
            }
            switch schedule.days {
            case .daily: return [(clock, true)]
            case .once(let date), .every(_, let date): return [on(date)]
            case .weekly(let days):
                return days.sorted { $0.rawValue < $1.rawValue }.map { day in
                    var components = clock
                    components.weekday = day.rawValue % 7 + 1
                    return (components, true)
                }
            // It had no such reminders.
            case .monthly, .yearly: return []
            }
        }
    }
}
