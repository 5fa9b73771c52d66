import Foundation
import RepriseCore
import RepriseReminders
import RepriseTestSupport
import Testing

/// What `scripts/make-schedule-vectors` made with dateutil and zoneinfo, which know nothing of this
/// code.
@Suite("Schedules: vectors")
struct ScheduleVectorsTests {
    private struct Vector: Decodable {
        struct Rule: Decodable {
            struct Days: Decodable {
                var kind: String
                var on: On?
                var days: Int?
                var from: LocalDate?
                var months: Set<Int>?
            }
            enum On: Decodable {
                case day(LocalDate)
                case weekdays(Set<Weekday>)
                case monthDays(Set<Schedule.MonthDay>)

                init(from decoder: any Decoder) throws {
                    let container = try decoder.singleValueContainer()
                    if let day = try? container.decode(LocalDate.self) {
                        self = .day(day)
                    } else if let days = try? container.decode(Set<Schedule.MonthDay>.self) {
                        self = .monthDays(days)
                    } else {
                        self = .weekdays(try container.decode(Set<Weekday>.self))
                    }
                }
            }
            struct Quiet: Decodable {
                var from: TimeOfDay
                var to: TimeOfDay
                var then: Schedule.QuietHours.Then
            }
            var days: Days
            var times: [TimeOfDay]
            var start: LocalDate?
            var end: LocalDate?
            var count: Int?
            var skipped: Set<LocalDate>?
            var quiet: Quiet?
            var zone: String?
        }
        struct Ring: Decodable {
            var local: String
            var at: Int64
            var wall: String

            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                local = try container.decode(String.self)
                at = try container.decode(Int64.self)
                wall = try container.decodeIfPresent(String.self) ?? local
            }
        }
        var rule: Rule
        var device: String
        var after: Int64
        var rings: [Ring]
    }

    private static func schedule(_ rule: Vector.Rule) throws -> Schedule {
        let days: Schedule.Days =
            switch (rule.days.kind, rule.days.on) {
            case ("daily", _): .daily
            case ("once", .day(let day)): .once(day)
            case ("weekly", .weekdays(let weekdays)): .weekly(on: weekdays)
            case ("every", _):
                .every(
                    days: try #require(rule.days.days), from: try #require(rule.days.from))
            case ("monthly", .monthDays(let days)): .monthly(on: days)
            case ("yearly", .monthDays(let days)):
                .yearly(months: try #require(rule.days.months), on: days)
            default: throw RepriseError(.malformed, "A vector of no kind.")
            }
        return Schedule(
            days, at: rule.times, start: rule.start, end: rule.end, count: rule.count,
            skipped: rule.skipped ?? [],
            quiet: rule.quiet.map { Schedule.QuietHours(from: $0.from, to: $0.to, then: $0.then) },
            zone: rule.zone.map { .fixed($0) } ?? .device)
    }

    @Test(
        "every schedule rings when dateutil and zoneinfo say, on nights when the clock is set too")
    func vectors() throws {
        let file = Command.root.appending(
            path: "Tests/RepriseRemindersTests/Vectors/schedules.json")
        let vectors = try JSONDecoder().decode([Vector].self, from: Data(contentsOf: file))
        #expect(vectors.count > 1_500)
        var count = 0
        for vector in vectors {
            let schedule = try Self.schedule(vector.rule)
            try schedule.check()
            let device = try #require(TimeZone(identifier: vector.device))
            // One more than there is shows that a schedule ends where it should.
            let isEnded = vector.rings.count < 4
            let found = Array(
                schedule.occurrences(after: .seconds(vector.after), in: device)
                    .prefix(vector.rings.count + (isEnded ? 1 : 0)))
            count += found.count
            let expected = vector.rings.map { "\($0.local) \($0.at) \($0.wall)" }
            let actual = found.map {
                "\($0.local) \($0.at.milliseconds / 1_000) \($0.date)T\($0.time)"
            }
            #expect(actual == expected, "\(schedule) in \(vector.device) after \(vector.after)")
        }
        #expect(count > 11_000)
    }
}

extension WallTime {
    static func seconds(_ seconds: Int64) -> WallTime { WallTime(milliseconds: seconds * 1_000) }
}
