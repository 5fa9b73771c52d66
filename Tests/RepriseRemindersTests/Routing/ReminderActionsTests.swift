import Foundation
import RepriseCore
import RepriseJournal
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Actions of notifications")
struct ReminderActionsTests {
    private static let info =
        #"{"reprise":{"v":2,"sort":"goal","id":"g","part":"q","reminder":"r","at":"2026-11-21T07:30"}}"#
    private static let goal = Entity(
        id: "g", title: "Read", parts: [.init(id: "q", title: "Pages?")])

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func feature(
        _ store: ScriptedStore, timekeeper: (any Timekeeper)? = nil
    ) async throws -> RoutingFixture {
        try await RoutingFixture(in: folder, store, timekeeper: timekeeper, ui: false) {
            configuration in
            configuration.zone = { TimeZone(secondsFromGMT: 0) ?? .current }
            configuration.actions = [
                ReminderActionRule(
                    "log", category: "goal", title: "Log…", does: .log, asksForText: true),
                ReminderActionRule("yes", category: "goal", title: "Yes", does: .log),
                ReminderActionRule(
                    "later", category: "goal", title: "Later", does: .snooze(.seconds(600))),
                ReminderActionRule("skip", category: "goal", title: "Not today", does: .skipToday),
                ReminderActionRule("pause", category: "goal", title: "Pause", does: .pause),
                ReminderActionRule("show", category: "goal", title: "Show", does: .open),
                ReminderActionRule("yes", category: "other", title: "Yes", does: .pause),
            ]
        }
    }

    private func act(
        _ action: NotificationResponse.Action, info: String = Self.info, category: String = "goal"
    ) -> NotificationResponse {
        tap("a", at: 1_800_000_000_000, info: info, category: category, action: action)
    }

