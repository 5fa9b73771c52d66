import Foundation
import Goals
import RepriseCore
import ReprisePhone

/// The effects of time in a scenario.
extension RemindersScenarioRunner {
    func passes(_ time: Duration) async throws { try await phone.advance(by: time) }

    /// It becomes this hour, for the next time.
    func advances(toHour hour: Int) async throws {
        let status = try await phone.status()
        guard let zone = TimeZone(identifier: status.zone) else { return }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let now = Date(status.now)
        let next = calendar.nextDate(
            after: now, matching: DateComponents(hour: hour), matchingPolicy: .nextTime)
        try await passes(.seconds((next ?? now).timeIntervalSince(now)))
    }

    /// The phone is in another time zone from now on, and the app is opened there.
    func travels(to zone: String) async throws {
        try await phone.ask(.zone(zone))
        try await opensAndPlans()
        try await goesHome()
    }

    /// It becomes the evening before the clocks are next set forward, or back.
    func isEvening(beforeSetting isForward: Bool, in zone: String) async throws {
        try await phone.ask(.zone(zone))
        guard let place = TimeZone(identifier: zone) else { return }
        let now = Date(try await phone.status().now)
        var change = place.nextDaylightSavingTimeTransition(after: now)
        if let next = change, place.isDaylightSavingTime(for: next + 1) != isForward {
            change = place.nextDaylightSavingTimeTransition(after: next)
        }
        guard let change else { return }
        try await passes(.seconds((change - 6 * 3_600).timeIntervalSince(now)))
    }

    /// The goals exist, the app was killed, and the time is eight in the morning.
    func rangThisMorning(_ goals: [Goal]) async throws {
        try await makes(goals)
        try await kill()
        try await advances(toHour: 0)
        try await listens()
        try await advances(toHour: 8)
    }

    /// The battery is out for so long.
    func isOff(for time: Duration) async throws {
        await phone.powerOff()
        try await phone.powerOn(after: time)
    }

    /// Records reminders that ring from now on.
    func listens() async throws { await observer.opens(after: try await phone.status().lastEvent) }
}

/// Records what rings, by the phone's wall clock.
actor RemindersObserver {
    /// From which event on; nil: from none.
    private var start: Int?

    func opens(after event: Int) { start = event }

    /// When something rang.
    ///
    /// - Parameter log: from where the phone is in UTC.
    /// - Returns: times as `07:30`.
    func heard(in log: [PhoneEvent]) -> [String] {
        guard let start else { return [] }
        var calendar = Calendar(identifier: .gregorian)
        var (zone, times) = ("UTC", [String]())
        for event in log {
            if event.what == "clock", TimeZone(identifier: event.detail) != nil {
                zone = event.detail
            }
            guard event.number > start, event.what == "delivered" else { continue }
            calendar.timeZone = TimeZone(identifier: zone) ?? .gmt
            let time = calendar.dateComponents([.hour, .minute], from: Date(event.at))
            times.append(String(format: "%02d:%02d", time.hour ?? 0, time.minute ?? 0))
        }
        return times
    }
}

extension Date {
    init(_ time: WallTime) {
        self.init(timeIntervalSince1970: Double(time.milliseconds) / 1_000)
    }
}
