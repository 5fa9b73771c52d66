package import Foundation
package import RepriseCore

extension ReminderMark {
    /// One occurrence rings again later.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    package static func snooze(
        _ entity: String, reminder: String, occurrence: String, for wait: Duration,
        at now: WallTime
    ) throws -> ReminderMark {
        guard wait >= .seconds(1), wait <= .seconds(ReminderDoorLimits.snoozeSeconds) else {
            throw RepriseError(
                .malformed, "A snooze lasts 1 second to 30 days.", remedy: "Choose such a time.")
        }
        return ReminderMark(
            entity: entity, reminder: reminder, occurrence: occurrence, what: .snooze,
            until: now.advanced(by: wait))
    }

    /// What is left of this day, wherever the device is, does not ring: of one reminder, or of all that the entity has.
    ///
    /// Its ``occurrence`` is a day alone, as in `2026-11-21`, and its ``reminder`` is empty for all of them. It is over when the day is.
    package static func skipOfToday(
        _ entity: String, reminder: String?, at now: WallTime, in zone: TimeZone
    ) -> ReminderMark {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let date = Date(timeIntervalSince1970: Double(now.milliseconds) / 1_000)
        let day = calendar.dateComponents([.year, .month, .day], from: date)
        let end = calendar.dateInterval(of: .day, for: date)?.end ?? date.addingTimeInterval(86_400)
        func padded(_ number: Int?, _ width: Int) -> String {
            let digits = String(number ?? 0)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return ReminderMark(
            entity: entity, reminder: reminder ?? "",
            occurrence: "\(padded(day.year, 4))-\(padded(day.month, 2))-\(padded(day.day, 2))",
            what: .skip,
            until: WallTime(milliseconds: Int64((end.timeIntervalSince1970 * 1_000).rounded())))
    }

    /// Whether it is about a day, not about one occurrence.
    package var isOfDay: Bool { what == .skip && !occurrence.contains("T") }
}