    @Test("An answer and a pause go to the store without a screen, with what the store has now")
    func store() async throws {
        let store = ScriptedStore(Self.goal)
        let feature = try await feature(store)
        let log = try await feature.reminders.received(act(.text("log", answer: "12")))
        let yes = try await feature.reminders.received(act(.button("yes")))
        let pause = try await feature.reminders.received(
            tap("b", info: Self.info, category: "other", action: .button("yes")))
        try await feature.ended(log, .applied, "logged")
        try await feature.ended(yes, .applied, "logged")
        try await feature.ended(pause, .applied, "paused")
        func command(_ id: EntryID, _ action: ReminderCommand.Action) -> ReminderCommand {
            ReminderCommand(
                id: id, action: action, entity: Self.goal, part: "q",
                occurrence: "2026-11-21T07:30")
        }
        #expect(
            Set(store.commands)
                == [command(log, .log("12")), command(yes, .log("yes")), command(pause, .pause)])
        #expect(try await feature.route(log).resolution == "active")
        await feature.journal.close()
    }

    @Test("A snooze and a skip are marks, counted from when they were chosen")
    func marks() async throws {
        let time = ManualClock(milliseconds: 1_800_000_000_000)
        let feature = try await feature(ScriptedStore(Self.goal), timekeeper: time)
        // The other way round the skipped day would end the snooze.
        let skip = try await feature.reminders.received(act(.button("skip")))
        try await feature.ended(skip, .applied, "skipped")
        let later = try await feature.reminders.received(act(.button("later")))
        try await feature.ended(later, .applied, "snoozed")
        #expect(
            try await feature.marks() == [
                "g  2027-01-15 skip 1800057600000",
                "g r 2026-11-21T07:30 snooze 1800000600000",
            ])
        await feature.journal.close()
    }

    @Test(
        "A skip ends what was snoozed before it was chosen, and not what was snoozed since, whichever is done first",
        arguments: ["skip", "later"])
    func lastWord(first: String) async throws {
        let time = ManualClock(milliseconds: 1_800_000_000_000)
        let feature = try await RoutingFixture(in: folder, nil, timekeeper: time) { configuration in
            configuration.zone = { TimeZone(secondsFromGMT: 0) ?? .current }
            configuration.actions = [
                ReminderActionRule(
                    "later", category: "goal", title: "Later", does: .snooze(.seconds(600))),
                ReminderActionRule("skip", category: "goal", title: "Not today", does: .skipToday),
            ]
        }
        // The first is chosen on a notification, and waits until the app's store is loaded.
        let action = try await feature.reminders.received(act(.button(first)))
        time.advance(by: .seconds(60))
        let isSkipFirst = first == "skip"
        if isSkipFirst {
            try await feature.reminders.snooze(
                "g", reminder: "r", occurrence: "2026-11-21T07:30", for: .seconds(1_200))
        } else {
            try await feature.reminders.skipToday("g")
        }
        await feature.reminders.routingStarted(ScriptedStore(Self.goal))
        await feature.journal.setReady(.store)
        try await feature.ended(action, .applied, isSkipFirst ? "skipped" : "snoozed")
        let skip = "g  2027-01-15 skip 1800057600000"
        #expect(
            try await feature.marks()
                == (isSkipFirst
                    ? [skip, "g r 2026-11-21T07:30 snooze 1800001260000"] : [skip]))
        await feature.journal.close()
    }

    @Test("A snooze that is done only after its time leaves the occurrence its own")
    func lateSnooze() async throws {
        let time = ManualClock(milliseconds: 1_800_000_000_000)
        let feature = try await RoutingFixture(in: folder, nil, timekeeper: time) { configuration in
            configuration.actions = [
                ReminderActionRule(
                    "later", category: "goal", title: "Later", does: .snooze(.seconds(600)))
            ]
        }
        let action = try await feature.reminders.received(act(.button("later")))
        time.advance(by: .seconds(601))
        await feature.reminders.routingStarted(ScriptedStore(Self.goal))
        await feature.journal.setReady(.store)
        try await feature.ended(action, .applied, "snoozed")
        #expect(try await feature.marks().isEmpty)
        await feature.journal.close()
    }

    @Test("A calendar that is set while the app's store is asked makes no snooze last for years")
    func calendarBeforeCommit() async throws {
        let time = ManualClock(milliseconds: 1_800_000_000_000)
        let store = ScriptedStore { _ in
            time.setWall(milliseconds: 1_700_000_000_000)
            return .found(Self.goal)
        }
        let feature = try await feature(store, timekeeper: time)
        let later = try await feature.reminders.received(act(.button("later")))
        try await feature.ended(later, .applied, "snoozed")
        #expect(
            try await feature.marks()
                == ["g r 2026-11-21T07:30 snooze \(time.now.milliseconds + 600_000)"])
        await feature.journal.close()
    }

    @Test("A calendar that is set just before a snooze is written down does not move it away")
    func calendarBeforeMark() async throws {
        let time = ManualClock(milliseconds: 1_800_000_000_000)
        let feature = try await feature(ScriptedStore(Self.goal), timekeeper: time)
        time.jumpWallAfterLook(by: .seconds(-3 * 365 * 86_400))
        try await feature.reminders.snooze(
            "g", reminder: "r", occurrence: "2026-11-21T07:30", for: .seconds(600))
        try await feature.journal.write { _ in }
        #expect(
            try await feature.marks()
                == ["g r 2026-11-21T07:30 snooze \(time.now.milliseconds + 600_000)"])
        await feature.journal.close()
    }

    @Test("Of two snoozes of one occurrence the later counts, whichever is done first")
    func laterSnooze() async throws {
        let time = ManualClock(milliseconds: 1_800_000_000_000)
        let feature = try await RoutingFixture(in: folder, nil, timekeeper: time) { configuration in
            configuration.actions = [
                ReminderActionRule(
                    "later", category: "goal", title: "Later", does: .snooze(.seconds(600)))
            ]
        }
        let action = try await feature.reminders.received(act(.button("later")))
        time.advance(by: .seconds(60))
        try await feature.reminders.snooze(
            "g", reminder: "r", occurrence: "2026-11-21T07:30", for: .seconds(1_200))
        await feature.reminders.routingStarted(ScriptedStore(Self.goal))
        await feature.journal.setReady(.store)
        try await feature.ended(action, .applied, "snoozed")
        #expect(
            try await feature.marks() == ["g r 2026-11-21T07:30 snooze 1800001260000"])
        await feature.journal.close()
    }

    @Test("A store that throws is given the command again, and one that has it is not")
    func exactlyOnce() async throws {
        let store = ScriptedStore(Self.goal)
        // It takes effect, and the answer is lost.
        store.applies { command in
            store.store(command)
            throw RepriseError(.diskFailed, "The disk.")
        }
        let first = try await feature(store)
        let id = try await first.reminders.received(act(.text("log", answer: "12")))
        try await first.ended(id, .applied, "logged")
        #expect(store.commands.count == 1)
        #expect(store.finds >= 2)
        await first.journal.close()
    }

    @Test("Killed before its effect, it is done at the next launch")
    func killed() async throws {
        let first = try await RoutingFixture(in: folder, nil) { configuration in
            configuration.actions = [
                ReminderActionRule("log", category: "goal", title: "Log", does: .log)
            ]
        }
        let id = try await first.reminders.received(act(.text("log", answer: "12")))
        try await first.kill()
        let store = ScriptedStore(Self.goal)
        let feature = try await feature(store)
        try await feature.ended(id, .applied, "logged")
        #expect(store.commands.map(\.id) == [id])
        await feature.journal.close()
    }

    @Test(
        "On a test reminder nothing is done",
        arguments: ["yes", "later", "skip", "pause"])
    func test(action: String) async throws {
        let store = ScriptedStore(Self.goal)
        let feature = try await feature(store)
        let info = Self.info.replacingOccurrences(of: "\"v\":2", with: "\"v\":2,\"test\":true")
        let id = try await feature.reminders.received(act(.button(action), info: info))
        try await feature.ended(id, .applied, "test")
        #expect(store.commands.isEmpty)
        #expect(try await feature.marks().isEmpty)
        await feature.journal.close()
    }

    @Test(
        "An action is applied by its entity's state at that time",
        arguments: [
            (.found(paused), .applied, "logged", "paused"),
            (.replaced(by: goal), .applied, "logged", "superseded"),
            (.deleted(when: nil), .dead, "deleted: ", "deleted"),
            (.unknown, .dead, "missing: ", "missing"),
        ] as [(EntityFinding, Outcome, String, String)])
    func states(
        finding: EntityFinding, outcome: Outcome, reason: String, resolution: String
    ) async throws {
        let store = ScriptedStore { _ in finding }
        let feature = try await feature(store)
        let id = try await feature.reminders.received(act(.text("log", answer: "12")))
        try await feature.ended(id, outcome, reason)
        #expect(try await feature.route(id).resolution == resolution)
        #expect(store.commands.count == (outcome == .applied ? 1 : 0))
        await feature.journal.close()
    }

    private static var paused: Entity {
        var goal = goal
        goal.state = .paused
        return goal
    }

    @Test("A payload that cannot be read is a dead letter with its reason")
    func malformed() async throws {
        let feature = try await feature(ScriptedStore(Self.goal))
        let id = try await feature.reminders.received(act(.button("yes"), info: "{}"))
        try await feature.ended(id, .dead, "malformed: ")
        await feature.journal.close()
    }

    @Test("An action that the store refuses for good is a dead letter at once")
    func permanent() async throws {
        let store = ScriptedStore(Self.goal)
        store.applies { _ in throw DispatchFailure.permanent("No such answer.") }
        let feature = try await feature(store)
        let id = try await feature.reminders.received(act(.text("log", answer: "?")))
        try await feature.ended(id, .dead, "No such answer.")
        await feature.journal.close()
    }

    @Test("A dismissal is recorded and does nothing")
    func dismissal() async throws {
        let feature = try await feature(ScriptedStore(Self.goal))
        let id = try await feature.reminders.received(act(.dismiss))
        try await feature.ended(id, .applied, "dismissed")
        await feature.journal.close()
    }

    @Test(
        "A button that opens the app, and one of which nobody knows what it does, are taps that name it",
        arguments: ["show", "of another version"])
    func taps(action: String) async throws {
        let feature = try await feature(ScriptedStore(Self.goal))
        try await feature.reminders.received(act(.button(action)))
        await feature.journal.setReady(.ui)
        var routes = feature.reminders.routes.makeAsyncIterator()
        let tap = try #require(await routes.next())
        #expect(tap.action == action && tap.source == .action)
        #expect(tap.reminder == "r" && tap.occurrence == "2026-11-21T07:30")
        await feature.journal.close()
    }

    @Test(
        "A snooze on a notification of an older version is of the reminder about the same question")
    func olderSnooze() async throws {
        let store = ScriptedStore(Self.goal)
        let schedule = Schedule(.daily, at: [TimeOfDay(7, 30)])
        store.reminds([
            RemindedEntity(
                id: "g",
                reminders: [
                    Reminder(id: "whole", schedule: schedule, title: "T"),
                    Reminder(id: "mine", part: "q", schedule: schedule, title: "T"),
                ])
        ])
        let time = ManualClock(milliseconds: 1_800_000_000_000)
        let feature = try await feature(store, timekeeper: time)
        let info = #"{"goalId":"g","questionId":"q"}"#
        let id = try await feature.reminders.received(act(.button("later"), info: info))
        try await feature.ended(id, .applied, "snoozed")
        #expect(
            try await feature.marks() == ["g mine 2027-01-15T08:00 snooze 1800000600000"])
        await feature.journal.close()
    }

    @Test(
        "Categories are made of the rules, and rules that cannot be used are refused",
        .limit("taps.rules", "taps.snooze"))
    func categories() throws {
        var configuration = Reminders.Configuration()
        configuration.actions = [
            ReminderActionRule("a", category: "x", title: "A", does: .log, asksForText: true),
            ReminderActionRule("b", category: "y", title: "B", does: .open),
            ReminderActionRule("c", category: "x", title: "C", does: .snooze(.seconds(60))),
            ReminderActionRule("dismiss", category: "y", title: "", does: .skipToday),
        ]
        try configuration.check()
        #expect(
            configuration.categories == [
                NotificationCategory(
                    id: "x",
                    actions: [
                        .init(id: "a", title: "A", asksForText: true), .init(id: "c", title: "C"),
                    ]),
                NotificationCategory(
                    id: "y", actions: [.init(id: "b", title: "B", opensApp: true)],
                    reportsDismissal: true),
            ])
        for bad in [
            ReminderActionRule("a", category: "x", title: "A", does: .pause),
            ReminderActionRule("", category: "x", title: "A", does: .pause),
            ReminderActionRule("s", category: "x", title: "A", does: .snooze(.seconds(1))),
        ] {
            var wrong = configuration
            wrong.actions.append(bad)
            expectError(.badConfiguration) { try wrong.check() }
        }
        configuration.actions = (0..<65).map {
            ReminderActionRule("r\($0)", category: "c\($0)", title: "R", does: .log)
        }
        expectError(.badConfiguration) { try configuration.check() }
        configuration.actions.removeLast()
        try configuration.check()
    }
}
