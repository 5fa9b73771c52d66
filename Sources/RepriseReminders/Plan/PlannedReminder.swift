package import RepriseCore

/// One notification that should be pending.
package struct PlannedReminder: Hashable, Sendable, Identifiable {
    /// The prefix of all ids.
    package static let prefix = "reprise.reminder."

    /// Stable: the same entity, reminder and occurrence have the same id, `reprise.reminder.` and a
    /// hash.
    package var id: String
    package var entity: String
    package var owner: String?
    package var reminder: Reminder
    package var occurrence: Occurrence
    /// The end of a snooze: it rings then instead of at its scheduled time.
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

    /// The request id for the system.
    ///
    /// - Parameters:
    ///   - entity: as in ``RepriseCore/Route/id``.
    ///   - reminder: as in ``Reminder/id``.
    ///   - occurrence: as in ``RepriseCore/Occurrence/local``.
    ///   - isTest: a test has a separate id.
    /// - Returns: as in ``id``.
    package static func id(
        entity: String, reminder: String, occurrence: String, isTest: Bool = false
    ) -> String {
        let text = "\(isTest ? "test" : "")\u{0}\(entity)\u{0}\(reminder)\u{0}\(occurrence)"
        return EntryID.hash(of: text, prefix: prefix).text
    }

    /// Soonest first; those of the same moment by their names.
    static func precedes(_ left: Self, _ right: Self) -> Bool {
        if left.at != right.at { return left.at < right.at }
        return (left.entity, left.reminder.id, left.occurrence.local)
            < (right.entity, right.reminder.id, right.occurrence.local)
    }
}
