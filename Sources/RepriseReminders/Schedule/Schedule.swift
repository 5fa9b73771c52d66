/// When a reminder rings: a rule for days, times of day, and what is left out.
///
/// ```swift
/// let schedule = Schedule(
///     .weekly(on: [.monday, .thursday]), at: [TimeOfDay(7, 30)], quiet: Schedule.QuietHours(from: TimeOfDay(22, 0), to: TimeOfDay(7, 0)))
/// try schedule.check()
/// for occurrence in schedule.occurrences(after: now, in: .current).prefix(3) { print(occurrence.local) }
/// ```
///
/// What a schedule says is about the rule's own days and times: `start`, `end` and `skipped` too,
/// also where quiet hours then move an occurrence to the next day. Quiet hours look at the wall
/// clock when it would ring.
///
/// Times are those of a wall clock. One that does not exist, because the clock is set forward over
/// it, rings as much later as the clock was set forward (02:30 becomes 03:30); one that exists
/// twice rings the first time alone.
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
    /// Whose wall clock.
    public var zone: Zone

    /// Whose wall clock.
    public enum Zone: Hashable, Sendable {
        /// The device's: half past seven is half past seven wherever it goes.
        case device
        /// That of this place, as in `Europe/Berlin`, wherever the device goes.
        case fixed(String)
    }

    /// Makes a schedule; ``check()`` says whether it makes sense.
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
