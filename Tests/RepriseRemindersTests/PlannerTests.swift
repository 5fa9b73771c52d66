import Foundation
import RepriseCore
import RepriseReminders
import RepriseTestSupport
import Testing

@Suite("Planner")
struct PlannerTests {
    /// 2026-11-21 12:00 in Berlin.
    private static let now = WallTime.seconds(1_795_258_800)
    private static let berlin = TimeZone(identifier: "Europe/Berlin") ?? .gmt
    private static let hourly = Schedule(.daily, at: (0..<24).map { TimeOfDay($0, 0) })

    private static func reminder(_ id: String, _ schedule: Schedule) -> Reminder {
        Reminder(id: id, schedule: schedule, title: "Reminder \(id)")
    }

    private static func once(_ month: Int, _ day: Int) -> Schedule {
        Schedule(.once(LocalDate(2027, month, day)), at: [TimeOfDay(9, 0)])
    }

    private static func mark(
        _ what: ReminderOverride.What, _ occurrence: String, until: WallTime, entity: String = "a"
    ) -> ReminderOverride {
        ReminderOverride(
            entity: entity, reminder: "r", occurrence: occurrence, what: what, until: until)
    }

    @Test(
        "200 goals with 3 reminders each get 60 places: the 40 soonest, then goals that have none",
        .limit("schedules.places"))
    func many() {
        var planner = ReminderPlanner()
        let entities = (0..<200).map { entity in
            RemindedEntity(
                id: "g\(entity)",
                reminders: (0..<3).map {
                    Self.reminder(
                        "r\($0)",
                        Schedule(.daily, at: [TimeOfDay(6 + $0 * 5, entity % 60)]))
                })
        }
        #expect(planner.set(entities).isEmpty)
        let plan = planner.plan(at: Self.now, in: Self.berlin)
        #expect(plan.planned.count == 60 && plan.next.count == 60)
        #expect(planner.entities == 200 && planner.reminders == 600)
        #expect(plan.planned.prefix(40) == plan.next.prefix(40))
        #expect(Set(plan.planned.map(\.entity)).count == 60)
        #expect(plan.planned.map(\.at) == plan.planned.map(\.at).sorted())
    }

