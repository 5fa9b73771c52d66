import Foundation
import Reprise
import RepriseCore
import RepriseReminders

extension ExamplesFixture {
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

    func months() -> [Schedule] {
        let rent = Schedule(.monthly(on: [.last]), at: [TimeOfDay(9, 0)])
        let payday = Schedule(.monthly(on: [.day(15), .nth(-1, .friday)]), at: [TimeOfDay(16, 0)])
        let birthday = Schedule(.yearly(months: [2], on: [.dayOrLast(29)]), at: [TimeOfDay(9, 0)])
        let course = Schedule(
            .monthly(on: [.nth(2, .tuesday)]), at: [TimeOfDay(18, 0)], start: LocalDate(2027, 1, 1),
            count: 10)
        return [rent, payday, birthday, course]
    }

    func verbs(_ reminders: Reminders, goal: String, reminder: Reminder) async throws {
        let at = "2026-11-21T07:30"
        try await reminders.snooze(goal, reminder: "morning", occurrence: at, for: .seconds(600))
        try await reminders.unsnooze(goal, reminder: "morning", occurrence: at)
        try await reminders.skipToday(goal)  // or one of its reminders
        // Rings and routes; nothing of it is stored.
        try await reminders.test(reminder, of: goal, after: .seconds(5))
    }
}
