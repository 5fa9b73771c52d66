import RepriseCore

extension Patience {
    /// With as many calls left alone as this door allows.
    convenience init(clock: any Timekeeper) {
        self.init(clock: clock, most: ReminderDoorLimits.abandoned)
    }
}