    @Test("an hourly reminder leaves a place to February 29, and a count ends in the plan too")
    func calendar() {
        var planner = ReminderPlanner()
        let leap = Schedule(.yearly(months: [2], on: [.day(29)]), at: [TimeOfDay(9, 0)])
        // Two of four are over.
        let counted = Schedule(
            .monthly(on: [.last]), at: [TimeOfDay(9, 0)], start: LocalDate(2026, 9, 1), count: 4)
        _ = planner.set(RemindedEntity(id: "c", reminders: [Self.reminder("r", counted)]))
        let alone = planner.plan(at: Self.now, in: Self.berlin)
        #expect(
            alone.planned.map(\.occurrence.local) == ["2026-11-30T09:00", "2026-12-31T09:00"])
        #expect(alone.guaranteedUntil == nil)
        _ = planner.set(RemindedEntity(id: "a", reminders: [Self.reminder("r", Self.hourly)]))
        _ = planner.set(RemindedEntity(id: "b", reminders: [Self.reminder("r", leap)]))
        func others(_ now: Int64) -> [String] {
            let plan = planner.plan(at: .seconds(now), in: Self.berlin)
            #expect(plan.planned.count == 60)
            return plan.planned.filter { $0.entity != "a" }.map(\.occurrence.local)
        }
        // The first days of December and January, and March 2096.
        #expect(others(1_796_083_200) == ["2026-12-31T09:00", "2028-02-29T09:00"])
        #expect(others(1_798_761_600) == ["2028-02-29T09:00"])
        #expect(others(3_981_398_400) == ["2104-02-29T09:00"])
    }

    @Test("an hourly reminder starves neither a yearly one of another goal nor one of its own")
    func fair() {
        var planner = ReminderPlanner()
        _ = planner.set([
            RemindedEntity(
                id: "a",
                reminders: [
                    Self.reminder("hourly", Self.hourly), Self.reminder("own", Self.once(6, 1)),
                ]),
            RemindedEntity(id: "b", reminders: [Self.reminder("yearly", Self.once(7, 1))]),
        ])
        let plan = planner.plan(at: Self.now, in: Self.berlin)
        #expect(plan.planned.count == 60)
        #expect(plan.planned.suffix(2).map(\.reminder.id) == ["own", "yearly"])
        #expect(plan.next.allSatisfy { $0.reminder.id == "hourly" })
        // 58 hours are planned, and the 59th is not.
        #expect(plan.guaranteedUntil == Self.now.advanced(by: .seconds(59 * 3_600)))
    }

    @Test("a schedule that ends has a place for each occurrence, and is guaranteed without a limit")
    func ends() {
        var planner = ReminderPlanner()
        _ = planner.set([
            RemindedEntity(
                id: "a", reminders: (1...28).map { Self.reminder("\($0)", Self.once(2, $0)) })
        ])
        let plan = planner.plan(at: Self.now, in: Self.berlin)
        #expect(plan.planned.count == 28 && plan.guaranteedUntil == nil)
        #expect(planner.plan(at: .seconds(1_900_000_000), in: Self.berlin) == ReminderPlan())
    }

    @Test(
        "a skipped one does not ring, a snoozed one rings later, a test rings: all before the rest")
    func marks() throws {
        var planner = ReminderPlanner(limit: 3)
        _ = planner.set(RemindedEntity(id: "a", reminders: [Self.reminder("r", Self.hourly)]))
        let until = Self.now.advanced(by: .seconds(864_000))
        try planner.mark(Self.mark(.skip, "2026-11-21T13:00", until: until))
        try planner.mark(Self.mark(.snooze, "2026-11-21T14:00", until: until))
        let tried = Reminder(id: "t", schedule: Self.hourly, title: "Tried", body: "Once")
        try planner.mark(Self.mark(.test(tried), "test", until: until, entity: "unsaved"))
        let plan = planner.plan(at: Self.now, in: Self.berlin)
        #expect(
            plan.planned.map(\.occurrence.local) == [
                "2026-11-21T15:00", "2026-11-21T14:00", "test",
            ])
        #expect(plan.planned.map(\.isTest) == [false, false, true])
        #expect(plan.planned.last?.at == until && plan.planned.last?.reminder == tried)
        #expect(plan.guaranteedUntil == Self.now.advanced(by: .seconds(4 * 3_600)))

        planner.remove("a")
        #expect(planner.plan(at: Self.now, in: Self.berlin).planned.map(\.isTest) == [true])
        #expect(planner.plan(at: until, in: Self.berlin).planned == [])
        #expect(planner.pastMarks(at: until).count == 3 && planner.pastMarks(at: Self.now).isEmpty)
        for key in planner.pastMarks(at: until) { planner.unmark(key) }
        _ = planner.set(RemindedEntity(id: "a", reminders: [Self.reminder("r", Self.hourly)]))
        let first = planner.plan(at: Self.now, in: Self.berlin).planned.first
        #expect(first?.occurrence.local == "2026-11-21T13:00")
    }

    @Test(
        "A day that is skipped is one mark, and none of its minutes rings: also of one that is 25 hours long"
    )
    func day() throws {
        let everyHour = Schedule(.daily, at: (0..<24).map { TimeOfDay($0, 30) })
        var planner = ReminderPlanner(limit: 30)
        _ = planner.set(
            RemindedEntity(
                id: "a", reminders: ["r", "s"].map { Self.reminder($0, everyHour) }))
        // Berlin sets its clock back on 2026-10-25 at 03:00; the day ends at 23:00 UTC, and the
        // device is asked just after its midnight.
        let end = WallTime(milliseconds: 1_792_969_200_000)
        let now = end.advanced(by: .seconds(-25 * 3_600 + 60))
        let skip = ReminderOverride.skipOfToday("a", reminder: "r", at: now, in: Self.berlin)
        #expect(skip.until == end && skip.occurrence == "2026-10-25")
        try planner.mark(skip)
        let plan = planner.plan(at: now, in: Self.berlin)
        let rung = plan.planned.filter { $0.reminder.id == "r" }
        #expect(rung.first?.occurrence.local == "2026-10-26T00:30")
        #expect(plan.planned.first?.occurrence.local == "2026-10-25T00:30")

        // Of the day before it nothing is skipped, and the skipped day comes again when the
        // calendar is set back.
        let before = planner.plan(at: now.advanced(by: .seconds(-7_200)), in: Self.berlin)
        #expect(before.planned.prefix(4).map(\.reminder.id) == ["r", "s", "r", "s"])
        _ = planner.plan(at: end.advanced(by: .seconds(7_200)), in: Self.berlin)
        let again = planner.plan(at: end.advanced(by: .seconds(-7_200)), in: Self.berlin)
        #expect(again.planned.prefix(3).map(\.reminder.id) == ["s", "s", "r"])

        // All of the entity.
        try planner.mark(
            ReminderOverride.skipOfToday("a", reminder: nil, at: now, in: Self.berlin))
        let all = planner.plan(at: now, in: Self.berlin)
        #expect(all.planned.first?.occurrence.local == "2026-10-26T00:30")
        planner.unmark(skip.key)
        #expect(planner.plan(at: now, in: Self.berlin) == all)
    }

    @Test(
        "an invalid reminder is named, and the rest is planned",
        .limit("schedules.entities", "schedules.texts"))
    func invalid() throws {
        let good = Self.reminder("r", Self.hourly)
        var long = good
        (long.id, long.title) = ("long", String(repeating: "ä", count: 513))
        var silent = good
        (silent.id, silent.title) = ("silent", "")
        var bad = good
        (bad.id, bad.schedule.times) = ("bad", [])
        var planner = ReminderPlanner()
        let wrong = planner.set([
            RemindedEntity(id: "a", reminders: [good, long, silent, bad, good]),
            RemindedEntity(id: "", reminders: [good]),
            RemindedEntity(id: String(repeating: "x", count: 129), reminders: [good]),
            RemindedEntity(
                id: "b",
                reminders: (0..<65).map { Self.reminder("\($0)", Self.once(1, 1)) }),
        ])
        #expect(
            wrong.map { "\($0.entity.prefix(1)) \($0.reminder ?? "all") \($0.error.code)" } == [
                "a long tooLarge", "a silent malformed", "a bad malformed", "a r malformed",
                " all badID", "x all badID", "b 64 full",
            ])
        #expect(wrong.allSatisfy { $0.error.remedy != nil })
        #expect(planner.entities == 2 && planner.reminders == 65)
        #expect(planner.plan(at: Self.now, in: Self.berlin).planned.count == 60)
        #expect(throws: RepriseError.self) {
            try planner.mark(Self.mark(.test(silent), "test", until: Self.now))
        }
    }

    @Test(
        "the bounds hold: entities, reminders, marks",
        .limit("schedules.entities", "schedules.marks"))
    func bounds() throws {
        var planner = ReminderPlanner()
        let three = (0..<3).map { Self.reminder("\($0)", Self.once(1, 1)) }
        let wrong = planner.set(
            (0..<10_001).map {
                RemindedEntity(
                    id: "\($0)",
                    reminders: three + ($0 == 0 ? [Self.reminder("3", Self.once(1, 1))] : []))
            })
        #expect(
            wrong.map(\.entity) == ["9999", "10000"] && wrong.allSatisfy { $0.error.code == .full })
        #expect(planner.entities == 10_000 && planner.reminders == 30_000)
        // One that is there is replaced, also when it is full.
        #expect(planner.set(RemindedEntity(id: "5", reminders: three)).isEmpty)
        for number in 0..<1_000 {
            try planner.mark(Self.mark(.skip, "\(number)", until: Self.now, entity: "\(number)"))
        }
        expectError(.full) {
            try planner.mark(Self.mark(.skip, "one more", until: Self.now))
        }
        try planner.mark(Self.mark(.skip, "7", until: Self.now, entity: "7"))
    }

    @Test(
        "a journey changes when the device's own reminders ring, and neither their names nor their requests"
    )
    func journey() throws {
        var planner = ReminderPlanner(limit: 4)
        let tokyo = try #require(TimeZone(identifier: "Asia/Tokyo"))
        let daily = Schedule(.daily, at: [TimeOfDay(7, 30)])
        var fixed = daily
        fixed.zone = .fixed("Europe/Berlin")
        _ = planner.set([
            RemindedEntity(id: "a", reminders: [Self.reminder("device", daily)]),
            RemindedEntity(id: "b", reminders: [Self.reminder("fixed", fixed)]),
        ])
        let home = planner.plan(at: Self.now, in: Self.berlin).planned
        let away = planner.plan(at: Self.now, in: tokyo).planned
        #expect(Set(home.map(\.id)) == Set(away.map(\.id)))
        #expect(home.first { $0.entity == "a" }?.at != away.first { $0.entity == "a" }?.at)
        let requests = Set(home.map { ReminderRequest($0, sort: "goal", in: Self.berlin) })
        #expect(requests == Set(away.map { ReminderRequest($0, sort: "goal", in: tokyo) }))
        #expect(planner.plan(at: Self.now, in: Self.berlin).planned == home)
    }

    @Test("a forecast shows what would ring, what has no place, and what is wrong")
    func forecast() {
        var forecast = ReminderForecast()
        let wrong = forecast.set([
            RemindedEntity(
                id: "a",
                reminders: [
                    Self.reminder("hourly", Self.hourly),
                    Self.reminder("none", Schedule(.daily, at: [])),
                ]),
            RemindedEntity(id: "b", reminders: [Self.reminder("yearly", Self.once(7, 1))]),
        ])
        #expect(wrong.map(\.reminder) == ["none"] && wrong.first?.error.code == .malformed)
        let next = forecast.next(at: Self.now, in: Self.berlin)
        #expect(next.count == 60 && next.first?.at == Self.now.advanced(by: .seconds(3_600)))
        #expect(next.map(\.hasPlace) == Array(repeating: true, count: 59) + [false])
        #expect(forecast.guaranteedUntil(at: Self.now, in: Self.berlin) == next.last?.at)
        forecast.remove("a")
        #expect(forecast.next(at: Self.now, in: Self.berlin).map(\.entity) == ["b"])
        #expect(forecast.guaranteedUntil(at: Self.now, in: Self.berlin) == nil)
    }
}
