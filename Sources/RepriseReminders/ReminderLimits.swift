import RepriseCore

/// The bounds of schedules and plans; `docs/limits/reminders.md` lists them.
package enum ReminderLimits {
    /// The most entities that are reminded of.
    package static let entities = 10_000
    /// The most reminders of all entities together.
    package static let reminders = 30_000
    /// The most reminders of an entity.
    package static let entityReminders = 64
    /// The most pending notifications; iOS keeps 64, and the app may need some itself.
    package static let places = 60
    /// The most snoozes, skips and tests of a plan; a day that is skipped is one.
    package static let marks = ReminderEngineLimits.marks
    /// The most times of a day.
    package static let times = ScheduleLimits.times
    /// The most days that a schedule leaves out.
    package static let skipped = ScheduleLimits.skipped
    /// The most occurrences that a schedule counts.
    package static let count = ScheduleLimits.count
    /// The longest interval, in days.
    package static let intervalDays = ScheduleLimits.intervalDays
    /// The most bytes of a reminder's title.
    package static let titleBytes = 1_024
    /// The most bytes of a reminder's body.
    package static let bodyBytes = 4_096
    /// The most bytes of a reminder's id, and of a category's.
    package static let idBytes = 64
}
