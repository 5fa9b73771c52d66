import Foundation

/// A checked schedule, with its days as numbers.
package struct ScheduleRule: Sendable {
    private let days: Schedule.Days
    private let weekdays: UInt8
    /// January is the bit 1.
    private let months: UInt16
    private let monthDays: [Schedule.MonthDay]
    private let firstDay: Int64
    private var lastDay: Int64
    private let skipped: Set<Int64>
    /// In minutes since midnight, ascending.
    let times: [Int64]
    let quiet: Schedule.QuietHours?
    /// No occurrence is later, in minutes of the wall clock.
    private(set) var last: Int64

    /// - Parameter schedule: one that ``Schedule/check()`` takes.
    package init(_ schedule: Schedule) {
        days = schedule.days
        times = Set(schedule.times.map(\.minutes)).sorted()
        quiet = schedule.quiet
        skipped = Set(schedule.skipped.map(\.number))
        var first = schedule.start ?? LocalDate(1, 1, 1)
        var last = schedule.end ?? LocalDate(LocalDate.lastYear, 12, 31)
        var weekdays: UInt8 = 0
        var months = Set(1...12)
        var monthDays: Set<Schedule.MonthDay> = []
        switch schedule.days {
        case .once(let day): (first, last) = (max(first, day), min(last, day))
        case .daily: break
        case .weekly(let on): for weekday in on { weekdays |= 1 << UInt8(weekday.rawValue - 1) }
        case .every(_, let from): first = max(first, from)
        case .monthly(let on): monthDays = on
        case .yearly(let those, let on): (months, monthDays) = (those, on)
        }
        firstDay = first.number
        lastDay = last.number
        self.weekdays = weekdays
        self.months = months.reduce(0) { $0 | 1 << UInt16($1) }
        self.monthDays = Array(monthDays)
        self.last = lastDay * 1_440 + 1_439
        if let count = schedule.count { end(after: count) }
    }

    /// Finds the last counted occurrence: skipped days count, as in RFC 5545.
    private mutating func end(after count: Int) {
        let (whole, rest) = (count - 1).quotientAndRemainder(dividingBy: times.count)
        var day = matching(from: firstDay)
        for _ in 0..<whole where day <= lastDay { day = matching(from: day + 1) }
        guard day <= lastDay else { return }
        lastDay = day
        last = day * 1_440 + times[rest]
    }

    /// The rule's first day from this one on; nil: none.
    func day(from earliest: Int64) -> Int64? {
        var candidate = matching(from: max(earliest, firstDay))
        while candidate <= lastDay {
            guard skipped.contains(candidate) else { return candidate }
            candidate = matching(from: candidate + 1)
        }
        return nil
    }

    private func matching(from day: Int64) -> Int64 {
        switch days {
        case .once, .daily: return day
        case .weekly:
            // 1970-01-01 was a Thursday, the fourth.
            var weekday = day + 3 - (day + 3).floored(by: 7) * 7
            var found = day
            while weekdays & (1 << UInt8(weekday)) == 0 {
                found += 1
                weekday = (weekday + 1) % 7
            }
            return found
        case .every(let interval, let from):
            let passed = max(0, day - from.number)
            let interval = Int64(interval)
            return from.number + (passed + interval - 1) / interval * interval
        case .monthly, .yearly: return monthDay(from: day)
        }
    }

    /// Goes through the months, at most until the last day: February has a fifth Monday every 28
    /// years.
    private func monthDay(from day: Int64) -> Int64 {
        let date = LocalDate(number: day)
        var (year, month) = (date.year, date.month)
        while true {
            let start = LocalDate(year, month, 1).number
            // Behind the last day.
            guard start <= lastDay else { return start }
            if months & (1 << UInt16(month)) != 0 {
                let found = monthDays.lazy.compactMap { $0.day(of: month, year) }
                    .map { start + Int64($0) - 1 }.filter { $0 >= day }.min()
                if let found { return found }
            }
            (year, month) = month == 12 ? (year + 1, 1) : (year, month + 1)
        }
    }
}
