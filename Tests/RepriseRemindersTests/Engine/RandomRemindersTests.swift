import Foundation
import RepriseCore
import RepriseReminders
import RepriseTesting
import Testing

/// Whatever is done to the app's store, the clocks and the permission, and wherever the app is
/// killed: what is pending is what should be.
///
/// `REPRISE_REMINDERS_OPERATIONS=10000` for the long run, `REPRISE_REMINDERS_SEED` for another one.
@Suite("The reminders feature, at random", .serialized)
struct RandomRemindersTests {
    private static func setting(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap(Int.init)
    }

    @Test(
        "After any sequence of random operations with kills, pending is what should be within one reconciliation, and nothing is an orphan",
        arguments: MemoryNotifications.BeyondLimit.allCases)
    func random(beyond: MemoryNotifications.BeyondLimit) async throws {
        let operations = Self.setting("REPRISE_REMINDERS_OPERATIONS") ?? 400
        let seed = UInt64(Self.setting("REPRISE_REMINDERS_SEED") ?? 7)
        let run = try RandomReminders(seed: seed, beyond: beyond)
        try await run.play(operations)
        print(
            "reminders at random, seed \(seed): \(operations) operations, \(run.kills) kills "
                + "(\(run.deaths) between two changes), \(run.checks) comparisons, "
                + "\(run.stage.system.changes) changes, \(run.stage.system.rung.count) rung")
        #expect(run.deaths > 0)
    }
}

/// One run: the same operations on the app's store and on the model.
final class RandomReminders {
    let stage: RemindersFixture
    private var model = PlanModel()
    private var random: SeededGenerator
    private var process: RemindersProcess?
    private var nextName = 0
    private var nextMinute = 0
    private(set) var kills = 0
    private(set) var deaths = 0
    private(set) var checks = 0
    private var log: [String] = []

    private static let zones: [(name: String, offset: Int)] = [
        ("GMT", 0), ("Etc/GMT-3", 10_800), ("Etc/GMT+5", -18_000), ("Etc/GMT-11", 39_600),
    ]

    init(seed: UInt64, beyond: MemoryNotifications.BeyondLimit) throws {
        random = SeededGenerator(seed: seed)
        stage = try RemindersFixture(beyond: beyond)
    }

    func play(_ operations: Int) async throws {
        try await live()
        for index in 0..<operations {
            try await operate()
            if random.chance(0.25) { try await process?.quiet() }
            if process?.connection.isDead == true { try await die() }
            if index % 10 == 9 { try await compare() }
        }
        try await compare()
        try await process?.kill()
    }

    // MARK: Life and death

    private func live() async throws {
        process = try await stage.open(dyingAfter: random.chance(0.7) ? random.below(40) + 1 : nil)
    }

    private func die() async throws {
        kills += 1
        if process?.connection.isDead == true { deaths += 1 }
        try await process?.kill()
        try await live()
    }

    /// Faults are over, and one survey may do its work, unless its process dies in it: then the
    /// next one's first.
    private func compare() async throws {
        stage.system.fail(nil)
        stage.store.with { $0.readFailures = 0 }
        stage.time.advance(by: .seconds(61))
        process?.reminders.reconciliation()
        checks += 1
        var desired: Set<PlanModel.Ring> = []
        var found: Set<PlanModel.Ring> = []
        let deadline = ContinuousClock.now + .seconds(60)
        repeat {
            try await survey()
            model.now = Int(stage.time.now.milliseconds / 1_000)
            model.foreign = stage.system.pending.count - ours.count
            desired = model.desired
            found = try Set(ours.map(ring))
            guard desired != found else { return }
            // A change of the store may still be on its way through the stream.
            try await Task.sleep(for: .milliseconds(5))
        } while ContinuousClock.now < deadline
        let missing = desired.subtracting(found).sorted()
        let extra = found.subtracting(desired).sorted()
        let diagnostics = await process?.reminders.diagnostics
        Issue.record(
            """
            missing \(missing.prefix(4)), extra \(extra.prefix(4)) of \(desired.count) and \(found.count) \
            at \(model.now); last: \(log.suffix(12)); \(String(describing: diagnostics))
            """)
        throw CancellationError()
    }

    private func survey() async throws {
        try await process?.quiet()
        while process?.connection.isDead == true {
            try await die()
            process?.reminders.reconciliation()
            try await process?.quiet()
        }
    }

    private var ours: [NotificationRequest] {
        stage.system.pending.filter { $0.id.hasPrefix("reprise.reminder.") }
    }

    private func ring(_ request: NotificationRequest) throws -> PlanModel.Ring {
        let json = try JSONSerialization.jsonObject(with: Data(request.content.info))
        let info = try #require((json as? [String: Any])?["reprise"] as? [String: Any])
        let due = stage.system.due[request.id]?.milliseconds ?? -1
        return PlanModel.Ring(
            at: Int(due / 1_000), entity: info["id"] as? String ?? "",
            rule: info["reminder"] as? String ?? "", local: info["at"] as? String ?? "",
            title: request.content.title)
    }

    // MARK: Operations

