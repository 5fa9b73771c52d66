package import RepriseCore

/// An override of one occurrence by a person; or a test, which belongs to no schedule.
package struct ReminderOverride: Hashable, Sendable, Codable {
    /// The kind of override.
    package enum What: Hashable, Sendable, Codable {
        /// It rings at ``ReminderOverride/until``, whether it has rung before or not, and not at
        /// its own time after that.
        case snooze
        /// It does not ring; with a day alone as ``ReminderOverride/occurrence``: none does on that
        /// day.
        case skip
        /// This rings at ``ReminderOverride/until``, and is tried only.
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
    /// As in ``RepriseCore/Occurrence/local``; of a skip also a day alone; of a test anything that
    /// names it, for it has no occurrence.
    package var occurrence: String
    package var what: What
    /// When it rings; for a skip, when the day is over.
    package var until: WallTime
    /// When the person made it, possibly long before it is written; nil: from a version that did
    /// not record it.
    package var said: WallTime?

    package init(
        entity: String, reminder: String, occurrence: String, what: What, until: WallTime,
        said: WallTime? = nil
    ) {
        self.entity = entity
        self.reminder = reminder
        self.occurrence = occurrence
        self.what = what
        self.until = until
        self.said = said
    }

    /// When the system rings it: to the second, and not before ``until``.
    package var rings: WallTime {
        let part = until.milliseconds % 1_000
        return until.advanced(by: .milliseconds(part > 0 ? 1_000 - part : -part))
    }

    package var key: Key { Key(entity: entity, reminder: reminder, occurrence: occurrence) }
}
