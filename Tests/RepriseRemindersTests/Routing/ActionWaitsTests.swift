import Foundation
import RepriseCore
import RepriseJournal
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Testing

/// The system suspends an app in the background when it is told that a button was taken.
@Suite("A button is taken when its effect is there")
struct ActionWaitsTests {
    private static let info =
        #"{"reprise":{"v":2,"sort":"goal","id":"a","reminder":"x","at":"2027-01-15T07:30"}}"#
    private static let goal = Entity(id: "a", title: "Read")
    private static let rules = [
        ReminderActionRule("log", category: "goal", title: "Log…", does: .log),
        ReminderActionRule("later", category: "goal", title: "Later", does: .snooze(.seconds(600))),
        ReminderActionRule("skip", category: "goal", title: "Not today", does: .skipToday),
    ]

    private func press(_ name: String) -> NotificationResponse {
        tap("a", info: Self.info, category: "goal", action: .button(name))
    }

    private func feature(
        _ folder: TemporaryFolder, _ store: (any ReminderStore)?,
        timekeeper: (any Timekeeper)? = nil
    ) async throws -> RoutingFixture {
        try await RoutingFixture(
            in: folder, store, timekeeper: timekeeper,
            actionTimeout: .seconds(RouteLimits.actionSeconds)
        ) { configuration in
            configuration.actions = Self.rules
        }
    }

    @Test(
        "The pending requests are right when an action's call returns", .limit("taps.firstTap"),
        arguments: ["later", "skip"])
    func rings(button: String) async throws {
        let stage = try RemindersFixture()
        let schedule = Schedule(.daily, at: [TimeOfDay(9, 0)])
        stage.store.put("a", [Reminder(id: "x", schedule: schedule, title: "Read")])
        // Nobody moves the clock: it does not return because it has waited long enough.
        let app = try await stage.open { $0.actions = Self.rules }
        await app.journal.setReady(.journal)
        try await app.reminders.received(press(button))
        let first = stage.system.due.values.min()
        let expected: Int64 = button == "later" ? 600 : 25 * 3_600
        #expect(first == stage.time.now.advanced(by: .seconds(expected)))
        await app.close()
    }

    @Test("Pressed before the feature runs, it is taken when the feature has done it")
    func early() async throws {
        let folder = try TemporaryFolder()
        let time = ManualClock(milliseconds: 1_800_000_000_000)
        let feature = try await feature(folder, nil, timekeeper: time)
        let pressed = Task { try await feature.reminders.received(press("log")) }
        let id = press("log").tapID
        try await eventually("it is recorded") { try await feature.entry(id) != nil }
        let store = ScriptedStore(Self.goal)
        await feature.reminders.routingStarted(store)
        await feature.journal.setReady(.store)
        #expect(try await pressed.value == id)
        #expect(store.commands.map(\.id) == [id])
        await feature.journal.close()
    }

    @Test(
        "If the feature never runs, an action's call returns after ten seconds, and the action stays recorded",
        .limit("taps.effect"))
    func bounded() async throws {
        let folder = try TemporaryFolder()
        let time = ManualClock(milliseconds: 1_800_000_000_000)
        let feature = try await feature(folder, nil, timekeeper: time)
        let isOver = StateBroadcaster(false)
        let pressed = Task {
            defer { isOver.announce(true) }
            return try await feature.reminders.received(press("log"))
        }
        let id = press("log").tapID
        try await eventually("it is recorded") { try await feature.entry(id) != nil }
        let due = time.uptime() + .seconds(10)
        try await eventually("it waits for ten seconds") { time.sleepers.contains(due) }
        #expect(!isOver.value)
        time.advance(by: .seconds(10))
        try await eventually("it waits no more") { isOver.value }
        #expect(try await pressed.value == id)
        #expect(try await feature.entry(id)?.state == .pending)
        await feature.journal.close()
    }

    @Test("A store that throws is waited for until it does not")
    func throwing() async throws {
        let folder = try TemporaryFolder()
        let store = ScriptedStore(Self.goal)
        store.applies { _ in
            store.applies { _ in }
            throw RepriseError(.diskFailed, "The disk.")
        }
        let feature = try await feature(folder, store)
        let id = try await feature.reminders.received(press("log"))
        #expect(try await feature.entry(id)?.state == .finished(.applied))
        #expect(store.commands.map(\.id) == [id])
        await feature.journal.close()
    }

    @Test(
        "By a second path, after it was done, it is taken at once; so is one that can never be done"
    )
    func again() async throws {
        let folder = try TemporaryFolder()
        let time = ManualClock(milliseconds: 1_800_000_000_000)
        let feature = try await feature(folder, ScriptedStore(Self.goal), timekeeper: time)
        let first = try await feature.reminders.received(press("log"))
        #expect(try await feature.reminders.received(press("log")) == first)
        let broken = try await feature.reminders.received(
            tap("b", info: "{}", category: "goal", action: .button("log")))
        #expect(try await feature.entry(broken)?.state == .finished(.dead))
        await feature.journal.close()
    }

    @Test(
        "Eight waits that were given up and do not come back are the most: no other is begun",
        .limit("taps.effectsLeft"))
    func givenUp() async throws {
        let folder = try TemporaryFolder()
        let time = ManualClock(milliseconds: 1_800_000_000_000)
        let feature = try await feature(folder, nil, timekeeper: time)
        // The disk takes what is written, and answers nobody who reads.
        let isStuck = StateBroadcaster(true)
        let journal = feature.journal
        let stuck = Seen<Void>()
        let readers = (0..<16).map { _ in
            Task {
                try await journal.read { _ in
                    stuck.add(())
                    while isStuck.value { usleep(1_000) }
                }
            }
        }
        // JournalDatabase has as many connections for readers.
        try await eventually("none is left") { stuck.count == 4 }
        for number in 1...9 {
            let response = tap(
                "\(number)", info: Self.info, category: "goal", action: .button("log"))
            let isOver = StateBroadcaster(false)
            Task {
                _ = try await feature.reminders.received(response)
                isOver.announce(true)
            }
            try await eventually("\(number) is taken") {
                // For the ninth nobody moves the clock.
                if number < 9 { time.advance(by: .seconds(1)) }
                return isOver.value
            }
        }
        isStuck.announce(false)
        for reader in readers { try await reader.value }
        await feature.journal.close()
    }
}
