import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseReminders
import RepriseTesting
import Synchronization
import Testing

@Suite("The door for reminders")
struct DoorTests {
    private let stage: DoorStage

    init() throws { stage = try DoorStage() }

    private func titles(_ requests: [NotificationRequest]) -> [String] {
        requests.map(\.content.title).sorted()
    }

    @Test("What the store has at the start is pending, and the journal says what and until when")
    func start() async throws {
        stage.store.put("a", [.daily("morning", 9, 0, title: "Walk")])
        let door = try await stage.open()
        try await door.quiet()
        #expect(stage.system.pending.count == 60)
        #expect(stage.system.pending.allSatisfy { $0.content.title == "Walk" })
        let insight = await door.reminders.insight
        #expect(insight.state == .ready)
        #expect(insight.planned == 60 && insight.pending == 60 && insight.entities == 1)
        // 60 days at 9:00 from the 15th of January on: the 61st has no place.
        let end = WallTime(milliseconds: 1_800_000_000_000 + 60 * 86_400_000 + 3_600_000)
        #expect(insight.guaranteedUntil == end)
        let statuses: [String] = try await door.rows("SELECT DISTINCT status FROM reminderPlan")
        #expect(statuses == ["pending"])
        let guaranteed: [Int64] = try await door.rows("SELECT guaranteedUntil FROM reminderSurvey")
        #expect(guaranteed == [end.milliseconds])
        await door.close()
    }

    @Test(
        "Whatever takes an entity out of use takes its requests back, by the same path",
        arguments: ["pause", "delete", "bulk", "import", "edit"])
    func gone(how: String) async throws {
        stage.store.put("a", [.daily("x", 9, 0, title: "A")])
        stage.store.put("b", [.daily("x", 10, 0, title: "B")])
        let door = try await stage.open()
        try await door.quiet()
        switch how {
        case "pause": stage.store.set("a", .paused)
        case "delete": stage.store.delete("a")
        case "edit": stage.store.put("a", [])
        case "bulk": stage.store.change(.everything) { $0.things["a"] = nil }
        default:
            stage.store.change(.everything) { state in
                let former = state.things["a"]
                state.things["a"] = nil
                state.things["new"] = former
                state.things["new"]?.entity.id = "new"
                state.things["new"]?.reminders[0].title = "New"
            }
        }
        try await door.until("it is gone") {
            !stage.system.pending.contains { $0.content.title == "A" }
        }
        try await door.quiet()
        #expect(stage.system.pending.count == 60)
        if how == "import" {
            #expect(stage.system.pending.contains { $0.content.title == "New" })
        }
        await door.close()
    }

    @Test("A change of one entity reads that one alone, and changes what differs alone")
    func incremental() async throws {
        for index in 0..<20 { stage.store.put("g\(index)", [.daily("x", 9, index)]) }
        let door = try await stage.open()
        try await door.quiet()
        let (changes, reads) = (stage.system.changes, stage.store.reads.count)
        #expect(changes == 60)
        stage.store.put("g3", [.daily("x", 9, 3, title: "New")])
        try await door.until("it is replaced") {
            stage.system.pending.count { $0.content.title == "New" } == 3
        }
        try await door.quiet()
        #expect(stage.store.reads.suffix(from: reads) == [["g3"]])
        #expect(stage.system.changes == changes + 3)
        let insight = await door.reminders.insight
        #expect(insight.tally.added == 60 && insight.tally.replaced == 3)
        await door.close()
    }

    @Test("Nothing is written and nothing changed when nothing has changed, also by another start")
    func nothing() async throws {
        stage.store.put("a", [.daily("x", 9, 0), .daily("bad", 99, 0)])
        let door = try await stage.open()
        try await door.quiet()
        let writes = await door.reminders.insight.tally.writes
        let changes = stage.system.changes
        #expect(await door.reminders.insight.invalid.keys.sorted() == ["a/bad"])
        for _ in 0..<3 {
            door.reminders.survey()
            try await door.quiet()
            await door.reminders.foreground()
            try await door.quiet()
        }
        #expect(await door.reminders.insight.tally.surveys == 7)
        #expect(await door.reminders.insight.tally.writes == writes)
        let decisions: [Int] = try await door.rows("SELECT COUNT(*) FROM reminderDecision")
        await door.close()
        let next = try await stage.open()
        try await next.quiet()
        #expect(stage.system.changes == changes)
        #expect(try await next.rows("SELECT COUNT(*) FROM reminderDecision") == decisions)
        await next.close()
    }