    private func operate() async throws {
        model.now = Int(stage.time.now.milliseconds / 1_000)
        switch random.below(100) {
        case 0..<16: note("create"); put(name(), thing())
        case 16..<26: edit()
        case 26..<32: pauseOrResume()
        case 32..<38: delete()
        case 38..<40: importAll(renaming: false)
        case 40..<42: importAll(renaming: true)
        case 42..<44: bulk()
        case 44..<52: try await snooze()
        case 52..<56: try await skip()
        case 56..<58: try await test()
        case 58..<62: permission()
        case 62..<74: advance()
        case 74..<78: jump()
        case 78..<82: travel()
        case 82..<86: fault()
        case 86..<88: foreign()
        case 88..<92: note("life"); await life()
        default: note("kill"); try await die()
        }
    }

    private func note(_ what: String) { log.append(what) }

    private func name() -> String {
        nextName += 1
        return "goal-\(nextName)"
    }

    private func rule(_ id: String) -> PlanModel.Rule {
        nextMinute += 1
        let today = model.day(of: model.now, 0)
        let days: PlanModel.Days =
            switch random.below(12) {
            case 0..<5: .daily
            case 10...: .monthly(random.below(31) + 1)
            case 5..<7: .weekly(Set((0..<2).map { _ in random.below(7) + 1 }))
            case 7..<9: .every(random.below(4) + 2, from: today - random.below(9))
            default: .once(today + random.below(20))
            }
        // No two of them at the same moment, wherever: the minute 59 is that of the fixed zone.
        let isFixed = nextMinute % 12 == 0
        return PlanModel.Rule(
            id: id, title: "\(id) \(nextMinute)", days: days, hour: nextMinute / 59 % 24,
            minute: isFixed ? 59 : nextMinute % 59, fixed: isFixed ? 10_800 : nil)
    }

    private func thing() -> PlanModel.Thing {
        PlanModel.Thing(rules: (0...random.below(3)).map { rule("r\($0)") })
    }

    private func put(_ id: String, _ thing: PlanModel.Thing) {
        model.things[id] = thing
        stage.store.put(id, thing.rules.map(reminder), state: thing.isActive ? .active : .paused)
    }

    private func reminder(_ rule: PlanModel.Rule) -> Reminder {
        func date(_ days: Int) -> LocalDate {
            let date = PlanModel.civil(days)
            return LocalDate(date.year, date.month, date.day)
        }
        let days: Schedule.Days =
            switch rule.days {
            case .daily: .daily
            case .weekly(let days): .weekly(on: Set(days.compactMap(Weekday.init)))
            case .every(let count, let from): .every(days: count, from: date(from))
            case .once(let day): .once(date(day))
            case .monthly(let number): .monthly(on: [.day(number), .nth(-1, .friday)])
            }
        return Reminder(
            id: rule.id,
            schedule: Schedule(
                days, at: [TimeOfDay(rule.hour, rule.minute)],
                zone: rule.fixed == nil ? .device : .fixed("Etc/GMT-3")),
            title: rule.title)
    }

    private func any() -> String? {
        model.things.isEmpty ? nil : random.element(model.things.keys.sorted())
    }

    private func edit() {
        guard let id = any(), var thing = model.things[id] else { return }
        note("edit \(id)")
        let index = random.below(thing.rules.count)
        if random.chance(0.5) {
            nextMinute += 1
            thing.rules[index].title = "edited \(nextMinute)"
        } else {
            thing.rules[index] = rule(thing.rules[index].id)
        }
        put(id, thing)
    }

    private func pauseOrResume() {
        guard let id = any() else { return }
        note("pause \(id)")
        model.things[id]?.isActive.toggle()
        stage.store.set(id, model.things[id]?.isActive == true ? .active : .paused)
    }

    private func delete() {
        guard let id = any() else { return }
        note("delete \(id)")
        model.things[id] = nil
        stage.store.delete(id)
    }

    private func importAll(renaming: Bool) {
        note("import \(renaming)")
        var things: [String: PlanModel.Thing] = [:]
        for (id, former) in model.things.sorted(by: { $0.key < $1.key }) where random.chance(0.8) {
            things[renaming ? name() : id] = random.chance(0.5) ? former : thing()
        }
        replace(things)
    }

    private func bulk() {
        note("bulk")
        var things = model.things
        let isDeletion = random.chance(0.4)
        for id in things.keys.sorted() where random.chance(0.5) {
            if isDeletion { things[id] = nil } else { things[id]?.isActive = random.chance(0.5) }
        }
        replace(things)
    }

    private func replace(_ things: [String: PlanModel.Thing]) {
        model.things = things
        let all = things.map { id, thing in
            StoreInMemory.Thing(
                entity: Entity(id: id, title: id, state: thing.isActive ? .active : .paused),
                reminders: thing.rules.map(reminder))
        }
        stage.store.change(.everything) { state in
            state.things = Dictionary(all.map { ($0.entity.id, $0) }) { first, _ in first }
        }
    }

