import Foundation
import RepriseChains
import RepriseCore
import RepriseTesting
import Testing

@Suite("The times of a schedule")
struct ScheduleTimesTests {
    private static let berlin = TimeZone(identifier: "Europe/Berlin") ?? .gmt
    private static let hourly = ChainSchedule.every(.seconds(3_600))

    /// The moment at which a wall clock shows this first.
    private func at(_ text: String, _ zone: TimeZone = .gmt) throws -> WallTime {
        let minutes = try #require(Occurrence.minutes(text))
        return WallTime(milliseconds: ZoneClock(zone).moment(minutes * 60).at * 1_000)
    }

    private func daily(_ hour: Int, _ minute: Int) -> ChainSchedule {
        .calendar(Schedule(.daily, at: [TimeOfDay(hour, minute)]))
    }

    @Test("An interval counts from the last time; of ten that were missed one is due")
    func interval() throws {
        let start = try at("2026-11-21T07:30")
        var times = ScheduleTimes(Self.hourly, since: start)
        let first = try at("2026-11-21T08:30")
        #expect(times.next(at: start, in: .gmt) == first)
        let late = try at("2026-11-21T18:00")
        #expect(times.next(at: late, in: .gmt) == first)
        times.came(at: late, in: .gmt)
        let next = try at("2026-11-21T19:00")
        #expect(times.next(at: late, in: .gmt) == next)
    }

    @Test("A calendar that was set back by years stops no interval for longer than it is")
    func intervalSetBack() throws {
        var times = ScheduleTimes(Self.hourly, since: try at("2036-01-01T00:00"))
        let now = try at("2026-11-21T07:30")
        let next = try at("2026-11-21T08:30")
        #expect(times.next(at: now, in: .gmt) == next)
        // Nor is it put off each time that somebody looks.
        times.looked(at: now, in: .gmt)
        let later = try at("2026-11-21T08:00")
        #expect(times.next(at: later, in: .gmt) == next)
    }

    @Test("A time of day is due once, however many days were missed")
    func missedDays() throws {
        var times = ScheduleTimes(daily(3, 0), since: try at("2026-11-21T07:30", Self.berlin))
        let first = try at("2026-11-22T03:00", Self.berlin)
        let late = try at("2026-11-25T12:00", Self.berlin)
        #expect(times.next(at: late, in: Self.berlin) == first)
        times.came(at: late, in: Self.berlin)
        let next = try at("2026-11-26T03:00", Self.berlin)
        #expect(times.next(at: late, in: Self.berlin) == next)
    }

    @Test("A clock that is set back makes no time due again, unless it is by more than a day")
    func setBack() throws {
        let came = try at("2026-11-22T03:00")
        var times = ScheduleTimes(daily(3, 0), since: try at("2026-11-21T07:30"))
        times.came(at: came, in: .gmt)
        let next = try at("2026-11-23T03:00")
        for now in ["2026-11-22T02:59", "2026-11-22T01:00", "2026-11-21T05:00"] {
            let moment = try at(now)
            #expect(times.next(at: moment, in: .gmt) == next, "\(now)")
        }
        // It was a day ahead, or a year: what it said then is no longer believed.
        for (now, first) in [
            ("2026-11-20T05:00", "2026-11-21T03:00"), ("2025-11-22T05:00", "2025-11-23T03:00"),
        ] {
            let (moment, expected) = (try at(now), try at(first))
            #expect(times.next(at: moment, in: .gmt) == expected, "\(now)")
            // Nor is it believed again when that time comes, a day or less before it.
            var later = times
            later.looked(at: moment, in: .gmt)
            #expect(later.next(at: expected, in: .gmt) == expected, "\(now)")
        }
    }

    @Test("Two times an hour apart are not repeated either when the clock is set back over both")
    func setBackOverTwo() throws {
        let rule = ChainSchedule.calendar(
            Schedule(.daily, at: [TimeOfDay(3, 0), TimeOfDay(4, 0)]))
        var times = ScheduleTimes(rule, since: try at("2026-11-21T07:30"))
        times.came(at: try at("2026-11-22T03:00"), in: .gmt)
        times.came(at: try at("2026-11-22T04:00"), in: .gmt)
        let (now, next) = (try at("2026-11-22T02:00"), try at("2026-11-23T03:00"))
        #expect(times.next(at: now, in: .gmt) == next)
    }

    @Test("02:30 is due once in the night that has it twice, and later in the night without it")
    func daylightSaving() throws {
        var times = ScheduleTimes(daily(2, 30), since: try at("2027-10-30T12:00", Self.berlin))
        let once = try at("2027-10-31T00:30")
        #expect(times.next(at: once, in: Self.berlin) == once)
        times.came(at: once, in: Self.berlin)
        let (again, next) = (try at("2027-10-31T01:30"), try at("2027-11-01T01:30"))
        #expect(times.next(at: again, in: Self.berlin) == next)

        let spring = ScheduleTimes(daily(2, 30), since: try at("2027-03-27T12:00", Self.berlin))
        let (midnight, later) = (try at("2027-03-28T00:00"), try at("2027-03-28T01:30"))
        #expect(spring.next(at: midnight, in: Self.berlin) == later)
    }

