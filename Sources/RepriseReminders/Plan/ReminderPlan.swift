package import RepriseCore

/// The desired pending notifications as of a moment.
package struct ReminderPlan: Hashable, Sendable {
    /// The notifications with a place, soonest first.
    package var planned: [PlannedReminder]
    /// The soonest of all, whether they have a place or not.
    package var next: [PlannedReminder]
    /// The first occurrence without a place; nil: none.
    ///
    /// Until then everything rings on time without the app being opened.
    package var guaranteedUntil: WallTime?

    package init(
        planned: [PlannedReminder] = [], next: [PlannedReminder] = [],
        guaranteedUntil: WallTime? = nil
    ) {
        self.planned = planned
        self.next = next
        self.guaranteedUntil = guaranteedUntil
    }
}
