import Foundation
import RepriseCore
import RepriseReminders

/// Days and hours by arithmetic of its own, so that what is compared with the planner shares no
/// code with it.
enum SimulatedCalendar {
    static let places: [SimulatedPlace] = [
        SimulatedPlace("GMT", always: 0), SimulatedPlace("Asia/Kolkata", always: 19_800),
        SimulatedPlace("Asia/Tokyo", always: 32_400),
        SimulatedPlace("America/Phoenix", always: -25_200),
        SimulatedPlace("Pacific/Kiritimati", always: 50_400),
    ].compactMap(\.self)

    static func place(_ name: String) -> SimulatedPlace? {
        (places + SimulatedPlace.changing).first { $0.name == name }
    }

    static func floor(_ value: Int64, by divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor)
    }

    /// Days since 1970-01-01.
    static func day(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        let years = Int64(month <= 2 ? year - 1 : year)
        let era = floor(years, by: 400)
        let ofEra = years - era * 400
        let months = Int64((month + 9) % 12)
        let ofYear = (153 * months + 2) / 5 + Int64(day) - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }

    static func date(_ day: Int64) -> LocalDate {
        let shifted = day + 719_468
        let era = floor(shifted, by: 146_097)
        let ofEra = shifted - era * 146_097
        let year = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * year + year / 4 - year / 100)
        let month = (5 * ofYear + 2) / 153
        let number = Int(month < 10 ? month + 3 : month - 9)
        return LocalDate(
            Int(year + era * 400) + (number <= 2 ? 1 : 0), number,
            Int(ofYear - (153 * month + 2) / 5 + 1))
    }

    static func day(_ date: LocalDate) -> Int64 { day(date.year, date.month, date.day) }

    /// 1 is Monday; 1970-01-01 was a Thursday, the fourth.
    static func weekday(_ day: Int64) -> Int { Int(((day + 3) % 7 + 7) % 7) + 1 }

    /// Its number from the end of its month; 1: the last day.
    static func fromEnd(_ day: Int64) -> Int {
        let month = date(day).month
        var next = day + 1
        while date(next).month == month { next += 1 }
        return Int(next - day)
    }

    /// Four ways to name this day of its month.
    static func monthDays(_ day: Int64) -> [RepriseCore.Schedule.MonthDay] {
        let (number, left) = (date(day).day, fromEnd(day))
        let weekday = Weekday.allCases[weekday(day) - 1]
        return [
            .day(number), .day(-left), .nth((number - 1) / 7 + 1, weekday),
            .nth(-((left - 1) / 7 + 1), weekday),
        ]
    }

    /// As in `Occurrence.local`.
    static func text(_ day: Int64, minutes: Int64) -> String {
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let date = date(day)
        return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))"
            + "T\(padded(Int(minutes / 60), 2)):\(padded(Int(minutes % 60), 2))"
    }

    /// What the wall clock shows at a moment.
    static func local(
        _ moment: WallTime, in place: SimulatedPlace?
    ) -> (day: Int64, minutes: Int64) {
        let utc = floor(moment.milliseconds, by: 1_000)
        let seconds = utc + (place?.offset(at: utc) ?? 0)
        let day = floor(seconds, by: 86_400)
        return (day, (seconds - day * 86_400) / 60)
    }

    /// When a request rings.
    static func moment(_ request: NotificationRequest, in device: SimulatedPlace) -> WallTime? {
        guard case .calendar(let parts, repeats: false) = request.trigger, let year = parts.year,
            let month = parts.month, let day = parts.day
        else { return nil }
        let place = parts.timeZone.map { Self.place($0.identifier) } ?? device
        let seconds = Int64(
            (parts.hour ?? 0) * 3_600 + (parts.minute ?? 0) * 60 + (parts.second ?? 0))
        return place.map {
            WallTime(
                milliseconds: $0.moment(Self.day(year, month, day) * 86_400 + seconds) * 1_000)
        }
    }
}
