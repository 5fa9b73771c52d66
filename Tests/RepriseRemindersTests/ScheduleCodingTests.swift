import Foundation
import RepriseCore
import RepriseReminders
import Testing

@Suite("Schedules, written down")
struct ScheduleCodingTests {
    private static let day = LocalDate(2026, 11, 21)
    private static let noon = [TimeOfDay(12, 0)]

    private static func text(_ schedule: Schedule) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(schedule), as: UTF8.self)
    }

    private static func schedule(_ text: String) throws -> Schedule {
        try JSONDecoder().decode(Schedule.self, from: Data(text.utf8))
    }

    private static let whole = Schedule(
        .weekly(on: [.thursday, .monday]), at: [TimeOfDay(7, 30), TimeOfDay(21, 0)], start: day,
        end: LocalDate(2027, 1, 1),
        skipped: [LocalDate(2026, 12, 31), LocalDate(2026, 12, 24)],
        quiet: Schedule.QuietHours(from: TimeOfDay(22, 0), to: TimeOfDay(7, 0), then: .skip),
        zone: .fixed("Europe/Berlin"))

    @Test(
        "The format of version 1 is this, and it is read again",
        arguments: [
            (Schedule(.daily, at: noon), #"{"days":{"on":"day"},"times":["12:00"],"v":1}"#),
            (
                Schedule(.once(day), at: noon),
                #"{"days":{"day":"2026-11-21","on":"once"},"times":["12:00"],"v":1}"#
            ),
            (
                Schedule(.every(days: 3, from: day), at: noon),
                #"{"days":{"days":3,"from":"2026-11-21","on":"every"},"times":["12:00"],"v":1}"#
            ),
            (
                whole,
                #"{"days":{"on":"week","weekdays":[1,4]},"end":"2027-01-01","#
                    + #""quiet":{"from":"22:00","then":"skip","to":"07:00"},"#
                    + #""skipped":["2026-12-24","2026-12-31"],"start":"2026-11-21","#
                    + #""times":["07:30","21:00"],"v":1,"zone":"Europe/Berlin"}"#
            ),
        ])
    func format(_ schedule: Schedule, _ text: String) throws {
        #expect(try Self.text(schedule) == text)
        #expect(try Self.schedule(text) == schedule)
    }

    /// A former version refuses the number, so that it neither rings on other days nor for ever.
    @Test(
        "A schedule beyond version 1 is written as version 2, and read again",
        arguments: [
            (
                Schedule(.daily, at: noon, start: day, count: 3),
                #"{"count":3,"days":{"on":"day"},"start":"2026-11-21","times":["12:00"],"v":2}"#
            ),
            (
                Schedule(.monthly(on: [.nth(-1, .friday), .day(15), .last]), at: noon),
                #"{"days":{"monthDays":[{"day":-1},{"day":15},{"nth":-1,"weekday":5}],"on":"month"},"#
                    + #""times":["12:00"],"v":2}"#
            ),
            (
                Schedule(.yearly(months: [8, 2], on: [.dayOrLast(29)]), at: noon),
                #"{"days":{"monthDays":[{"dayOrLast":29}],"months":[2,8],"on":"year"},"#
                    + #""times":["12:00"],"v":2}"#
            ),
        ])
    func second(_ schedule: Schedule, _ text: String) throws {
        #expect(try Self.text(schedule) == text)
        #expect(try Self.schedule(text) == schedule)
    }

    @Test(
        "A schedule written before there were versions is read",
        arguments: [
            (
                Schedule(.daily, at: noon),
                #"{"days":{"daily":{}},"times":["12:00"],"skipped":[],"zone":{"device":{}}}"#
            ),
            (
                Schedule(.once(day), at: noon),
                #"{"days":{"once":{"_0":"2026-11-21"}},"times":["12:00"],"skipped":[],"zone":{"device":{}}}"#
            ),
            (
                Schedule(.every(days: 3, from: day), at: noon),
                #"{"days":{"every":{"days":3,"from":"2026-11-21"}},"times":["12:00"],"skipped":[],"#
                    + #""zone":{"device":{}}}"#
            ),
            (
                whole,
                #"{"days":{"weekly":{"on":[4,1]}},"times":["07:30","21:00"],"start":"2026-11-21","#
                    + #""end":"2027-01-01","skipped":["2026-12-31","2026-12-24"],"#
                    + #""quiet":{"from":"22:00","to":"07:00","then":"skip"},"#
                    + #""zone":{"fixed":{"_0":"Europe/Berlin"}}}"#
            ),
        ])
    func former(_ schedule: Schedule, _ text: String) throws {
        #expect(try Self.schedule(text) == schedule)
    }

    @Test(
        "A schedule of a newer version, and a malformed one, is an error",
        arguments: [
            #"{"v":3,"days":{"on":"day"},"times":["12:00"]}"#,
            #"{"v":2,"days":{"on":"month"},"times":["12:00"]}"#,
            #"{"v":2,"days":{"on":"month","monthDays":[15]},"times":["12:00"]}"#,
            #"{"v":2,"days":{"on":"month","monthDays":[{"nth":1}]},"times":["12:00"]}"#,
            #"{"v":2,"days":{"on":"year","monthDays":[{"day":1}]},"times":["12:00"]}"#,
            #"{"v":2,"days":{"on":"day"},"count":"3","times":["12:00"]}"#,
            #"{"v":0,"days":{"on":"day"},"times":["12:00"]}"#,
            #"{"v":"1","days":{"on":"day"},"times":["12:00"]}"#,
            #"{"v":1,"days":{"on":"fortnight"},"times":["12:00"]}"#,
            #"{"v":1,"days":{"on":"week","weekdays":[0]},"times":["12:00"]}"#,
            #"{"v":1,"days":{"on":"every","days":"3","from":"2026-11-21"},"times":["12:00"]}"#,
            #"{"v":1,"days":{"daily":{},"once":{"_0":"2026-11-21"}},"times":["12:00"]}"#,
            #"{"v":1,"days":{},"times":["12:00"]}"#, #"{"v":1,"days":"day","times":["12:00"]}"#,
            #"{"v":1,"days":{"on":"day"},"times":["noon"]}"#, #"{"v":1,"days":{"on":"day"}}"#,
            #"{"v":1,"days":{"on":"day"},"times":["12:00"],"zone":7}"#,
            #"{"v":1,"days":{"on":"day"},"times":["12:00"],"zone":{}}"#, "[]", "7",
        ])
    func nonsense(_ text: String) {
        #expect(throws: DecodingError.self) { try Self.schedule(text) }
    }
}
