import Foundation

extension Schedule {
    /// Looks whether it makes sense: whether every day and time in it exists, and whether it ever
    /// rings.
    ///
    /// It does not look at today: a schedule that is over makes sense.
    ///
    /// - Throws: ``RepriseError`` `.malformed`; message and remedy name the field.
    public func check() throws {
        try checkTimes()
        try checkDays()
        try checkBounds()
        try checkCount()
        try checkQuiet()
        if case .fixed(let name) = zone, TimeZone(identifier: name) == nil {
            throw Self.malformed(
                "`zone`: nobody knows the time zone “\(name.prefix(64))”.",
                "Name a place of the time zone database, as in Europe/Berlin.")
        }
        guard !occurs else { return }
        var whole = self
        whole.skipped = []
        throw whole.occurs
            ? Self.malformed(
                "`skipped`: all days of this schedule are skipped, so that it never rings.",
                "Skip fewer days, or remove the reminder.")
            : Self.malformed(
                "`days`: none of them is between start and end, so that it never rings.",
                "Let it start earlier or end later, or name other days.")
    }

    private func checkTimes() throws {
        guard (1...ScheduleLimits.times).contains(times.count) else {
            throw Self.malformed(
                times.isEmpty
                    ? "`times`: there is none, so that it never rings."
                    : "`times`: \(times.count) times a day are too many.",
                "Name 1 to \(ScheduleLimits.times) times.")
        }
        for time in times { try Self.check(time, "times") }
    }

    private func checkDays() throws {
        switch days {
        case .once(let day): try Self.check(day, "days")
        case .daily: break
        case .weekly(let weekdays):
            guard !weekdays.isEmpty else {
                throw Self.malformed(
                    "`days`: no day of the week is named, so that it never rings.",
                    "Name at least one.")
            }
        case .every(let interval, let from):
            guard (1...ScheduleLimits.intervalDays).contains(interval) else {
                throw Self.malformed(
                    "`days`: every \(interval) days is not possible.",
                    "Say every 1 to \(ScheduleLimits.intervalDays) days.")
            }
            try Self.check(from, "days")
        case .monthly(let on): try Self.check(on, of: Set(1...12))
        case .yearly(let months, let on):
            guard !months.isEmpty, months.isSubset(of: 1...12) else {
                throw Self.malformed(
                    "`days`: the months of a year are 1 to 12.", "Name at least one of them.")
            }
            try Self.check(on, of: months)
        }
    }

    private static func check(_ days: Set<MonthDay>, of months: Set<Int>) throws {
        for day in days.sorted() where !day.exists {
            throw malformed(
                "`days`: a month never has \(day).",
                "Name days 1 to 31 or -1 to -31, a weekday's number 1 to 5 or -1 to -5, and with "
                    + "dayOrLast 29 to 31.")
        }
        // A leap year has every day that any year has.
        guard days.contains(where: { day in months.contains { day.fits($0) } }) else {
            throw malformed(
                "`days`: no month that is meant has such a day, so that it never rings.",
                "Name at least one day that one of the months has.")
        }
    }

    private func checkCount() throws {
        guard let count else { return }
        guard (1...ScheduleLimits.count).contains(count) else {
            throw Self.malformed(
                "`count`: \(count) occurrences cannot be counted.",
                "Name 1 to \(ScheduleLimits.count), or an end.")
        }
        guard end == nil else {
            throw Self.malformed(
                "`count`: it has an end already, \(end?.description ?? "").",
                "Leave out the count or the end.")
        }
        switch days {
        case .once, .every: break
        case .daily, .weekly, .monthly, .yearly:
            guard start != nil else {
                throw Self.malformed(
                    "`count`: without a start nothing says from when it is counted.",
                    "Set start to the day from which occurrences are counted.")
            }
        }
    }

    private func checkBounds() throws {
        guard skipped.count <= ScheduleLimits.skipped else {
            throw Self.malformed(
                "`skipped`: \(skipped.count) days are too many.",
                "Name at most \(ScheduleLimits.skipped); those that are past can go.")
        }
        for day in skipped.sorted() { try Self.check(day, "skipped") }
        if let start { try Self.check(start, "start") }
        if let end { try Self.check(end, "end") }
        if let start, let end, end < start {
            throw Self.malformed(
                "`end`: \(end) is before the start, \(start), so that it never rings.",
                "Let it end on \(start) or later.")
        }
        switch days {
        case .once(let day):
            guard day >= start ?? day, day <= end ?? day else {
                throw Self.malformed(
                    "`days`: \(day) is not between start and end, so that it never rings.",
                    "Leave start and end away: one day needs none.")
            }
        case .every(_, let from):
            if let end, end < from {
                throw Self.malformed(
                    "`end`: \(end) is before the first day, \(from), so that it never rings.",
                    "Let it end on \(from) or later.")
            }
        case .daily, .weekly, .monthly, .yearly: break
        }
    }

    private func checkQuiet() throws {
        guard let quiet else { return }
        try Self.check(quiet.from, "quiet")
        try Self.check(quiet.to, "quiet")
        guard quiet.from != quiet.to else {
            throw Self.malformed(
                "`quiet`: from \(quiet.from) to \(quiet.to) is a whole day, or nothing.",
                "Name two times that differ, or leave quiet hours away.")
        }
        let counted = Set(times).sorted().prefix(count ?? .max)
        if quiet.then == .skip, counted.allSatisfy({ quiet.contain(minute: $0.minutes) }) {
            throw Self.malformed(
                "`quiet`: all times fall into the quiet hours, so that it never rings.",
                "Let quiet hours postpone, or name a time outside of them.")
        }
    }

    /// Skipped days are finite: only a schedule with an end can have none left.
    private var occurs: Bool {
        ScheduleRule(self).day(from: LocalDate(1, 1, 1).number) != nil
    }

    private static func check(_ day: LocalDate, _ field: String) throws {
        guard !day.exists else { return }
        throw malformed(
            "`\(field)`: there is no \(day).", "Name a day of the Gregorian calendar.")
    }

    private static func check(_ time: TimeOfDay, _ field: String) throws {
        guard !time.exists else { return }
        throw malformed("`\(field)`: there is no \(time).", "Name a time from 00:00 to 23:59.")
    }

    private static func malformed(_ message: String, _ remedy: String) -> RepriseError {
        RepriseError(.malformed, message, remedy: remedy)
    }
}
