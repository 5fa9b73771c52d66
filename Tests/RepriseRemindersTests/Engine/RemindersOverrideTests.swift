import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("The reminders feature, and what a person says about one of them")
struct RemindersOverrideTests {
    private let stage: RemindersFixture

    init() throws { stage = try RemindersFixture() }

    @Test(
        "A snooze whose stored time is damaged is left out, and its reminder rings at its own time",
        arguments: [Int64.max, .min])
    func damagedTime(until: Int64) async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        let feature = try await stage.open()
        try await feature.quiet()
        try await feature.journal.write { db in
            try db.execute(
                sql: """
                    INSERT INTO reminderMark
                    VALUES ('a', 'x', '2027-01-15T09:00', 'snooze', ?, NULL, NULL)
                    """, arguments: [until])
        }
        feature.reminders.reconciliation()
        try await feature.quiet()
        stage.time.advance(by: .seconds(3_600))
        #expect(stage.system.rung.count == 1)
        await feature.close()
    }

    @Test("What is said at the end of the calendar ends no process")
    func endOfTime() throws {
        let end = WallTime(milliseconds: .max)
        let snooze = try ReminderOverride.snooze(
            "a", reminder: "x", occurrence: "2027-01-15T09:00", for: .seconds(60), at: end)
        #expect(snooze.rings == end)
        let skip = ReminderOverride.skipOfToday("a", reminder: nil, at: end, in: .gmt)
        #expect(skip.occurrence == "9999-12-31")
    }

    @Test("A reminder that was past in a new time zone rings if the calendar is set back")
    func pastByTravel() async throws {
        stage.store.put("a", [.once("x", LocalDate(2027, 1, 15), 9, 0)])
        var feature = try await stage.open()
        try await feature.quiet()
        // Nobody is there to take it back.
        try await feature.kill()
        let east = try #require(TimeZone(identifier: "Etc/GMT-3"))
        stage.travel(to: east)
        #expect(stage.system.pending.count == 1 && stage.system.due.isEmpty)
        stage.time.jumpWall(by: .seconds(-3 * 3_600))
        feature = try await stage.open()
        try await feature.quiet()
        stage.time.advance(by: .seconds(2 * 3_600))
        #expect(stage.system.rung.count == 1)
        await feature.close()
    }

    @Test("A snooze rings then, a skipped day does not ring, and what is over is forgotten")
    func marks() async throws {
        stage.store.put("a", [.daily("x", 9, 0), .daily("y", 20, 0)])
        let feature = try await stage.open()
        try await feature.quiet()
        stage.time.advance(by: .seconds(3_600))
        try await feature.reminders.snooze(
            "a", reminder: "x", occurrence: "2027-01-15T09:00", for: .seconds(600))
        try await feature.reminders.skipToday("a", reminder: "y")
        try await feature.quiet()
        let soonest = try #require(stage.system.pending.first)
        #expect(stage.system.due[soonest.id] == stage.time.now.advanced(by: .seconds(600)))
        stage.time.advance(by: .seconds(601))
        #expect(stage.system.rung.count == 2)
        stage.time.advance(by: .seconds(14 * 3_600))
        #expect(stage.system.rung.count == 2)
        stage.time.advance(by: .seconds(86_400))
        #expect(stage.system.rung.count == 4)
        feature.reminders.reconciliation()
        try await feature.quiet()
        #expect(
            try await feature.rows("SELECT what FROM reminderMark ORDER BY 1")
                == ["skip", "snooze"])
        stage.time.advance(by: .seconds(7 * 86_400))
        feature.reminders.reconciliation()
        try await feature.quiet()
        #expect(try await feature.rows("SELECT COUNT(*) FROM reminderMark") == [0])
        await feature.close()
    }

    @Test("A snooze of an occurrence that is still ahead moves it: it rings then, and not again")
    func snoozeAhead() async throws {
        stage.store.put("a", [.once("x", LocalDate(2027, 1, 15), 9, 0)])
        let feature = try await stage.open()
        try await feature.reminders.snooze(
            "a", reminder: "x", occurrence: "2027-01-15T09:00", for: .seconds(600))
        try await feature.quiet()
        stage.time.advance(by: .seconds(601))
        #expect(stage.system.rung.count == 1)
        feature.reminders.reconciliation()
        try await feature.quiet()
        #expect(stage.system.pending.isEmpty)
        stage.time.advance(by: .seconds(3_600))
        #expect(stage.system.rung.count == 1)
        await feature.close()
    }

    @Test(
        "Skipping today removes earlier snoozes until later today, but not later ones"
    )
    func skipEndsSnoozes() async throws {
        stage.store.put("a", [.daily("x", 9, 0), .daily("y", 10, 0), .daily("z", 11, 0)])
        let feature = try await stage.open()
        func snooze(_ reminder: String, _ hours: Int64) async throws {
            try await feature.reminders.snooze(
                "a", reminder: reminder, occurrence: "2027-01-15T08:00",
                for: .seconds(hours * 3_600))
        }
        try await snooze("x", 2)
        try await snooze("y", 30)
        try await feature.reminders.skipToday("a")
        try await snooze("z", 3)
        try await feature.quiet()
        #expect(
            try await feature.rows(
                "SELECT reminder FROM reminderMark WHERE what = 'snooze' ORDER BY 1")
                == ["y", "z"])
        stage.time.advance(by: .seconds(2 * 3_600 + 1))
        #expect(stage.system.rung.isEmpty)
        stage.time.advance(by: .seconds(3_600))
        #expect(stage.system.rung.count == 1)
        await feature.close()
    }

    @Test(
        "A snooze that was said after the skip rings on that day, also when the calendar was set between"
    )
    func snoozeAfterSkip() async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        let feature = try await stage.open()
        try await feature.reminders.skipToday("a")
        stage.time.jumpWall(by: .seconds(-600))
        try await feature.reminders.snooze(
            "a", reminder: "x", occurrence: "2027-01-15T08:00", for: .seconds(7_200))
        try await feature.quiet()
        stage.time.advance(by: .seconds(7_201))
        #expect(stage.system.rung.count == 1)
        await feature.close()
    }

    @Test(
        "A day that was skipped is still skipped when the calendar is set back to it",
        .limit("reminders.skip"))
    func skippedDayComesAgain() async throws {
        stage.store.put("a", [.daily("y", 20, 0)])
        let feature = try await stage.open()
        try await feature.reminders.skipToday("a")
        try await feature.quiet()
        stage.time.advance(by: .seconds(30 * 3_600))
        feature.reminders.reconciliation()
        try await feature.quiet()
        let rung = stage.system.rung.count
        stage.time.jumpWall(by: .seconds(-30 * 3_600))
        feature.reminders.reconciliation()
        try await feature.quiet()
        let soonest = try #require(stage.system.pending.first)
        let due = try #require(stage.system.due[soonest.id])
        #expect(stage.time.now.duration(to: due) > .seconds(24 * 3_600))
        stage.time.advance(by: .seconds(16 * 3_600))
        #expect(stage.system.rung.count == rung)
        await feature.close()
    }

    @Test(
        "Skips of past days are removed to make room for a new mark, and no others",
        .limit("reminders.marks"))
    func roomForMarks() async throws {
        stage.store.put("a", [.daily("y", 20, 0)])
        let feature = try await stage.open()
        let past = stage.time.now.advanced(by: .seconds(-60)).milliseconds
        let later = stage.time.now.advanced(by: .seconds(86_400)).milliseconds
        try await feature.journal.write { db in
            for number in 0..<ReminderEngineLimits.marks {
                try db.execute(
                    sql:
                        "INSERT INTO reminderMark VALUES (?, '', '2027-01-14', 'skip', ?, NULL, NULL)",
                    arguments: ["\(number)", number < 10 ? past : later])
            }
        }
        try await feature.reminders.skipToday("a")
        #expect(try await feature.rows("SELECT COUNT(*) FROM reminderMark") == [991])
        for number in 0..<9 { try await feature.reminders.skipToday("b\(number)") }
        await expectError(.full) {
            try await feature.reminders.skipToday("c")
        }
        await feature.close()
    }

    @Test(
        "A snooze of an entity that is deleted meanwhile does not ring, and one that is taken back neither"
    )
    func snoozeOfNothing() async throws {
        stage.store.put("a", [.daily("x", 8, 0)])
        stage.store.put("b", [.daily("x", 8, 0)])
        let feature = try await stage.open()
        for id in ["a", "b"] {
            try await feature.reminders.snooze(
                id, reminder: "x", occurrence: "2027-01-15T08:00", for: .seconds(600))
        }
        try await feature.quiet()
        stage.store.delete("a")
        try await eventually("it has gone") {
            !stage.system.pending.contains { $0.content.thread == "a" }
        }
        try await feature.reminders.unsnooze("b", reminder: "x", occurrence: "2027-01-15T08:00")
        try await feature.quiet()
        stage.time.advance(by: .seconds(3_600))
        #expect(stage.system.rung.isEmpty)
        await feature.close()
    }

    @Test("A test reminder rings by the same way, says that it is one, and leaves nothing behind")
    func testReminder() async throws {
        let feature = try await stage.open()
        try await feature.reminders.test(
            .daily("x", 7, 0, title: "Try"), of: "a", after: .seconds(5))
        try await feature.quiet()
        #expect(stage.system.pending.map(\.content.title) == ["Try"])
        stage.time.advance(by: .seconds(6))
        let rung = try #require(stage.system.rung.first)
        #expect(
            String(decoding: rung.request.content.info, as: UTF8.self).contains(#""test":true"#))
        feature.reminders.reconciliation()
        try await feature.quiet()
        #expect(stage.system.delivered.count == 1)
        #expect(try await feature.rows("SELECT COUNT(*) FROM reminderMark") == [0])
        await feature.close()
    }

    @Test("A wait keeps its length when the calendar is set")
    func waits() async throws {
        stage.store.put("a", [.daily("x", 8, 0)])
        let feature = try await stage.open()
        try await feature.quiet()
        try await feature.reminders.snooze(
            "a", reminder: "x", occurrence: "2027-01-15T08:00", for: .seconds(7_200))
        try await feature.quiet()
        stage.time.jumpWall(by: .seconds(-86_400))
        feature.reminders.reconciliation()
        try await feature.quiet()
        let soonest = try #require(stage.system.pending.first)
        #expect(stage.system.due[soonest.id] == stage.time.now.advanced(by: .seconds(7_200)))
        await feature.close()
    }
}
