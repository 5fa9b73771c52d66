import RepriseCore
import RepriseReminders

/// The app's own store: what is reminded of, on a disk that is not the journal's.
final class SimulatedGoals {
    struct Goal {
        var entity: Entity
        var reminders: [Reminder]
    }

    private(set) var goals: [String: Goal] = [:]
    private var tombstones: Set<String> = []
    private var successors: [String: String] = [:]
    private var number = 0
    /// Since when nothing reminds of an entity, by the truth.
    private(set) var goneSince: [String: Duration] = [:]
    /// What was given to it by id, and how often that took effect.
    private(set) var effects: [EntryID: Int] = [:]
    /// Hears which entities have changed; nil: any may have.
    var changed: (Set<String>?) -> Void = { _ in }

    private let simulation: Simulation
    private let clock: SimulatedClock
    private let mix: RemindersMix
    private var rules: SeededRandom

    init(_ simulation: Simulation, name: String, clock: SimulatedClock, _ mix: RemindersMix) {
        self.simulation = simulation
        rules = simulation.random("rules of \(name)")
        self.clock = clock
        self.mix = mix
    }

    // MARK: What it says

    var reminded: [RemindedEntity] { reminded { $0 == .active } }

    /// For the mutation `pausedStays`.
    var remindedWithPaused: [RemindedEntity] { reminded { $0 != .archived } }

    private func reminded(_ isMeant: (Entity.State) -> Bool) -> [RemindedEntity] {
        goals.values.filter { isMeant($0.entity.state) && !$0.reminders.isEmpty }
            .map { RemindedEntity(id: $0.entity.id, reminders: $0.reminders) }
            .sorted { $0.id < $1.id }
    }

    func find(_ id: String) -> EntityFinding {
        if let goal = goals[id] { return .found(goal.entity) }
        if let next = successors[id], let goal = goals[next] { return .replaced(by: goal.entity) }
        return tombstones.contains(id) ? .deleted(when: nil) : .unknown
    }

    func isApplied(_ id: EntryID) -> Bool { effects[id] != nil }

    func apply(_ command: ReminderCommand) {
        effects[command.id, default: 0] += 1
        simulation.trace("store", "\(command.id) takes effect")
        if command.action == .pause { change([command.entity.id]) { $0.entity.state = .paused } }
    }

    /// All that there is or was.
    var ids: [String] { (Set(goals.keys).union(tombstones)).sorted() }

    // MARK: What people and imports do

    func fill(_ count: Int, _ random: inout SeededRandom) {
        for _ in 0..<count { create(&random) }
    }

    /// Something happens to it.
    func happens(_ random: inout SeededRandom) {
        let all = goals.keys.sorted()
        let id = all.isEmpty ? "" : all[random.index(all.count)]
        switch random.index(16) {
        case 0...2: tell([create(&random)])
        case 3...4: change([id]) { $0.reminders = self.reminders(&random) }
        case 5: change([id]) { $0.entity.title += "+" }
        case 6...7: change([id]) { $0.entity.state = .paused }
        case 8: change([id]) { $0.entity.state = .active }
        case 9: change([id]) { $0.entity.state = .archived }
        case 10...11: delete(id)
        case 12: change([id]) { if !$0.entity.parts.isEmpty { $0.entity.parts.removeLast() } }
        case 13:
            let state: Entity.State = random.chance(0.3) ? .paused : .active
            change(all) { $0.entity.state = state }
        case 14: change(all, isImport: true) { $0.reminders = self.reminders(&random) }
        default: replaceAll(&random)
        }
    }

    /// An import with new ids: some of the old ones have a successor.
    private func replaceAll(_ random: inout SeededRandom) {
        for id in goals.keys.sorted() {
            if random.chance(0.7) { successors[id] = create(&random) }
            goals[id] = nil
            tombstones.insert(id)
        }
        tell(nil)
    }

    private func delete(_ id: String) {
        guard goals.removeValue(forKey: id) != nil else { return }
        tombstones.insert(id)
        tell([id])
    }

    private func change(
        _ ids: [String], isImport: Bool = false, _ body: (inout Goal) -> Void
    ) {
        for id in ids {
            guard var goal = goals[id] else { continue }
            body(&goal)
            for index in goal.reminders.indices {
                goal.reminders[index].title = "\(goal.entity.title) \(goal.reminders[index].id)"
            }
            goals[id] = goal
        }
        tell(isImport ? nil : Set(ids))
    }

    @discardableResult
    private func create(_ random: inout SeededRandom) -> String {
        number += 1
        let id = "g\(number)"
        let parts = (0..<random.index(3)).map { Entity.Part(id: "q\($0)", title: "Question \($0)") }
        var reminders = reminders(&random)
        for index in reminders.indices {
            reminders[index].title = "Goal \(number) \(reminders[index].id)"
        }
        goals[id] = Goal(
            entity: Entity(id: id, title: "Goal \(number)", parts: parts), reminders: reminders)
        return id
    }

