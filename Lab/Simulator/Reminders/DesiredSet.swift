import RepriseCore
import RepriseReminders

/// What should be pending, worked out from the app's store by plain enumeration.
struct DesiredSet {
    struct Ring: Hashable {
        var at: WallTime
        var entity: String
        var reminder: String
        var local: String
        var title: String
        var isPostponed = false

        var id: String {
            PlannedReminder.id(entity: entity, reminder: reminder, occurrence: local)
        }

        static func precedes(_ left: Self, _ right: Self) -> Bool {
            left.at != right.at
                ? left.at < right.at
                : (left.entity, left.reminder, left.local)
                    < (right.entity, right.reminder, right.local)
        }
    }

    private struct Line: Hashable {
        var entity: String
        var reminder: String
    }

    /// How long marks are kept after their time.
    private static let kept: Duration = .seconds(7 * 86_400)

    let now: WallTime
    /// The device's.
    let place: SimulatedPlace
    let limit: Int
    let marks: [ReminderOverride]

    func rings(_ entities: [RemindedEntity]) -> [Ring] {
        let said = said(entities)
        let room = limit - min(limit, said.count)
        var all: [Ring] = []
        for entity in entities {
            for reminder in entity.reminders { all += occurrences(entity.id, reminder) }
        }
        all.sort(by: Ring.precedes)
        return Array(said.prefix(limit)) + choose(all, room)
    }

    /// Two thirds by time; then the next of each entity that has none, then of each reminder; then
    /// by time.
    private func choose(_ all: [Ring], _ room: Int) -> [Ring] {
        guard all.count > room else { return all }
        let share = room * 2 / 3
        var chosen = Array(all.prefix(share))
        var names = Set(chosen)
        var entities = Set(chosen.map(\.entity))
        for ring in all where chosen.count < room && entities.insert(ring.entity).inserted {
            chosen.append(ring)
            names.insert(ring)
        }
        var lines = Set(chosen.map { Line(entity: $0.entity, reminder: $0.reminder) })
        for ring in all
        where chosen.count < room
            && lines.insert(Line(entity: ring.entity, reminder: ring.reminder)).inserted
        {
            chosen.append(ring)
            names.insert(ring)
        }
        for ring in all where chosen.count < room && !names.contains(ring) { chosen.append(ring) }
        return chosen
    }

    private func said(_ entities: [RemindedEntity]) -> [Ring] {
        marks.filter { $0.what == .snooze && end($0) > now }.compactMap { mark in
            let reminder = entities.first { $0.id == mark.entity }?.reminders
                .first { $0.id == mark.reminder }
            guard let reminder, everRings(reminder.schedule) else { return nil }
            return Ring(
                at: end(mark), entity: mark.entity, reminder: mark.reminder,
                local: mark.occurrence, title: reminder.title)
        }.sorted(by: Ring.precedes)
    }

    /// Whether any day is meant, past or not: a schedule without one is refused, and a snooze of
    /// its reminder with it.
    private func everRings(_ schedule: RepriseCore.Schedule) -> Bool {
        var (from, end) = (schedule.start, schedule.end)
        switch schedule.days {
        case .once(let day): (from, end) = (max(day, from ?? day), min(day, end ?? day))
        case .every(_, from: let day): from = max(day, from ?? day)
        case .daily, .weekly, .monthly, .yearly: break
        }
        if let last = counted(schedule) { end = SimulatedCalendar.date(last.day) }
        // Without a first or last day there are more days than can be skipped.
        guard let from, let end else { return true }
        let skipped = Set(schedule.skipped.map(SimulatedCalendar.day))
        let (first, last) = (SimulatedCalendar.day(from), SimulatedCalendar.day(end))
        return first <= last
            && (first...last).contains { isMeant(schedule.days, $0) && !skipped.contains($0) }
    }

    /// A snooze rings to the second, and not before it.
    private func end(_ mark: ReminderOverride) -> WallTime {
        guard mark.what == .snooze else { return mark.until }
        return WallTime(
            milliseconds: SimulatedCalendar.floor(mark.until.milliseconds + 999, by: 1_000) * 1_000)
    }

