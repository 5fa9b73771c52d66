import Foundation
import Reprise

/// Planning, beside a loop that asks Foundation's calendar for the next date of each reminder and
/// sorts them.
struct RemindersBench {
    private static let now = WallTime(milliseconds: 1_795_258_800_000)
    private static let zone = TimeZone(identifier: "Europe/Berlin") ?? .gmt

    private let entities: [RemindedEntity]

    init(entities count: Int) { entities = (0..<count).map { Self.entity($0, hour: $0 % 24) } }

    /// Every third daily, every third on two days of the week, every third every three days; a
    /// fifth goes by another place's clock.
    private static func entity(_ number: Int, hour: Int) -> RemindedEntity {
        let days: [Schedule.Days] = [
            .daily, .weekly(on: [.monday, .thursday]),
            .every(days: 3, from: LocalDate(2026, 1, 1 + number % 28)),
        ]
        let quiet = Schedule.QuietHours(from: TimeOfDay(22, 0), to: TimeOfDay(7, 0))
        return RemindedEntity(
            id: "goal-\(number)",
            reminders: days.enumerated().map { index, days in
                Reminder(
                    id: "r\(index)",
                    schedule: Schedule(
                        days, at: [TimeOfDay((hour + index * 5) % 24, number % 60)],
                        quiet: number.isMultiple(of: 2) ? quiet : nil,
                        zone: number.isMultiple(of: 5) ? .fixed("America/New_York") : .device),
                    title: "Goal \(number)")
            })
    }

    /// From nothing to the plan, in milliseconds: the median of so many rounds.
    func planned(rounds: Int) throws -> Double {
        try Self.median(rounds) { _ in
            var forecast = ReminderForecast()
            forecast.set(entities)
            guard forecast.next(at: Self.now, in: Self.zone).count == 60 else {
                throw BenchmarkError("the plan is not full")
            }
        }
    }

    /// One entity is replaced and planned again, in milliseconds.
    func changed(rounds: Int) throws -> Double {
        var forecast = ReminderForecast()
        forecast.set(entities)
        _ = forecast.next(at: Self.now, in: Self.zone)
        return try Self.median(rounds) { round in
            forecast.set(Self.entity(round * 7 % entities.count, hour: round))
            guard forecast.next(at: Self.now, in: Self.zone).count == 60 else {
                throw BenchmarkError("the plan is not full")
            }
        }
    }

    /// The next date of each by Foundation's calendar, then sorted.
    func barePlanned(rounds: Int) throws -> Double {
        try Self.median(rounds) { _ in
            guard dates().sorted().prefix(60).count == 60 else {
                throw BenchmarkError("the plan is not full")
            }
        }
    }

    /// The dates are known, one of them is another: sorted again.
    func bareChanged(rounds: Int) throws -> Double {
        var dates = dates()
        return try Self.median(rounds) { round in
            dates[round % dates.count].addTimeInterval(60)
            guard dates.sorted().prefix(60).count == 60 else {
                throw BenchmarkError("the plan is not full")
            }
        }
    }

    private func dates() -> [Date] {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = Self.zone
        let now = Date(timeIntervalSince1970: Double(Self.now.milliseconds) / 1_000)
        return entities.flatMap(\.reminders).compactMap { reminder in
            let time = reminder.schedule.times[0]
            return calendar.nextDate(
                after: now, matching: DateComponents(hour: time.hour, minute: time.minute),
                matchingPolicy: .nextTime)
        }
    }

    private static func median(_ rounds: Int, _ body: (Int) throws -> Void) rethrows -> Double {
        var times: [Double] = []
        for round in 0..<rounds {
            let start = MonotonicTime.now
            try body(round)
            times.append(Double(MonotonicTime.now - start) / 1e6)
        }
        return times.sorted()[rounds / 2]
    }
}
