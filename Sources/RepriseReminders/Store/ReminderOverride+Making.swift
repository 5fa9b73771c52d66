package import Foundation
package import RepriseCore

extension ReminderOverride {
    /// The years of ``RepriseCore/LocalDate``: what is stored beyond them is damaged, and no
    /// calendar computes with it.
    static let times =
        WallTime(milliseconds: -62_135_596_800_000)...WallTime(milliseconds: 253_402_300_799_999)

    /// One occurrence rings then, and not at its own time, if that is still ahead.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    package static func snooze(
        _ entity: String, reminder: String, occurrence: String, for wait: Duration,
        at now: WallTime
    ) throws -> ReminderOverride {
        guard wait >= .seconds(1), wait <= .seconds(ReminderEngineLimits.snoozeSeconds) else {
            throw RepriseError(
                .malformed, "A snooze lasts 1 second to 30 days.", remedy: "Choose such a time.")
        }
        return ReminderOverride(
            entity: entity, reminder: reminder, occurrence: occurrence, what: .snooze,
            until: now.advanced(by: wait), said: now)
    }

    /// Skips the rest of this day in the device's zone, for one reminder or the whole entity.
    ///
    /// Its ``occurrence`` is a day alone, as in `2026-11-21`, and its ``reminder`` is empty for the
    /// whole entity. It ends when the day does.
    package static func skipOfToday(
        _ entity: String, reminder: String?, at now: WallTime, in zone: TimeZone
    ) -> ReminderOverride {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let now = min(max(now, times.lowerBound), times.upperBound)
        let date = Date(timeIntervalSince1970: Double(now.milliseconds) / 1_000)
        let day = calendar.dateComponents([.year, .month, .day], from: date)
        let end = calendar.dateInterval(of: .day, for: date)?.end ?? date.addingTimeInterval(86_400)
        func padded(_ number: Int?, _ width: Int) -> String {
            let digits = String(number ?? 0)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return ReminderOverride(
            entity: entity, reminder: reminder ?? "",
            occurrence: "\(padded(day.year, 4))-\(padded(day.month, 2))-\(padded(day.day, 2))",
            what: .skip,
            until: WallTime(milliseconds: Int64((end.timeIntervalSince1970 * 1_000).rounded())),
            said: now)
    }

    /// The same after a calendar step: a snooze keeps its length, and a day stays that day.
    package func moved(by step: Duration) -> ReminderOverride {
        var mark = self
        mark.said = said?.advanced(by: step)
        if what != .skip { mark.until = until.advanced(by: step) }
        return mark
    }

    /// Whether it covers a day rather than one occurrence.
    package var isOfDay: Bool { what == .skip && !occurrence.contains("T") }

    /// The day that a day's skip covers; if the calendar is set back, the day before is not
    /// skipped.
    ///
    /// - Parameter zone: the device's; where its day has changed, the day counts as 24 hours.
    /// - Returns: the range without reminders.
    func day(in zone: TimeZone) -> Range<WallTime> {
        let day = until.advanced(by: .seconds(-86_400))
        guard let date = LocalDate(occurrence), date.exists else { return day..<max(day, until) }
        let clock = ZoneClock(zone)
        let midnights = [date.number, date.number + 1].map {
            WallTime(milliseconds: clock.moment($0 * 86_400).at * 1_000)
        }
        guard midnights[1] == until, midnights[0] < until else { return day..<max(day, until) }
        return midnights[0]..<until
    }

    /// Whether this day was skipped after that snooze was made, and the snooze would ring on it.
    package func ends(_ snooze: ReminderOverride) -> Bool {
        isOfDay && snooze.what == .snooze && snooze.entity == entity
            && (reminder.isEmpty || snooze.reminder == reminder) && snooze.until < until
            && snooze.isSaid(before: self)
    }

    /// Whether the other one is newer; at the same moment, the one written last wins.
    package func isSaid(before other: ReminderOverride) -> Bool {
        (said?.milliseconds ?? .min) < (other.said?.milliseconds ?? .min)
    }

    /// Whether it can no longer have an effect.
    ///
    /// A skip is kept for a week after its day, also if the calendar is set back meanwhile, and a
    /// snooze for a week after it has rung: its occurrence may be still ahead.
    func isOver(at now: WallTime) -> Bool {
        // Removed between that moment and the second in which it rings, it would never ring.
        switch what {
        case .skip, .snooze:
            rings.advanced(by: .seconds(ReminderEngineLimits.skipSeconds)) <= now
        case .test: rings <= now
        }
    }
}