    private func snooze() async throws {
        guard let id = any(), let rule = model.things[id]?.rules.first else { return }
        let seconds = (random.below(2_880) + 1) * 60 + 30
        let day = model.day(of: model.now, rule.fixed ?? model.offset)
        let local = PlanModel.text(day + random.below(2), rule.hour, rule.minute)
        note("snooze \(id) \(local) \(seconds)")
        let isBack = random.chance(0.2)
        do {
            if isBack {
                try await process?.reminders.unsnooze(id, reminder: rule.id, occurrence: local)
            } else {
                try await process?.reminders.snooze(
                    id, reminder: rule.id, occurrence: local, for: .seconds(seconds))
            }
        } catch let error as RepriseError where error.code == .full {
            return
        }
        model.snoozes.removeAll {
            $0.entity == id && $0.rule == rule.id && $0.occurrence == local
        }
        guard !isBack else { return }
        model.snoozes.append(
            .init(entity: id, rule: rule.id, occurrence: local, until: model.now + seconds))
    }

    private func skip() async throws {
        guard let id = any() else { return }
        let rule = random.chance(0.5) ? "" : "r0"
        note("skip \(id) \(rule)")
        try await process?.reminders.skipToday(id, reminder: rule.isEmpty ? nil : rule)
        let day = model.day(of: model.now, model.offset)
        let mark = PlanModel.Mark(
            entity: id, rule: rule, occurrence: "\(day)",
            until: (day + 1) * 86_400 - model.offset)
        model.skips.removeAll {
            $0.entity == id && $0.rule == rule && $0.occurrence == mark.occurrence
        }
        model.skips.append(mark)
        model.snoozes.removeAll {
            $0.entity == id && (rule.isEmpty || $0.rule == rule) && $0.until < mark.until
        }
    }

    private func test() async throws {
        let id = any() ?? "nothing"
        let seconds = (random.below(120) + 1) * 60
        note("test \(id)")
        nextMinute += 1
        let reminder = Reminder(
            id: "try", schedule: Schedule(.daily, at: [TimeOfDay(0, 0)]),
            title: "test \(nextMinute)")
        try await process?.reminders.test(reminder, of: id, after: .seconds(seconds))
        let names: [String]? = try await process?.rows(
            "SELECT occurrence FROM reminderMark WHERE reminderJSON LIKE '%test \(nextMinute)\"%'")
        let name = try #require(names?.first)
        let mark = PlanModel.Mark(
            entity: id, rule: "try", occurrence: name, until: model.now + seconds)
        model.tests.append((mark, reminder.title))
    }

    private func permission() {
        let authorization = random.element(
            NotificationSettings.Authorization.allCases + [.authorized])
        note("\(authorization)")
        model.isAllowed = authorization == .authorized || authorization == .provisional
        stage.system.allow(authorization)
    }

    private func advance() {
        let minutes = random.chance(0.1) ? random.below(8 * 1_440) : random.below(600)
        note("advance \(minutes)")
        stage.time.advance(by: .seconds(minutes * 60))
        model.now += minutes * 60
        forget()
    }

    /// What is over by now stays over, whatever the calendar does then.
    private func forget() {
        let now = model.now
        let week = PlanModel.week
        model.snoozes.removeAll { $0.until + week <= now }
        model.tests.removeAll { $0.mark.until <= now }
        model.mayBeForgotten = max(
            model.mayBeForgotten,
            model.skips.filter { $0.until + week <= now }.map(\.until).max() ?? .min)
        model.skips.removeAll { $0.until + week <= now }
    }

    /// What is put off by an hour rings an hour later, whatever the calendar says.
    private func jump() {
        let hours = random.element([-72, -26, -3, 2, 5, 30, 100])
        // Whether a survey has already forgotten a day of more than a week ago is its own affair.
        guard model.now + hours * 3_600 >= model.mayBeForgotten else { return }
        note("jump \(hours)")
        stage.time.jumpWall(by: .seconds(hours * 3_600))
        for index in model.snoozes.indices { model.snoozes[index].until += hours * 3_600 }
        for index in model.tests.indices { model.tests[index].mark.until += hours * 3_600 }
        model.now += hours * 3_600
        forget()
    }

    private func travel() {
        let zone = random.element(Self.zones)
        note("travel \(zone.name)")
        guard let place = TimeZone(identifier: zone.name) else { return }
        model.offset = zone.offset
        stage.travel(to: place)
    }

    private func fault() {
        note("fault")
        if random.chance(0.5) {
            let count = random.below(3) + 1
            stage.store.with { $0.readFailures = count }
        } else {
            stage.system.fail(RepriseError(.unreachable, "The system does not answer."))
        }
    }

    private func foreign() {
        note("foreign")
        let system = stage.system
        let name = "mine-\(random.below(12))"
        // Far away, so that it is there until the end.
        system.plant(
            NotificationRequest(
                id: name, content: NotificationContent(title: "The app's own"),
                trigger: .after(seconds: 5e8, repeats: false)))
    }

    private func life() async {
        if random.chance(0.5) {
            await process?.reminders.background(granted: .zero)
        } else {
            await process?.reminders.foreground()
        }
    }
}
