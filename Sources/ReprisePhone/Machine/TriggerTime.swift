import Foundation
package import RepriseCore

/// When a trigger fires next: by the clock that never jumps, or by the calendar.
package enum TriggerTime: Hashable, Sendable, Codable {
    case elapsed(microseconds: Int64)
    case calendar(WallTime)

    /// Its moment in microseconds of the monotonic clock, seen from `now`.
    package func microseconds(from now: PhoneMoment) -> Int64 {
        switch self {
        case .elapsed(let microseconds): return microseconds
        case .calendar(let time):
            let away = now.wall.duration(to: time).milliseconds
            return now.microseconds + max(-1 << 50, min(away, 1 << 50)) * 1_000
        }
    }

    /// When `trigger` fires for the first time after `now`; nil if never.
    package static func next(
        _ trigger: NotificationTrigger, after now: PhoneMoment, zone: String, rules: PhoneRules
    ) -> TriggerTime? {
        switch trigger {
        case .after(let seconds, _):
            guard seconds.isFinite, seconds > 0, seconds < 1e9 else { return nil }
            switch rules.intervalTriggers {
            case .countElapsedTime:
                return .elapsed(microseconds: now.microseconds + Int64(seconds * 1e6))
            case .followCalendar:
                return .calendar(now.wall.advanced(by: .seconds(seconds)))
            }
        case .calendar(var components, _):
            var calendar =
                components.calendar ?? Calendar(identifier: rules.deviceCalendar.identifier)
            calendar.timeZone =
                components.timeZone ?? TimeZone(identifier: zone) ?? calendar.timeZone
            // They say which calendar, not which date.
            components.calendar = nil
            components.timeZone = nil
            let from = Date(timeIntervalSince1970: Double(now.wall.milliseconds) / 1_000)
            let next = calendar.nextDate(
                after: from, matching: components, matchingPolicy: .nextTime)
            guard let next else { return nil }
            return .calendar(
                WallTime(milliseconds: Int64((next.timeIntervalSince1970 * 1_000).rounded())))
        }
    }
}

extension PhoneRules.DeviceCalendar {
    fileprivate var identifier: Calendar.Identifier {
        switch self {
        case .gregorian: .gregorian
        case .buddhist: .buddhist
        case .japanese: .japanese
        }
    }
}

extension NotificationTrigger {
    package var repeats: Bool {
        switch self {
        case .after(_, let repeats), .calendar(_, let repeats): repeats
        }
    }
}
