package import Foundation
package import RepriseCore

/// Decides when the next run of a schedule is due, from the last time that has come.
///
/// However many times were missed, one is due. What the wall clock has shown does not come again
/// when it is set back; set back by more than a day, its former reading is no longer believed.
package struct ScheduleTimes: Hashable, Sendable {
    /// In minutes.
    private static let believed: Int64 = 1_440

    package private(set) var rule: ChainSchedule
    /// When the last time came, or the schedule was added: later ones count.
    package private(set) var since: WallTime
    /// The wall clock at the last time that came, as in ``RepriseCore/Occurrence/local``.
    package private(set) var last: String?

    package init(_ rule: ChainSchedule, since: WallTime, last: String? = nil) {
        self.rule = rule
        self.since = since
        self.last = last
    }

    /// The next time, due if it is not later than `now`; nil: the rule has ended.
    package func next(at now: WallTime, in device: TimeZone) -> WallTime? {
        let start = min(since, now)
        switch rule {
        case .every(let interval): return start.advanced(by: interval)
        case .calendar(let schedule):
            // The texts sort as the readings do.
            let shown = shownBefore(schedule, at: now, in: device) ?? ""
            return schedule.occurrences(after: start, in: device)
                .first { Self.reading($0) > shown }?.at
        }
    }

    /// A time has come, and a run has begun or was skipped: those missed before are over, too.
    package mutating func came(at now: WallTime, in device: TimeZone) {
        since = now
        guard case .calendar(let schedule) = rule else { return }
        last = Self.minutes(schedule, at: now, in: device).map { Occurrence.text(minutes: $0) }
    }

    /// The app says another rule: an interval of another length counts from the last time, another
    /// calendar rule from now, and a rule of another kind from now as if it had just been added.
    ///
    /// What a calendar rule knows of the clock means nothing to an interval: it does not move when
    /// the calendar is set.
    package mutating func changed(to new: ChainSchedule, at now: WallTime) {
        switch (rule, new) {
        case (.every, .every): rule = new
        case (.calendar, .calendar): (rule, since) = (new, now)
        case (.every, .calendar), (.calendar, .every): self = ScheduleTimes(new, since: now)
        }
    }

    /// The calendar may have been set back while nobody looked.
    ///
    /// A former reading that is not believed now is forgotten: it would be believed again as the
    /// new time comes near it.
    package mutating func looked(at now: WallTime, in device: TimeZone) {
        since = min(since, now)
        guard case .calendar(let schedule) = rule else { return }
        last = shownBefore(schedule, at: now, in: device)
    }

    /// - Returns: nil: no time is out of the question.
    private func shownBefore(
        _ schedule: Schedule, at now: WallTime, in device: TimeZone
    ) -> String? {
        guard let last, let before = Occurrence.minutes(last),
            let minutes = Self.minutes(schedule, at: now, in: device)
        else { return nil }
        return before - minutes > Self.believed ? nil : last
    }

    /// The wall clock of a schedule, in minutes.
    private static func minutes(
        _ schedule: Schedule, at now: WallTime, in device: TimeZone
    ) -> Int64? {
        let seconds = now.milliseconds.floored(by: 1_000)
        return schedule.zone(on: device).map {
            (seconds + ZoneClock($0).offset(at: seconds)).floored(by: 60)
        }
    }

    /// The wall clock when an occurrence comes, which quiet hours may have moved.
    private static func reading(_ occurrence: Occurrence) -> String {
        "\(occurrence.date)T\(occurrence.time)"
    }
}
