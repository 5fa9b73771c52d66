extension Schedule {
    /// Hours of this schedule in which nothing rings, the first included and the last not; they may
    /// pass midnight.
    ///
    /// They go by the wall clock that the schedule goes by. A person's own, for all that is pushed,
    /// are `QuietHours` of the module RepriseWire, which name a zone.
    public struct QuietHours: Hashable, Sendable, Codable {
        /// What becomes of what falls into them.
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
        /// What becomes of what falls into them.
        public var then: Then

        /// Names hours.
        public init(from: TimeOfDay, to: TimeOfDay, then: Then = .postpone) {
            self.from = from
            self.to = to
            self.then = then
        }

        /// Whether nothing rings then.
        func contain(minute: Int64) -> Bool {
            from < to
                ? (from.minutes..<to.minutes).contains(minute)
                : minute >= from.minutes || minute < to.minutes
        }
    }
}
