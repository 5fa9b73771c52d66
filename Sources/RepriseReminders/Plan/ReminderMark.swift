package import RepriseCore

/// What a person said about one occurrence, which the schedule does not know; or a test, which is an occurrence of no schedule.
package struct ReminderMark: Hashable, Sendable, Codable {
    /// What was said.
    package enum What: Hashable, Sendable, Codable {
        /// It rings at ``ReminderMark/until``, whether it has rung before or not.
        case snooze
        /// It does not ring.
        case skip
        /// This rings at ``ReminderMark/until``, and is tried only.
        case test(Reminder)

        /// As in the table `reminderMark`.
        package var name: String {
            switch self {
            case .snooze: "snooze"
            case .skip: "skip"
            case .test: "test"
            }
        }
    }

    /// Of one occurrence only the last word counts.
    package struct Key: Hashable, Sendable {
        package var entity: String
        package var reminder: String
        package var occurrence: String

        package init(entity: String, reminder: String, occurrence: String) {
            self.entity = entity
            self.reminder = reminder
            self.occurrence = occurrence
        }
    }

    package var entity: String
    package var reminder: String
    /// As in ``Occurrence/local``; of a test anything that names it, for it has no occurrence.
    package var occurrence: String
    package var what: What
    /// When it rings; for a skip, from when on it may be forgotten.
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

    package var key: Key { Key(entity: entity, reminder: reminder, occurrence: occurrence) }
}
