/// The schedule of a reminder: a rule for days, times of day, and exceptions.
///
/// ```swift
/// let schedule = Schedule(
///     .weekly(on: [.monday, .thursday]), at: [TimeOfDay(7, 30)],
///     quiet: Schedule.QuietHours(from: TimeOfDay(22, 0), to: TimeOfDay(7, 0)))
/// try schedule.check()
/// for occurrence in schedule.occurrences(after: now, in: .current).prefix(3) {
///     print(occurrence.local)
/// }
/// ```
///
/// `start`, `end` and `skipped` apply to the rule's own days, also where quiet hours then move an
/// occurrence to the next day. Quiet hours apply to the wall clock at which it would ring.
///
/// Times are wall-clock times. One that does not exist, because the clock is set forward over it,
/// rings later by as much (02:30 becomes 03:30); one that exists twice rings the first time only.
public struct Schedule: Hashable, Sendable {
    /// On which days.
    public enum Days: Hashable, Sendable {
        /// On this one.
        case once(LocalDate)
        /// On every one.
        case daily
        /// On these days of every week.
        case weekly(on: Set<Weekday>)
        /// Every so many days (1 to 3,650), counted from this one, which is the first.
        case every(days: Int, from: LocalDate)
    }

    /// On which days.
    public var days: Days
    /// At which times of such a day, in any order: 1 to 24.
    public var times: [TimeOfDay]
    /// Not before this day.
    public var start: LocalDate?
    /// Not after this day.
    public var end: LocalDate?
    /// Not on these days; at most 366.
    public var skipped: Set<LocalDate>
    /// Not in these hours.
    public var quiet: QuietHours?
    /// The zone of its wall clock.
    public var zone: Zone

    /// The zone of a wall clock.
    public enum Zone: Hashable, Sendable {
        /// The device's clock, wherever it is: 07:30 is always 07:30 there.
        case device
        /// The clock of this place, such as `Europe/Berlin`, wherever the device is.
        case fixed(String)
    }

    /// Makes a schedule; ``check()`` validates it.
    public init(
        _ days: Days, at times: [TimeOfDay], start: LocalDate? = nil, end: LocalDate? = nil,
        skipped: Set<LocalDate> = [], quiet: QuietHours? = nil, zone: Zone = .device
    ) {
        self.days = days
        self.times = times
        self.start = start
        self.end = end
        self.skipped = skipped
        self.quiet = quiet
        self.zone = zone
    }
}