    private func tell(_ ids: Set<String>?) {
        let active = Set(reminded.map(\.id))
        for id in self.ids {
            if active.contains(id) {
                goneSince[id] = nil
            } else if goneSince[id] == nil {
                goneSince[id] = simulation.now
            }
        }
        simulation.trace("store", "has changed: \(ids.map { "\($0.sorted())" } ?? "everything")")
        changed(ids)
    }

    // MARK: Schedules

    /// By the month or the year, on this day and others, to an end or so many times, with
    /// exceptions.
    private func rule(
        _ schedule: RepriseCore.Schedule, from day: Int64
    ) -> RepriseCore.Schedule {
        let date = SimulatedCalendar.date(day)
        var on: Set = [SimulatedCalendar.monthDays(day)[rules.index(4)]]
        let others: [RepriseCore.Schedule.MonthDay] = [
            .day(1), .last, .day(31), .dayOrLast(30), .nth(2, .tuesday), .nth(-1, .friday),
        ]
        if rules.chance(0.5) { on.insert(others[rules.index(others.count)]) }
        let isYearly = rules.chance(0.3)
        var schedule = schedule
        schedule.days =
            isYearly
            ? .yearly(months: [date.month, 1 + rules.index(12)], on: on) : .monthly(on: on)
        if rules.chance(0.5) {
            schedule.start = SimulatedCalendar.date(day - Int64(rules.index(40)))
            (schedule.end, schedule.count) = (nil, 1 + rules.index(isYearly ? 2 : 8))
        } else {
            schedule.end = SimulatedCalendar.date(day + [0, 20, 100, 400, 800][rules.index(5)])
        }
        for _ in 0..<rules.index(3) {
            schedule.skipped.insert(SimulatedCalendar.date(day + [0, 1, 7, 31][rules.index(4)]))
        }
        return schedule
    }

    private func reminders(_ random: inout SeededRandom) -> [Reminder] {
        (0..<1 + random.index(mix.reminders)).map { index in
            Reminder(
                id: "r\(index)", part: random.chance(0.5) ? "q\(random.index(3))" : nil,
                schedule: schedule(&random), title: "Goal r\(index)", category: "goal")
        }
    }

    private func schedule(_ random: inout SeededRandom) -> RepriseCore.Schedule {
        var place = SimulatedCalendar.places[random.index(SimulatedCalendar.places.count)]
        if mix.hasRules, rules.chance(0.5) { place = mix.places[rules.index(mix.places.count)] }
        let isFixed = random.chance(0.3)
        let first = clock.wall().advanced(by: random.spread(.seconds(60), .seconds(6 * 3_600)))
        let (day, minutes) = SimulatedCalendar.local(first, in: isFixed ? place : mix.home)
        var times = [TimeOfDay(Int(minutes / 60), Int(minutes % 60))]
        for _ in 0..<random.index(mix.times) {
            times.append(TimeOfDay(random.index(24), random.index(60)))
        }
        let date = SimulatedCalendar.date(day)
        let days: RepriseCore.Schedule.Days =
            switch random.chance(mix.once) ? 0 : 1 + random.index(3) {
            case 0: .once(date)
            case 1...2: random.chance(0.5) ? .daily : .every(days: 1 + random.index(5), from: date)
            default: .weekly(on: [.monday, .saturday, .sunday])
            }
        var schedule = RepriseCore.Schedule(
            days, at: times, zone: isFixed ? .fixed(place.name) : .device)
        if !random.chance(mix.endless) {
            schedule.end = SimulatedCalendar.date(day + Int64(random.index(6)))
        }
        if random.chance(0.2) { schedule.start = date }
        if random.chance(0.2) { schedule.skipped = [SimulatedCalendar.date(day + 1)] }
        guard mix.hasRules else { return schedule }
        return hours(rules.chance(0.6) ? rule(schedule, from: day) : schedule)
    }

    /// At the hours at which clocks are set, and with quiet hours.
    private func hours(_ schedule: RepriseCore.Schedule) -> RepriseCore.Schedule {
        var schedule = schedule
        if rules.chance(0.4) {
            schedule.times.append(TimeOfDay(1 + rules.index(3), rules.index(60)))
        }
        guard rules.chance(0.5) else { return schedule }
        let from = TimeOfDay(rules.index(24), rules.index(60))
        let to = TimeOfDay((from.hour + 1 + rules.index(12)) % 24, rules.index(60))
        var quiet = RepriseCore.Schedule.QuietHours(
            from: from, to: to, then: rules.chance(0.7) ? .postpone : .skip)
        schedule.quiet = quiet
        // One that never rings is refused.
        if (try? schedule.check()) == nil { quiet.then = .postpone }
        schedule.quiet = quiet
        return schedule
    }
}
