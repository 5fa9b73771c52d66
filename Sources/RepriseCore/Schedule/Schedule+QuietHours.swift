extension Schedule {
    /// Hours of this schedule without reminders, the first minute included and the last not; may
    /// pass midnight.
    ///
    /// They use the schedule's wall clock. A user's quiet hours for all pushes are `QuietHours` of
    /// the module RepriseWire, which name a zone.
    public struct QuietHours: Hashable, Sendable, Codable {
        /// The policy for occurrences within quiet hours.
        public enum Then: String, Hashable, Sendable, Codable {
            /// It rings when they end.
            case postpone
            /// It does not ring.
            case skip
        }

        /// From then on.
        public var from: TimeOfDay
        /// Until then.
        public var to: TimeOfDay
        /// The policy for occurrences within them.
        public var then: Then

        /// Names hours.
        public init(from: TimeOfDay, to: TimeOfDay, then: Then = .postpone) {
            self.from = from
            self.to = to
            self.then = then
        }

        /// Whether this minute is quiet.
        func contain(minute: Int64) -> Bool {
            from < to
                ? (from.minutes..<to.minutes).contains(minute)
                : minute >= from.minutes || minute < to.minutes
        }
    }
}
