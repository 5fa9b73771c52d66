import Foundation
import RepriseCore
import RepriseReminders
import RepriseTesting
import Testing

/// The planner against a model that sorts everything, and against time that passes.
@Suite("Planner: model")
struct PlannerModelTests {
    private struct Model {
        var limit: Int
        var entities: [String: RemindedEntity] = [:]
        var marks: [ReminderOverride.Key: ReminderOverride] = [:]

        func occurrences(
            _ entity: RemindedEntity, _ reminder: Reminder, _ count: Int, _ now: WallTime,
            _ zone: TimeZone
        ) -> [PlannedReminder] {
            let all = reminder.schedule.occurrences(after: now, in: zone).lazy.filter {
                let key = ReminderOverride.Key(
                    entity: entity.id, reminder: reminder.id, occurrence: $0.local)
                return marks[key] == nil
            }
            return all.prefix(count).map { planned(entity, reminder, $0.local, $0.at) }
        }

        private func planned(
            _ entity: RemindedEntity, _ reminder: Reminder, _ local: String, _ at: WallTime
        ) -> PlannedReminder {
            PlannedReminder(
                id: PlannedReminder.id(entity: entity.id, reminder: reminder.id, occurrence: local),
                entity: entity.id, owner: entity.owner, reminder: reminder,
                occurrence: Occurrence(
                    local: local, at: at, date: LocalDate(1, 1, 1), time: TimeOfDay(0, 0)))
        }

        func plan(_ now: WallTime, _ zone: TimeZone) -> (
            ids: [String], next: [String], until: WallTime?
        ) {
            let snoozed = marks.values.filter { $0.what == .snooze && $0.until > now }.compactMap {
                mark -> PlannedReminder? in
                guard let entity = entities[mark.entity],
                    let reminder = entity.reminders.first(where: { $0.id == mark.reminder })
                else { return nil }
                return planned(entity, reminder, mark.occurrence, mark.until)
            }.sorted(by: Self.order)
            var all = entities.values.flatMap { entity in
                entity.reminders.flatMap { occurrences(entity, $0, limit + 1, now, zone) }
            }
            all.sort(by: Self.order)
            let room = limit - min(limit, snoozed.count)
            var chosen = Array(all.prefix(all.count <= room ? room : room * 2 / 3))
            for one in all
            where chosen.count < room && !chosen.contains(where: { $0.entity == one.entity }) {
                chosen.append(one)
            }
            for one in all
            where chosen.count < room
                && !chosen.contains(where: {
                    $0.entity == one.entity && $0.reminder.id == one.reminder.id
                })
            {
                chosen.append(one)
            }
            for one in all where chosen.count < room && !chosen.contains(where: { $0.id == one.id })
            {
                chosen.append(one)
            }
            let ids = Set(chosen.map(\.id))
            let left = [
                snoozed.dropFirst(limit).first?.at, all.first { !ids.contains($0.id) }?.at,
            ]
            return (
                (snoozed.prefix(limit) + chosen).sorted(by: Self.order).map(\.id),
                (snoozed + all).sorted(by: Self.order).prefix(limit).map(\.id),
                left.compactMap(\.self).min()
            )
        }

        static func order(_ left: PlannedReminder, _ right: PlannedReminder) -> Bool {
            (left.at.milliseconds, left.entity, left.reminder.id, left.occurrence.local)
                < (right.at.milliseconds, right.entity, right.reminder.id, right.occurrence.local)
        }
    }

    private static let zones = ["Europe/Berlin", "Pacific/Apia", "America/New_York", "UTC"]
        .compactMap(TimeZone.init(identifier:))

    private static func schedule(_ dice: inout SeededGenerator) -> Schedule {
        let from = LocalDate(2026, Int.random(in: 1...12, using: &dice), 3)
        let days: Schedule.Days =
            switch Int.random(in: 0..<7, using: &dice) {
            case 0: .once(LocalDate(2026, Int.random(in: 1...12, using: &dice), 9))
            case 1: .weekly(on: [.monday, .saturday])
            case 2: .every(days: Int.random(in: 1...90, using: &dice), from: from)
            case 3: .monthly(on: [.day(31), .nth(2, .sunday)])
            case 4: .yearly(months: [2, Int.random(in: 1...12, using: &dice)], on: [.day(29)])
            default: .daily
            }
        let count = Int.random(in: 1...3, using: &dice)
        var end = Int.random(in: 0..<3, using: &dice)
        if case .once = days { end = 0 }
        let quiet = Schedule.QuietHours(from: TimeOfDay(22, 0), to: TimeOfDay(6, 30))
        return Schedule(
            days,
            at: (0..<count).map {
                TimeOfDay(($0 * 7 + Int.random(in: 0..<6, using: &dice)) % 24, 30)
            },
            start: end == 1 ? from : nil, end: end == 2 ? LocalDate(2029, 3, 1) : nil,
            count: end == 1 ? Int.random(in: 1...90, using: &dice) : nil,
            quiet: Bool.random(using: &dice) ? quiet : nil,
            zone: Bool.random(using: &dice) ? .device : .fixed("America/New_York"))
    }

