import RepriseCore

extension CallTimeout {
    /// Bounded by this feature's limit of abandoned calls.
    convenience init(clock: any Timekeeper) {
        self.init(clock: clock, most: ReminderEngineLimits.abandoned)
    }
}