    @Test(
        "A device that travels east misses the times that its clock skips; west it has none twice")
    func travel() throws {
        let tokyo = try #require(TimeZone(identifier: "Asia/Tokyo"))
        var times = ScheduleTimes(daily(3, 0), since: try at("2026-11-21T12:00", Self.berlin))
        let landing = try at("2026-11-22T04:00", tokyo)
        let due = try #require(times.next(at: landing, in: tokyo))
        #expect(due <= landing)
        times.came(at: landing, in: tokyo)
        // Back in Berlin it is the evening before.
        let next = try at("2026-11-23T03:00", Self.berlin)
        #expect(times.next(at: landing, in: Self.berlin) == next)
    }

    /// The next time is no later than a day after the last; the clock may be set back by 20 hours
    /// meanwhile, and nobody looks for 20,000 s.
    @Test(
        "A clock set by up to ten hours gives no night two runs, and no run comes too late",
        arguments: UInt64(0)..<30)
    func anyClock(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let start = try at("2026-11-21T07:30")
        var times = ScheduleTimes(daily(3, 0), since: start)
        var (uptime, offset) = (Int64(0), Int64(0))
        var runs: [(uptime: Int64, due: WallTime)] = []
        for _ in 0..<2_000 {
            if Int.random(in: 0..<4, using: &random) == 0 {
                offset = Int64.random(in: -36_000...36_000, using: &random)
            } else {
                uptime += Int64.random(in: 0...20_000, using: &random)
            }
            let now = start.advanced(by: .seconds(uptime + offset))
            if Bool.random(using: &random) { times.looked(at: now, in: .gmt) }
            guard let due = times.next(at: now, in: .gmt), due <= now else { continue }
            times.came(at: now, in: .gmt)
            runs.append((uptime, due))
        }
        #expect(runs.count > 50)
        for (former, run) in zip(runs, runs.dropFirst()) {
            #expect(former.due < run.due)
            #expect(run.uptime - former.uptime <= 86_400 + 72_000 + 20_000)
        }
    }

    @Test(
        "A rule of another kind counts from now, whatever the clock said before; an interval of another length from the last time"
    )
    func otherKind() throws {
        // The clock was hours ahead when a night came, and is right again.
        var times = ScheduleTimes(daily(3, 0), since: try at("2026-11-21T07:30"))
        times.came(at: try at("2026-11-22T03:00"), in: .gmt)
        let now = try at("2026-11-21T12:00")
        times.changed(to: Self.hourly, at: now)
        let (anHour, two) = (try at("2026-11-21T13:00"), try at("2026-11-21T14:00"))
        #expect(times.next(at: two, in: .gmt) == anHour)
        times.changed(to: .every(.seconds(7_200)), at: anHour)
        #expect(times.next(at: anHour, in: .gmt) == two)
        times.changed(to: daily(3, 0), at: two)
        let night = try at("2026-11-22T03:00")
        #expect(times.next(at: two, in: .gmt) == night)
        // Another time of day is of the same kind: what has come stays known.
        times.came(at: night, in: .gmt)
        let back = try at("2026-11-22T01:00")
        times.changed(to: daily(2, 30), at: back)
        let next = try at("2026-11-23T02:30")
        #expect(times.next(at: back, in: .gmt) == next)
    }

    @Test("A rule with an end has no next time after it")
    func end() throws {
        let rule = ChainSchedule.calendar(
            Schedule(.once(LocalDate(2026, 11, 22)), at: [TimeOfDay(3, 0)]))
        var times = ScheduleTimes(rule, since: try at("2026-11-21T12:00"))
        let due = try at("2026-11-22T03:00")
        #expect(times.next(at: due, in: .gmt) == due)
        times.came(at: due, in: .gmt)
        #expect(times.next(at: due, in: .gmt) == nil)
    }

    @Test(
        "A rule is read as it was stored, and a malformed one is refused",
        arguments: [
            ChainSchedule.every(.seconds(900)),
            .calendar(Schedule(.weekly(on: [.monday]), at: [TimeOfDay(3, 0)])),
        ])
    func coding(rule: ChainSchedule) throws {
        let json = try JSONEncoder().encode(rule)
        #expect(try JSONDecoder().decode(ChainSchedule.self, from: json) == rule)
        for bad in ["{}", #"{"every":"1h"}"#, #"{"calendar":7}"#] {
            #expect(throws: DecodingError.self) {
                _ = try JSONDecoder().decode(ChainSchedule.self, from: Data(bad.utf8))
            }
        }
    }
}
