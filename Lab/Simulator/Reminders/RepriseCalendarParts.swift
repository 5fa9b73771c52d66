import Foundation

/// Moments that no run reaches.
enum RepriseCalendarParts {
    static func farAway(minute: Int) -> DateComponents {
        DateComponents(timeZone: .gmt, year: 2_090, month: 1, day: 1, hour: 0, minute: minute)
    }
}
