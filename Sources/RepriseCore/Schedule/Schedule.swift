/// The schedule of a reminder or a chain: a rule for days, times of day, and exceptions.
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
/// `start`, `end`, `count` and `skipped` apply to the rule's own days, also where quiet hours then
/// move an occurrence to the next day. Quiet hours apply to the wall clock at which it would ring.
///
/// Days are as in RFC 5545 (§3.3.10): a month that does not have a named day is passed over, and so
/// is February 29 in most years.
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
        /// On these days of every month; a month that has none of them is passed over.
        case monthly(on: Set<MonthDay>)
        /// On these days of these months (1 to 12) of every year.
        case yearly(months: Set<Int>, on: Set<MonthDay>)
    }

    /// On which days.
    public var days: Days
    /// At which times of such a day, in any order: 1 to 24.
    public var times: [TimeOfDay]
    /// Not before this day.
    public var start: LocalDate?
    /// Not after this day.
    public var end: LocalDate?
    /// At most so many occurrences, 1 to 1,000; not together with ``end``.
    ///
    /// They are counted as `COUNT` of RFC 5545 does: from the first one on or after ``start`` (or
    /// the first day of ``Days/every(days:from:)``), each time of a day as one. Those of
    /// ``skipped`` days count, and so do those that quiet hours drop or that were over when the
    /// reminder was saved. A day that a month does not have is none.
    public var count: Int?
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
        count: Int? = nil, skipped: Set<LocalDate> = [], quiet: QuietHours? = nil,
        zone: Zone = .device
    ) {
        self.days = days
        self.times = times
        self.start = start
        self.end = end
        self.count = count
        self.skipped = skipped
        self.quiet = quiet
        self.zone = zone
    }
}
