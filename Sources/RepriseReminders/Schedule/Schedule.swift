public import RepriseCore

/// When a reminder rings: a rule for days, times of day, and what is left out.
///
/// ```swift
/// let schedule = Schedule(
///     .weekly(on: [.monday, .thursday]), at: [TimeOfDay(7, 30)], quiet: QuietHours(from: TimeOfDay(22, 0), to: TimeOfDay(7, 0)))
/// try schedule.check()
/// for occurrence in schedule.occurrences(after: now, in: .device("Europe/Berlin")).prefix(3) { print(occurrence.local) }
/// ```
///
/// Times are those of a wall clock. One that does not exist, because the clock is set forward over it, rings as much later as the
/// clock was set forward (02:30 becomes 03:30); one that exists twice rings the first time alone.
public struct Schedule: Hashable, Sendable, Codable {
    /// On which days.
    public enum Days: Hashable, Sendable, Codable {
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
    public enum Zone: Hashable, Sendable, Codable {
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

/// A day of the week, as ISO 8601 numbers them.
public enum Weekday: Int, Hashable, Sendable, Codable, CaseIterable {
    case monday = 1
    case tuesday, wednesday, thursday, friday, saturday, sunday
}

/// A day of the Gregorian calendar, wherever; written as `2026-11-21`.
public struct LocalDate: Hashable, Sendable, Codable {
    /// 1 to 9999.
    public var year: Int
    /// 1 to 12.
    public var month: Int
    /// 1 to 31.
    public var day: Int

    /// Names a day, which need not exist: ``Schedule/check()`` looks.
    public init(_ year: Int, _ month: Int, _ day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }
}

/// A time of day to the minute, wherever; written as `07:30`.
public struct TimeOfDay: Hashable, Sendable, Codable {
    /// 0 to 23.
    public var hour: Int
    /// 0 to 59.
    public var minute: Int

    /// Names a time, which need not exist: ``Schedule/check()`` looks.
    public init(_ hour: Int, _ minute: Int) {
        self.hour = hour
        self.minute = minute
    }
}

/// Hours in which nothing rings, the first included and the last not; they may pass midnight.
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
}

/// One time that a schedule rings.
public struct Occurrence: Hashable, Sendable {
    /// The wall clock's time that the rule names, before quiet hours and a clock that is set move it: its identity, as in `2026-11-21T07:30`.
    public var local: String
    /// When it rings.
    public var at: WallTime
    /// The wall clock's date when it rings.
    public var date: LocalDate
    /// The wall clock's time when it rings.
    public var time: TimeOfDay

    /// Describes an occurrence.
    public init(local: String, at: WallTime, date: LocalDate, time: TimeOfDay) {
        self.local = local
        self.at = at
        self.date = date
        self.time = time
    }
}
