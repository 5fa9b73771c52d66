import Foundation
import RepriseCore
import RepriseReminders
import RepriseTestSupport
import Testing

@Suite("Schedules")
struct ScheduleTests {
    private static let berlin = TimeZone(identifier: "Europe/Berlin") ?? .gmt
    private static let noon = [TimeOfDay(12, 0)]
    private static let day = LocalDate(2026, 11, 21)

    @Test("a schedule goes by the device's own clock unless it says otherwise")
    func zone() { #expect(Schedule(.daily, at: [TimeOfDay(7, 30)]).zone == .device) }

    @Test(
        "a schedule that makes no sense is refused with the field that is wrong, and never rings",
        .limit("schedules.schedule"),
        arguments: [
            (Schedule(.daily, at: []), "times"),
            (Schedule(.daily, at: (0..<25).map { TimeOfDay($0 % 24, $0) }), "times"),
            (Schedule(.daily, at: Array(repeating: TimeOfDay(1, 0), count: 1_000_000)), "times"),
            (Schedule(.daily, at: [TimeOfDay(24, 0)]), "times"),
            (Schedule(.daily, at: [TimeOfDay(-1, 0)]), "times"),
            (Schedule(.daily, at: [TimeOfDay(7, 60)]), "times"),
            (Schedule(.once(LocalDate(2026, 2, 30)), at: noon), "days"),
            (Schedule(.once(LocalDate(2027, 2, 29)), at: noon), "days"),
            (Schedule(.once(LocalDate(2100, 2, 29)), at: noon), "days"),
            (Schedule(.once(LocalDate(2026, 13, 1)), at: noon), "days"),
            (Schedule(.once(LocalDate(0, 1, 1)), at: noon), "days"),
            (Schedule(.once(LocalDate(.max, .min, 1)), at: noon), "days"),
            (Schedule(.weekly(on: []), at: noon), "days"),
            (Schedule(.every(days: 0, from: day), at: noon), "days"),
            (Schedule(.every(days: .min, from: day), at: noon), "days"),
            (Schedule(.every(days: 3_651, from: day), at: noon), "days"),
            (Schedule(.every(days: 2, from: LocalDate(2026, 4, 31)), at: noon), "days"),
            (Schedule(.monthly(on: []), at: noon), "days"),
            (Schedule(.monthly(on: [.day(0)]), at: noon), "days"),
            (Schedule(.monthly(on: [.day(1), .day(32)]), at: noon), "days"),
            (Schedule(.monthly(on: [.day(.min)]), at: noon), "days"),
            (Schedule(.monthly(on: [.dayOrLast(28)]), at: noon), "days"),
            (Schedule(.monthly(on: [.nth(6, .monday)]), at: noon), "days"),
            (Schedule(.monthly(on: [.nth(0, .monday)]), at: noon), "days"),
            (Schedule(.monthly(on: [.day(9)]), at: noon, start: day, end: day), "days"),
            (
                Schedule(.monthly(on: [.day(21)]), at: noon, start: day, end: day, skipped: [day]),
                "skipped"
            ),
            (Schedule(.yearly(months: [], on: [.day(1)]), at: noon), "days"),
            (Schedule(.yearly(months: [0, 1], on: [.day(1)]), at: noon), "days"),
            (Schedule(.yearly(months: [13], on: [.day(1)]), at: noon), "days"),
            (Schedule(.yearly(months: [2], on: [.day(30)]), at: noon), "days"),
            (Schedule(.yearly(months: [2, 4], on: [.day(31), .day(-31)]), at: noon), "days"),
            (
                Schedule(
                    .yearly(months: [2], on: [.day(29)]), at: noon, start: LocalDate(2097, 1, 1),
                    end: LocalDate(2103, 12, 31)), "days"
            ),
            (Schedule(.daily, at: noon, start: day, count: 0), "count"),
            (Schedule(.daily, at: noon, start: day, count: -1), "count"),
            (Schedule(.daily, at: noon, start: day, count: 1_001), "count"),
            (Schedule(.daily, at: noon, count: 3), "count"),
            (Schedule(.daily, at: noon, start: day, end: day, count: 3), "count"),
            (Schedule(.daily, at: noon, start: day, count: 1, skipped: [day]), "skipped"),
            (
                Schedule(
                    .daily, at: [TimeOfDay(6, 0), TimeOfDay(12, 0)], start: day, count: 1,
                    quiet: quiet(TimeOfDay(5, 0), TimeOfDay(7, 0))), "quiet"
            ),
            (Schedule(.daily, at: noon, start: LocalDate(2026, 6, 31)), "start"),
            (Schedule(.daily, at: noon, end: LocalDate(2026, 6, 0)), "end"),
            (Schedule(.daily, at: noon, start: day, end: LocalDate(2026, 11, 20)), "end"),
            (Schedule(.every(days: 2, from: day), at: noon, end: LocalDate(2026, 1, 1)), "end"),
            (Schedule(.once(day), at: noon, start: LocalDate(2027, 1, 1)), "days"),
            (Schedule(.once(day), at: noon, end: LocalDate(2026, 11, 20)), "days"),
            (Schedule(.once(day), at: noon, skipped: [day]), "skipped"),
            (Schedule(.daily, at: noon, start: day, end: day, skipped: [day]), "skipped"),
            (Schedule(.weekly(on: [.sunday]), at: noon, start: day, end: day), "days"),
            (Schedule(.daily, at: noon, skipped: [LocalDate(2026, 9, 31)]), "skipped"),
            (Schedule(.daily, at: noon, skipped: many), "skipped"),
            (Schedule(.daily, at: noon, quiet: quiet(TimeOfDay(9, 0), TimeOfDay(9, 0))), "quiet"),
            (Schedule(.daily, at: noon, quiet: quiet(TimeOfDay(9, 0), TimeOfDay(25, 0))), "quiet"),
            (Schedule(.daily, at: noon, quiet: quiet(TimeOfDay(9, 0), TimeOfDay(13, 0))), "quiet"),
            (Schedule(.daily, at: noon, zone: .fixed("Mars/Olympus")), "zone"),
            (Schedule(.daily, at: noon, zone: .fixed("")), "zone"),
        ])
    func check(_ schedule: Schedule, _ field: String) {
        do {
            try schedule.check()
            Issue.record("This should be refused for its `\(field)`.")
        } catch let error as RepriseError {
            #expect(error.code == .malformed && error.message.hasPrefix("`\(field)`"), "\(error)")
            #expect(error.remedy != nil && error.message.utf8.count < 200)
        } catch { Issue.record(error) }
        let found = schedule.occurrences(after: .seconds(0), in: Self.berlin)
        #expect(found.first { _ in true } == nil)
    }

    private static var many: Set<LocalDate> {
        Set((0..<367).map { LocalDate(2000 + $0, 1, 1) })
    }

    private static func quiet(_ from: TimeOfDay, _ to: TimeOfDay) -> Schedule.QuietHours {
        Schedule.QuietHours(from: from, to: to, then: .skip)
    }

    @Test(
        "a schedule that is over, or has not begun for a thousand years, is answered at once",
        .limit("schedules.lastYear"))
    func ends() {
        let over = Schedule(.daily, at: Self.noon, end: LocalDate(1971, 1, 1))
        #expect(over.next(.seconds(1_800_000_000)) == nil)
        let far = Schedule(.every(days: 7, from: LocalDate(9_999, 12, 27)), at: Self.noon)
        let found = Array(far.occurrences(after: .seconds(0), in: Self.berlin))
        #expect(found.map(\.local) == ["9999-12-27T12:00"])
        for edge in [Int64.min, .max] {
            let rest = Schedule(.daily, at: Self.noon)
                .occurrences(after: WallTime(milliseconds: edge), in: Self.berlin)
            #expect(rest.first { _ in true }?.local == (edge < 0 ? "0001-01-01T12:00" : nil))
        }
    }

    @Test(
        "a day that not every month or year has is a valid schedule",
        arguments: [
            (Schedule(.monthly(on: [.day(31)]), at: noon), "2026-12-31"),
            (Schedule(.monthly(on: [.day(-31)]), at: noon), "2026-12-01"),
            (Schedule(.yearly(months: [2], on: [.day(29)]), at: noon), "2028-02-29"),
            (Schedule(.yearly(months: [2], on: [.day(30), .day(3)]), at: noon), "2027-02-03"),
            (Schedule(.yearly(months: [2], on: [.dayOrLast(31)]), at: noon), "2027-02-28"),
            (Schedule(.yearly(months: [2], on: [.nth(5, .saturday)]), at: noon), "2048-02-29"),
            (Schedule(.monthly(on: [.last, .day(31)]), at: noon), "2026-11-30"),
        ])
    func sometimes(_ schedule: Schedule, _ first: String) throws {
        try schedule.check()
        #expect(schedule.next(.seconds(1_795_300_000))?.date.description == first)
    }

    @Test("the longest count of the rarest days ends with the calendar, at once")
    func rarest() throws {
        let schedule = Schedule(
            .yearly(months: [2], on: [.nth(5, .monday)]), at: Self.noon, start: LocalDate(1, 1, 1),
            count: 1_000)
        try schedule.check()
        let all = Array(
            schedule.occurrences(after: WallTime(milliseconds: .min), in: Self.berlin))
        #expect(all.last?.local == "9988-02-29T12:00")
    }

    @Test(
        "days that are skipped one after the other for a year do not end a schedule",
        .limit("schedules.barrenDays"))
    func skipped() {
        let skipped = Schedule(.daily, at: Self.noon).occurrences(
            after: .seconds(1_800_000_000), in: Self.berlin
        )
        .prefix(366).map(\.date)
        let schedule = Schedule(.daily, at: Self.noon, skipped: Set(skipped))
        #expect(schedule.next(.seconds(1_800_000_000))?.local == "2028-01-16T12:00")
    }

    @Test("two that quiet hours put on the same minute are one, which bears the later name")
    func merged() {
        let schedule = Schedule(
            .daily, at: [TimeOfDay(23, 0), TimeOfDay(6, 0), TimeOfDay(7, 0)],
            quiet: Schedule.QuietHours(from: TimeOfDay(22, 0), to: TimeOfDay(7, 0)))
        let found = schedule.occurrences(after: .seconds(1_795_215_600), in: Self.berlin).prefix(2)
        #expect(found.map(\.local) == ["2026-11-21T07:00", "2026-11-22T07:00"])
    }

    @Test("occurrences do not depend on where the search begins")
    func anywhere() throws {
        let zone = try #require(TimeZone(identifier: "Pacific/Apia"))
        let schedule = Schedule(
            .daily, at: [TimeOfDay(7, 30), TimeOfDay(23, 0)],
            quiet: Schedule.QuietHours(from: TimeOfDay(22, 30), to: TimeOfDay(0, 10)))
        let all = Array(
            schedule.occurrences(after: .seconds(1_324_900_000), in: zone).prefix(14))
        for (index, occurrence) in all.enumerated() {
            for early in [0, 1, 60_000] as [Int64] {
                let from = WallTime(milliseconds: occurrence.at.milliseconds - early)
                let rest = schedule.occurrences(after: from, in: zone).first { _ in true }
                #expect(rest == (early == 0 ? all.dropFirst(index + 1).first ?? rest : occurrence))
            }
        }
    }

    @Test("days and times are written as texts, and read in no other way")
    func texts() throws {
        let coder = JSONEncoder()
        #expect(
            String(decoding: try coder.encode([Self.day]), as: UTF8.self) == #"["2026-11-21"]"#)
        #expect(
            String(decoding: try coder.encode([TimeOfDay(7, 5)]), as: UTF8.self) == #"["07:05"]"#)
        for text in [
            "2026-1-2", "26-01-02", "2026-11-21 ", "２０26-11-21", "2026/11/21", "", "+026-11-21",
        ] {
            #expect(LocalDate(text) == nil && Self.date(text) == nil, "\(text)")
        }
        for text in ["7:30", "07:3", "07.30", "07:300", "", "-7:30"] {
            #expect(TimeOfDay(text) == nil, "\(text)")
        }
        #expect(Self.date("2026-02-30") == LocalDate(2026, 2, 30))
        #expect(throws: EncodingError.self) { try coder.encode([LocalDate(12_026, 1, 1)]) }
        #expect(throws: EncodingError.self) { try coder.encode([TimeOfDay(100, 0)]) }
        let schedule = Schedule(
            .weekly(on: [.monday]), at: Self.noon, start: Self.day, skipped: [Self.day],
            quiet: Schedule.QuietHours(from: TimeOfDay(22, 0), to: TimeOfDay(7, 0)),
            zone: .fixed("UTC"))
        let again = try JSONDecoder().decode(Schedule.self, from: coder.encode(schedule))
        #expect(again == schedule)
    }

    private static func date(_ text: String) -> LocalDate? {
        try? JSONDecoder().decode([LocalDate].self, from: Data(#"["\#(text)"]"#.utf8)).first
    }

    @Test("days of the civil calendar are numbered as Foundation numbers them, from year 1 to 9999")
    func civil() throws {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = .gmt
        let schedule = Schedule(
            .every(days: 1_237, from: LocalDate(1600, 1, 1)), at: [TimeOfDay(0, 0)])
        var expected = try #require(
            calendar.date(from: DateComponents(year: 1600, month: 1, day: 1)))
        for occurrence in schedule.occurrences(after: WallTime(milliseconds: .min), in: .gmt) {
            let parts = calendar.dateComponents([.year, .month, .day], from: expected)
            let date = LocalDate(parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
            #expect(occurrence.date == date)
            #expect(occurrence.at == .seconds(Int64(expected.timeIntervalSince1970)))
            expected.addTimeInterval(1_237 * 86_400)
        }
    }
}

extension Schedule {
    fileprivate func next(_ after: WallTime) -> Occurrence? {
        occurrences(after: after, in: TimeZone(identifier: "Europe/Berlin") ?? .gmt)
            .first { _ in true }
    }
}
