import Foundation
import Goals
import Reprise
import RepriseCore
import RepriseReminders

extension Stage {
    func reminders(_ goals: GoalStore) async throws -> Reprise {
        var settings = Reminders.Configuration()
        settings.actions = [
            ReminderActionRule(
                "later", category: "goal", title: "In 10 minutes", does: .snooze(.seconds(600))),
            ReminderActionRule(
                "log", category: "goal", title: "Answer…", does: .log, asksForText: true),
        ]
        var configuration = Reprise.Configuration()
        configuration.reminders = settings
        let reprise = try await Reprise.open(
            at: folder, server: server, dialer: dialer, configuration: configuration)
        guard let reminders = reprise.reminders else { return reprise }
        try await notifications.setCategories(settings.categories)

        Task {  // What should ring follows the app's store, as long as this runs.
            try await reminders.run(
                store: goals, notifications: notifications, scheduler: scheduler)
        }
        Task {  // What people tap comes here, when the store is loaded and `ui` is open.
            for await tap in reminders.routes {
                switch tap.resolution {
                case .active(let goal, .whole): await screen.show("\(goal.title)")
                case .active(let goal, .part(let question)):
                    await screen.show("\(goal.title): \(question.title)")
                case .active(let goal, .partGone):
                    await screen.show("\(goal.title). This question is no more.")
                case .paused(let goal): await screen.show("\(goal.title) is \(goal.state).")
                case .deleted: await screen.show("It was deleted.")
                case .superseded(let goal): await screen.show("\(goal.title)")
                case .missing, .malformed: await screen.show("It is not here.")
                }
                try await tap.presented()  // durable when it returns: never handed over again
            }
        }
        return reprise
    }

    func schedules(now: WallTime) throws {
        let schedule = Schedule(
            .weekly(on: [.monday, .thursday]), at: [TimeOfDay(7, 30), TimeOfDay(21, 0)],
            start: LocalDate(2026, 11, 23), skipped: [LocalDate(2026, 12, 24)],
            quiet: Schedule.QuietHours(from: TimeOfDay(22, 0), to: TimeOfDay(7, 0)))
        try schedule.check()
        for occurrence in schedule.occurrences(after: now, in: .current).prefix(3) {
            print(occurrence.local)  // 2026-11-23T07:30, 2026-11-23T21:00, 2026-11-26T07:30
        }
    }

    func verbs(_ reminders: Reminders, goal: String, reminder: Reminder) async throws {
        let at = "2026-11-21T07:30"
        try await reminders.snooze(goal, reminder: "morning", occurrence: at, for: .seconds(600))
        try await reminders.unsnooze(goal, reminder: "morning", occurrence: at)
        try await reminders.skipToday(goal)  // or one of its reminders
        // Rings and routes; nothing of it is stored.
        try await reminders.test(reminder, of: goal, after: .seconds(5))
    }

    func actions() async throws {
        var settings = Reminders.Configuration()
        settings.actions = [
            ReminderActionRule(
                "log", category: "goal", title: "Answer…", does: .log, asksForText: true),
            ReminderActionRule(
                "later", category: "goal", title: "In 10 minutes", does: .snooze(.seconds(600))),
            ReminderActionRule("skip", category: "goal", title: "Not today", does: .skipToday),
            ReminderActionRule("pause", category: "goal", title: "Pause", does: .pause),
        ]
        try await notifications.setCategories(settings.categories)
    }
}

/// Who is told of taps.
struct RemindersTaps {
    let reminders: Reminders

    func received(_ response: NotificationResponse) async throws {
        // Durable when it returns, a button's effect too; then the system's handler is called.
        try await reminders.received(response)
    }
}
