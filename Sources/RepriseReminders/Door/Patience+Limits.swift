import RepriseCore

extension Patience {
    /// Bounded by this feature's limit of abandoned calls.
    convenience init(clock: any Timekeeper) {
        self.init(clock: clock, most: ReminderDoorLimits.abandoned)
    }
}