    private func occurrences(_ entity: String, _ reminder: Reminder) -> [Ring] {
        let schedule = reminder.schedule
        var place = place
        if case .fixed(let name) = schedule.zone {
            guard let fixed = SimulatedCalendar.place(name) else { return [] }
            place = fixed
        }
        let today = SimulatedCalendar.local(now, in: place).day
        let skipped = Set(schedule.skipped.map(SimulatedCalendar.day))
        let times = Set(schedule.times).map(\.ofDay).sorted()
        var first = schedule.start.map(SimulatedCalendar.day) ?? today - 2
        switch schedule.days {
        case .once(let day), .every(_, from: let day):
            first = max(first, SimulatedCalendar.day(day))
        case .daily, .weekly, .monthly, .yearly: break
        }
        let last = counted(schedule)
        // Years ahead, if it was made while the calendar was set forward.
        let end =
            last?.day ?? schedule.end.map(SimulatedCalendar.day) ?? max(today, first) + 800
        // Of two on the same minute the later by the rule stays.
        var found: [WallTime: Ring] = [:]
        var hidden = 0
        // Yesterday's may be postponed until today.
        var day = max(today - 2, first)
        while day <= end, found.count - hidden <= limit + times.count {
            defer { day += 1 }
            guard isMeant(schedule.days, day), !skipped.contains(day) else {
                if case .once(let only) = schedule.days, SimulatedCalendar.day(only) < day { break }
                continue
            }
            // Not all times of the last day may be counted.
            let count = day == last?.day ? last?.times ?? 0 : times.count
            for time in times.prefix(count) {
                let wall = day * 86_400 + time * 60
                guard let seconds = place.audible(wall, schedule.quiet) else { continue }
                let at = WallTime(milliseconds: seconds * 1_000)
                guard at > now else { continue }
                let ring = Ring(
                    at: at, entity: entity, reminder: reminder.id,
                    local: SimulatedCalendar.text(day, minutes: time), title: reminder.title,
                    isPostponed: seconds != place.moment(wall))
                found[at] = ring
                if isHidden(ring) { hidden += 1 }
            }
        }
        return found.values.filter { !isHidden($0) }
    }

    private func isMeant(_ days: RepriseCore.Schedule.Days, _ day: Int64) -> Bool {
        switch days {
        case .once(let only): return SimulatedCalendar.day(only) == day
        case .daily: return true
        case .weekly(let on):
            let number = SimulatedCalendar.weekday(day)
            return on.contains { $0.rawValue == number }
        case .every(let interval, let from):
            let since = day - SimulatedCalendar.day(from)
            return since >= 0 && since % Int64(interval) == 0
        case .monthly(let on): return on.contains { isMeant($0, day) }
        case .yearly(let months, let on):
            return months.contains(SimulatedCalendar.date(day).month)
                && on.contains { isMeant($0, day) }
        }
    }

    private func isMeant(_ monthDay: RepriseCore.Schedule.MonthDay, _ day: Int64) -> Bool {
        let number = SimulatedCalendar.date(day).day
        switch monthDay {
        case .day(let wanted):
            return wanted > 0 ? number == wanted : SimulatedCalendar.fromEnd(day) == -wanted
        case .dayOrLast(let wanted):
            return number == wanted || number < wanted && SimulatedCalendar.fromEnd(day) == 1
        case .nth(let wanted, let weekday):
            guard SimulatedCalendar.weekday(day) == weekday.rawValue else { return false }
            return wanted > 0
                ? (number - 1) / 7 + 1 == wanted
                : (SimulatedCalendar.fromEnd(day) - 1) / 7 + 1 == -wanted
        }
    }

    /// The last day that a count leaves, and how many of its times; nil: nothing is counted.
    private func counted(_ schedule: RepriseCore.Schedule) -> (day: Int64, times: Int)? {
        guard var left = schedule.count, let start = schedule.start else { return nil }
        let times = Set(schedule.times).count
        let first = SimulatedCalendar.day(start)
        // A fifth weekday of February comes every 28 years.
        for day in first..<first + 40_000 where isMeant(schedule.days, day) {
            if left <= times { return (day, left) }
            left -= times
        }
        return nil
    }

    private func isHidden(_ ring: Ring) -> Bool {
        marks.contains { mark in
            // A snooze that has rung hides its own time for as long as it is kept.
            guard mark.entity == ring.entity, end(mark).advanced(by: Self.kept) > now else {
                return false
            }
            guard mark.isOfDay else {
                return mark.reminder == ring.reminder && mark.occurrence == ring.local
            }
            return (mark.reminder.isEmpty || mark.reminder == ring.reminder)
                && ring.at < mark.until && ring.at >= start(mark)
        }
    }

    /// Of a skipped day; where the device's day has changed, it counts as 24 hours.
    private func start(_ mark: ReminderOverride) -> WallTime {
        let whole = mark.until.advanced(by: .seconds(-86_400))
        guard let date = LocalDate(mark.occurrence) else { return whole }
        let day = SimulatedCalendar.day(date)
        let (start, end) = (place.moment(day * 86_400), place.moment((day + 1) * 86_400))
        return mark.until == WallTime(milliseconds: end * 1_000)
            ? WallTime(milliseconds: start * 1_000) : whole
    }
}

extension TimeOfDay {
    /// In minutes since midnight.
    fileprivate var ofDay: Int64 { Int64(hour * 60 + minute) }
}
