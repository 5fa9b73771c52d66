/// The bounds of a ``Schedule``; `docs/limits/reminders.md` lists them.
package enum ScheduleLimits {
    /// The most times of a day.
    package static let times = 24
    /// The most days that a schedule leaves out.
    package static let skipped = 366
    /// The most occurrences that a schedule counts.
    package static let count = 1_000
    /// The longest interval, in days.
    package static let intervalDays = 3_650
}
