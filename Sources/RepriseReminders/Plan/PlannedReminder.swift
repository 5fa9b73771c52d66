package import RepriseCore

/// One notification that should be pending.
package struct PlannedReminder: Hashable, Sendable, Identifiable {
    /// Stable: the same entity, reminder and occurrence have the same id, `reprise.reminder.` and a hash.
    package var id: String
    package var entity: String
    package var owner: String?
    package var reminder: Reminder
    package var occurrence: Occurrence
    /// A snooze of it: it rings then, not when its schedule says.
    package var snoozedUntil: WallTime?
    package var isTest: Bool

    package init(
        id: String, entity: String, owner: String?, reminder: Reminder, occurrence: Occurrence,
        snoozedUntil: WallTime? = nil, isTest: Bool = false
    ) {
        self.id = id
        self.entity = entity
        self.owner = owner
        self.reminder = reminder
        self.occurrence = occurrence
        self.snoozedUntil = snoozedUntil
        self.isTest = isTest
    }

    /// When it rings.
    package var at: WallTime { snoozedUntil ?? occurrence.at }
}