    @Test("Requests of the app's own are not touched, and leave so many places less")
    func foreign() async throws {
        for index in 0..<10 {
            stage.system.plant(
                NotificationRequest(
                    id: "mine-\(index)", content: NotificationContent(title: "Mine"),
                    trigger: .after(seconds: 1e8, repeats: false)))
        }
        stage.store.put("a", [.daily("x", 9, 0)])
        let door = try await stage.open()
        try await door.quiet()
        #expect(stage.system.pending.count { $0.id.hasPrefix("mine-") } == 10)
        #expect(stage.system.pending.count == 64)
        #expect(stage.system.dropped.isEmpty)
        await door.close()
    }

    @Test(
        "Without permission nothing is pending; given back, everything is at the next foreground",
        arguments: [NotificationSettings.Authorization.denied, .notDetermined])
    func permission(no: NotificationSettings.Authorization) async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        let door = try await stage.open()
        try await door.quiet()
        stage.system.allow(no)
        await door.reminders.foreground()
        try await door.until("nothing is pending") { stage.system.pending.isEmpty }
        try await door.quiet()
        #expect(door.reminders.state == .notPermitted)
        #expect(await door.reminders.insight.permission == no)
        #expect(try await door.rows("SELECT DISTINCT status FROM reminderPlan") == ["missing"])
        #expect(await door.reminders.insight.tally.refused == 0)
        stage.system.allow(.provisional)
        await door.reminders.foreground()
        try await door.until("all is pending") { stage.system.pending.count == 60 }
        try await door.quiet()
        #expect(door.reminders.state == .quiet)
        await door.close()
    }

    @Test(
        "A request that the system refuses is recorded once and tried once a survey; the others are added"
    )
    func refused() async throws {
        stage.store.put("a", [.daily("x", 9, 0), .daily("y", 10, 0, title: "No")])
        stage.system.refuse {
            $0.content.title == "No" ? RepriseError(.refused, "Not this one.") : nil
        }
        let door = try await stage.open()
        try await door.quiet()
        #expect(stage.system.pending.count == 30)
        let refused = await door.reminders.insight.tally.refused
        #expect(refused == 30)
        door.reminders.survey()
        try await door.quiet()
        #expect(await door.reminders.insight.tally.refused == 60)
        #expect(
            try await door.rows("SELECT COUNT(*) FROM reminderDecision WHERE what = 'refused'")
                == [30])
        let reasons: [String] = try await door.rows(
            "SELECT DISTINCT reason FROM reminderPlan WHERE status = 'refused'")
        #expect(reasons == ["Not this one."])
        await door.close()
    }

    @Test("A system that does not answer is asked again after a wait, and nothing is lost")
    func unreachable() async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        stage.system.fail(RepriseError(.unreachable, "No answer."))
        let door = try await stage.open()
        try await door.quiet()
        #expect(await door.reminders.insight.fault?.contains("No answer.") == true)
        #expect(await door.reminders.insight.tally.failures == 1)
        stage.system.fail(nil)
        try await door.until("it is asked again") {
            stage.time.advance(by: .milliseconds(500))
            return stage.system.pending.count == 60
        }
        try await door.quiet()
        #expect(await door.reminders.insight.fault == nil)
        await door.close()
    }

    @Test("A store that fails to load is loaded again, and taps wait until it is")
    func loading() async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        stage.store.with { $0.loadFailures = 4 }
        let door = try await stage.open()
        try await door.until("it has failed") {
            await door.reminders.insight.tally.loadFailures == 1
        }
        #expect(door.reminders.state == .loading)
        try await door.until("it is loaded") {
            stage.time.advance(by: .milliseconds(100))
            return door.reminders.state == .ready
        }
        #expect(await door.reminders.insight.tally.loadFailures == 4)
        await door.close()
    }

    @Test(
        "A store that throws or blocks when it is read is read again after a wait",
        arguments: [true, false])
    func reading(blocks: Bool) async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        stage.store.with { state in
            state.isBlocked = blocks
            state.readFailures = blocks ? 0 : 2
        }
        let door = try await stage.open()
        try await door.until("it has failed twice") {
            if blocks { stage.time.advance(by: .seconds(1)) }
            if !blocks { stage.time.advance(by: .milliseconds(300)) }
            return await door.reminders.insight.tally.failures >= 2
        }
        #expect(stage.system.pending.isEmpty)
        stage.store.unblock()
        try await door.until("it is planned") {
            stage.time.advance(by: .milliseconds(300))
            return stage.system.pending.count == 60
        }
        await door.close()
    }

    @Test("A store that blocks for ever is not called more than four times")
    func blocked() async throws {
        stage.store.with { $0.isBlocked = true }
        let door = try await stage.open()
        try await door.until("it has failed often") {
            stage.time.advance(by: .seconds(30))
            return await door.reminders.insight.tally.failures >= 8
        }
        #expect(stage.store.reads.count == ReminderDoorLimits.abandoned)
        #expect(await door.reminders.insight.fault?.contains("have not returned") == true)
        stage.store.unblock()
        await door.close()
    }

    @Test("Notifications of what is not in use any more leave the notification centre; others stay")
    func delivered() async throws {
        for id in ["active", "bare", "paused", "deleted"] {
            stage.store.put(id, [.daily("x", 9, 0, title: id)])
        }
        let door = try await stage.open()
        try await door.quiet()
        stage.time.advance(by: .seconds(3_700))
        #expect(stage.system.delivered.count == 4)
        stage.store.put("bare", [])
        stage.store.set("paused", .paused)
        stage.store.delete("deleted")
        try await door.until("two stay") { stage.system.delivered.count == 2 }
        try await door.quiet()
        let left = stage.system.delivered.map(\.request.content.title).sorted()
        #expect(left == ["active", "bare"])
        await door.close()
    }

    @Test("What has rung makes room, while the app is in the foreground")
    func rang() async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        let door = try await stage.open()
        try await door.quiet()
        stage.time.advance(by: .seconds(3_602))
        try await door.until("it is topped up") { stage.system.pending.count == 60 }
        #expect(stage.system.rung.count == 1)
        try await door.until("it says why") { await door.reminders.insight.cause == .rang }
        await door.close()
    }

    @Test("A request that the system is about to ring is not taken back; one that is long past is")
    func ringing() async throws {
        stage.store.put("a", [.daily("x", 9, 0, title: "Now")])
        let door = try await stage.open()
        try await door.quiet()
        let first = try #require(stage.system.pending.first)
        await door.close()
        stage.time.advance(by: .seconds(3_600))
        // The system is late: it has it still.
        stage.system.plantLate(first)
        let next = try await stage.open()
        try await next.quiet()
        #expect(stage.system.pending.contains(first))
        stage.time.advance(by: .seconds(61))
        next.reminders.survey()
        try await next.quiet()
        #expect(!stage.system.pending.contains(first))
        await next.close()
    }

    @Test("A calendar that is set, and another time zone, are noticed within a minute")
    func clocks() async throws {
        stage.store.put(
            "a",
            [
                Reminder(
                    id: "x",
                    schedule: Schedule(.daily, at: [TimeOfDay(9, 0)], zone: .fixed("Asia/Tokyo")),
                    title: "Tokyo"), .daily("y", 9, 30, title: "Here"),
            ])
        let door = try await stage.open()
        try await door.quiet()
        stage.time.jumpWall(by: .seconds(-3 * 86_400))
        stage.time.advance(by: .seconds(60))
        try await door.until("it is noticed") { await door.reminders.insight.cause == .clock }
        try await door.quiet()
        #expect(stage.system.pending.count == 60)
        let changes = stage.system.changes
        stage.travel(to: try #require(TimeZone(identifier: "America/New_York")))
        stage.time.advance(by: .seconds(60))
        try await door.until("it is noticed") { await door.reminders.insight.cause == .zone }
        try await door.quiet()
        // The system moves what names no zone by itself.
        #expect(stage.system.changes - changes <= 2)
        await door.close()
    }

    @Test(
        "Names and times that make no sense are refused",
        arguments: [Duration.zero, .seconds(31 * 86_400)])
    func refusedMarks(wait: Duration) async throws {
        let door = try await stage.open()
        await #expect(throws: RepriseError(.malformed, "")) {
            try await door.reminders.snooze("a", reminder: "x", occurrence: "o", for: wait)
        }
        await #expect(throws: RepriseError(.badID, "")) {
            try await door.reminders.skipToday("")
        }
        await door.close()
    }

    @Test(
        "It runs once; a door that was cancelled runs again; one whose journal is taken over ends")
    func running() async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        let door = try await stage.open()
        try await door.quiet()
        await #expect(throws: RepriseError(.badConfiguration, "")) {
            try await door.reminders.run(store: stage.store, notifications: door.connection)
        }
        door.running.cancel()
        try await door.running.value
        #expect(door.reminders.state == .idle)
        let again = Task {
            try await door.reminders.run(store: stage.store, notifications: door.connection)
        }
        try await door.until("it runs") { door.reminders.state == .ready }
        try await door.journal.write { db in
            try db.execute(sql: "UPDATE journal SET incarnation = incarnation + 1")
        }
        stage.store.put("b", [.daily("x", 10, 0)])
        await #expect(throws: RepriseError(.ownershipLost, "")) { try await again.value }
        await door.close()
    }

    @Test("What changes during a survey leads to one more, however much it is")
    func coalesces() async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        let door = try await stage.open()
        door.connection.hold()
        try await door.until("it is in the middle") { door.connection.held == 1 }
        for index in 0..<50 { stage.store.put("b\(index)", [.daily("x", 10, index)]) }
        door.connection.release()
        try await door.quiet()
        #expect(await door.reminders.insight.tally.surveys <= 3)
        #expect(await door.reminders.insight.entities == 51)
        await door.close()
    }
}
