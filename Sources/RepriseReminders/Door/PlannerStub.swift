package import RepriseCore

/// What a person said about one occurrence.
package struct ReminderMark: Hashable, Sendable {
    package enum What: Hashable, Sendable {
        case snooze
        case skip
        case test(Reminder)
    }

    package var entity: String
    package var reminder: String
    package var occurrence: String
    package var what: What
    package var until: WallTime

    package init(
        entity: String, reminder: String, occurrence: String, what: What, until: WallTime
    ) {
        self.entity = entity
        self.reminder = reminder
        self.occurrence = occurrence
        self.what = what
        self.until = until
    }
}