    private static func entity(_ dice: inout SeededGenerator) -> RemindedEntity {
        RemindedEntity(
            id: "e\(Int.random(in: 0..<7, using: &dice))",
            reminders: (0..<Int.random(in: 0...3, using: &dice)).map {
                Reminder(id: "r\($0)", schedule: schedule(&dice), title: "R")
            })
    }

    @Test(
        "after any changes the plan is what sorting everything gives",
        arguments: 1...12 as ClosedRange<UInt64>)
    func model(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        let limit = [1, 3, 7, 12].randomElement(using: &dice) ?? 3
        var planner = ReminderPlanner(limit: limit)
        var model = Model(limit: limit)
        var now = WallTime.seconds(1_774_000_000)
        var zone = Self.zones[0]
        for step in 0..<150 {
            switch Int.random(in: 0..<10, using: &dice) {
            case 0...2:
                let entity = Self.entity(&dice)
                #expect(planner.set(entity).isEmpty)
                model.entities[entity.id] = entity
            case 3:
                let id = "e\(Int.random(in: 0..<7, using: &dice))"
                planner.remove(id)
                model.entities[id] = nil
            case 4, 5: try Self.mark(&planner, &model, now, zone, &dice)
            case 6:
                for key in planner.pastMarks(at: now) { planner.unmark(key) }
                model.marks = model.marks.filter { $0.value.until > now }
                // One is taken back before its time.
                let names = { (key: ReminderOverride.Key) in
                    (key.entity, key.reminder, key.occurrence)
                }
                let keys = model.marks.keys.sorted { names($0) < names($1) }
                if let key = keys.randomElement(using: &dice) {
                    planner.unmark(key)
                    model.marks[key] = nil
                }
            case 7:
                now = now.advanced(by: .seconds(Int.random(in: -90_000...90_000, using: &dice)))
            case 8:
                now = now.advanced(by: .seconds(Int.random(in: 0...2_000_000, using: &dice)))
            default: zone = Self.zones.randomElement(using: &dice) ?? zone
            }
            let plan = planner.plan(at: now, in: zone)
            let expected = model.plan(now, zone)
            #expect(plan.planned.map(\.id) == expected.ids, "seed \(seed), step \(step)")
            #expect(plan.next.map(\.id) == expected.next, "seed \(seed), step \(step)")
            #expect(plan.guaranteedUntil == expected.until, "seed \(seed), step \(step)")
        }
    }

    private static func mark(
        _ planner: inout ReminderPlanner, _ model: inout Model, _ now: WallTime, _ zone: TimeZone,
        _ dice: inout SeededGenerator
    ) throws {
        let next = planner.plan(at: now, in: zone).next
        guard let one = next.randomElement(using: &dice) else { return }
        let seconds = Int.random(in: 60...200_000, using: &dice)
        let mark = ReminderOverride(
            entity: one.entity, reminder: one.reminder.id, occurrence: one.occurrence.local,
            what: Bool.random(using: &dice) ? .skip : .snooze,
            until: one.at.advanced(by: .seconds(seconds)))
        try planner.mark(mark)
        model.marks[mark.key] = mark
    }

    @Test(
        "until the moment that is guaranteed everything rings that should, although nobody opens the app",
        arguments: 100...110 as ClosedRange<UInt64>)
    func guaranteed(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        let zone = Self.zones[Int(seed) % Self.zones.count]
        let entities = Dictionary(
            (0..<6).map { _ in Self.entity(&dice) }.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        var planner = ReminderPlanner(limit: 20)
        _ = planner.set(Array(entities.values))
        let now = WallTime.seconds(1_774_000_000 + Int64.random(in: 0...20_000_000, using: &dice))
        let plan = planner.plan(at: now, in: zone)

        // What the system has, and it alone, decides what rings.
        let rings = try plan.planned.map {
            try Self.date(ReminderRequest($0, sort: "goal", in: zone), zone)
        }
        let until = plan.guaranteedUntil ?? WallTime(milliseconds: .max)
        var should: [WallTime] = []
        for reminder in entities.values.flatMap(\.reminders) {
            for occurrence in reminder.schedule.occurrences(after: now, in: zone) {
                guard occurrence.at < until else { break }
                should.append(occurrence.at)
            }
        }
        #expect(rings.filter { $0 < until }.sorted() == should.sorted())
        if let until = plan.guaranteedUntil {
            let then = Model(limit: 20, entities: entities).plan(
                until.advanced(by: .milliseconds(-1)), zone)
            #expect(!Set(then.next).isSubset(of: plan.planned.map(\.id)))
        }
    }

    /// When the system rings for a request, by Foundation's calendar.
    private static func date(_ request: ReminderRequest, _ zone: TimeZone) throws -> WallTime {
        guard case .calendar(let components, repeats: false) = request.request.trigger else {
            throw RepriseError(.malformed, "No calendar trigger that rings once.")
        }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = components.timeZone ?? zone
        let date = try #require(calendar.date(from: components))
        return .seconds(Int64(date.timeIntervalSince1970))
    }
}
