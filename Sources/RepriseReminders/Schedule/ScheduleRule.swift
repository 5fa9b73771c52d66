import Foundation

/// A checked schedule, with its days as numbers.
struct ScheduleRule: Sendable {
    private let days: Schedule.Days
    private let weekdays: UInt8
    private let first: Int64
    private let last: Int64
    private let skipped: Set<Int64>
    /// In minutes since midnight, ascending.
    let times: [Int64]
    let quiet: Schedule.QuietHours?

    /// - Parameter schedule: one that ``Schedule/check()`` takes.
    init(_ schedule: Schedule) {
        days = schedule.days
        times = Set(schedule.times.map(\.minutes)).sorted()
        quiet = schedule.quiet
        skipped = Set(schedule.skipped.map(\.number))
        var first = schedule.start ?? LocalDate(1, 1, 1)
        var last = schedule.end ?? LocalDate(LocalDate.lastYear, 12, 31)
        var weekdays: UInt8 = 0
        switch schedule.days {
        case .once(let day): (first, last) = (max(first, day), min(last, day))
        case .daily: break
        case .weekly(let on): for weekday in on { weekdays |= 1 << UInt8(weekday.rawValue - 1) }
        case .every(_, let from): first = max(first, from)
        }
        self.first = first.number
        self.last = last.number
        self.weekdays = weekdays
    }

    /// The rule's first day from this one on; nil: none.
    func day(from earliest: Int64) -> Int64? {
        var candidate = matching(from: max(earliest, first))
        while candidate <= last {
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
        }
    }
}
