import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("The reminders feature")
struct RemindersEngineTests {
    private let stage: RemindersFixture

    init() throws { stage = try RemindersFixture() }

    private func titles(_ requests: [NotificationRequest]) -> [String] {
        requests.map(\.content.title).sorted()
    }

    @Test(
        "The store's entities are pending after the start, and the diagnostics have their number and the guaranteed time"
    )
    func start() async throws {
        stage.store.put("a", [.daily("morning", 9, 0, title: "Walk")])
        let feature = try await stage.open()
        try await feature.quiet()
        #expect(stage.system.pending.count == 60)
        #expect(stage.system.pending.allSatisfy { $0.content.title == "Walk" })
        let diagnostics = await feature.reminders.diagnostics
        #expect(diagnostics.state == .ready)
        #expect(diagnostics.planned == 60 && diagnostics.pending == 60 && diagnostics.entities == 1)
        // 60 days at 9:00 from the 15th of January on: the 61st has no place.
        let end = WallTime(milliseconds: 1_800_000_000_000 + 60 * 86_400_000 + 3_600_000)
        #expect(diagnostics.guaranteedUntil == end)
        let statuses: [String] = try await feature.rows("SELECT DISTINCT status FROM reminderPlan")
        #expect(statuses == ["pending"])
        let guaranteed: [Int64] = try await feature.rows(
            "SELECT guaranteedUntil FROM reminderSurvey")
        #expect(guaranteed == [end.milliseconds])
        await feature.close()
    }

    @Test(
        "Every way to take an entity out of use removes its requests",
        arguments: ["pause", "delete", "bulk", "import", "edit"])
    func gone(how: String) async throws {
        stage.store.put("a", [.daily("x", 9, 0, title: "A")])
        stage.store.put("b", [.daily("x", 10, 0, title: "B")])
        let feature = try await stage.open()
        try await feature.quiet()
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
        try await eventually("it is gone") {
            !stage.system.pending.contains { $0.content.title == "A" }
        }
        try await feature.quiet()
        #expect(stage.system.pending.count == 60)
        if how == "import" {
            #expect(stage.system.pending.contains { $0.content.title == "New" })
        }
        await feature.close()
    }

    @Test("A change of one entity reads that one alone, and changes what differs alone")
    func incremental() async throws {
        for index in 0..<20 { stage.store.put("g\(index)", [.daily("x", 9, index)]) }
        let feature = try await stage.open()
        try await feature.quiet()
        let (changes, reads) = (stage.system.changes, stage.store.reads.count)
        #expect(changes == 60)
        stage.store.put("g3", [.daily("x", 9, 3, title: "New")])
        try await eventually("it is replaced") {
            stage.system.pending.count { $0.content.title == "New" } == 3
        }
        try await feature.quiet()
        #expect(stage.store.reads.suffix(from: reads) == [["g3"]])
        #expect(stage.system.changes == changes + 3)
        let diagnostics = await feature.reminders.diagnostics
        #expect(diagnostics.tally.added == 60 && diagnostics.tally.replaced == 3)
        await feature.close()
    }

    @Test("Nothing is written and nothing changed when nothing has changed, also by another start")
    func nothing() async throws {
        stage.store.put("a", [.daily("x", 9, 0), .daily("bad", 99, 0)])
        let feature = try await stage.open()
        try await feature.quiet()
        let writes = await feature.reminders.diagnostics.tally.writes
        let changes = stage.system.changes
        #expect(await feature.reminders.diagnostics.invalid.keys.sorted() == ["a/bad"])
        for _ in 0..<3 {
            feature.reminders.reconciliation()
            try await feature.quiet()
            await feature.reminders.foreground()
            try await feature.quiet()
        }
        #expect(await feature.reminders.diagnostics.tally.reconciliations == 7)
        #expect(await feature.reminders.diagnostics.tally.writes == writes)
        let decisions: [Int] = try await feature.rows("SELECT COUNT(*) FROM reminderDecision")
        await feature.close()
        let next = try await stage.open()
        try await next.quiet()
        #expect(stage.system.changes == changes)
        #expect(try await next.rows("SELECT COUNT(*) FROM reminderDecision") == decisions)
        await next.close()
    }

    @Test(
        "Requests of the app's own are not touched, and leave so many places less",
        .limit("schedules.places", "reminders.requests"))
    func foreign() async throws {
        for index in 0..<10 {
            stage.system.plant(
                NotificationRequest(
                    id: "mine-\(index)", content: NotificationContent(title: "Mine"),
                    trigger: .after(seconds: 1e8, repeats: false)))
        }
        stage.store.put("a", [.daily("x", 9, 0)])
        let feature = try await stage.open()
        try await feature.quiet()
        #expect(stage.system.pending.count { $0.id.hasPrefix("mine-") } == 10)
        #expect(stage.system.pending.count == 64)
        #expect(stage.system.dropped.isEmpty)
        await feature.close()
    }

    @Test(
        "Without permission nothing is pending; given back, everything is at the next foreground",
        arguments: [NotificationSettings.Authorization.denied, .notDetermined])
    func permission(no: NotificationSettings.Authorization) async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        let feature = try await stage.open()
        try await feature.quiet()
        stage.system.allow(no)
        await feature.reminders.foreground()
        try await eventually("nothing is pending") { stage.system.pending.isEmpty }
        try await feature.quiet()
        #expect(feature.reminders.state == .notPermitted)
        #expect(await feature.reminders.diagnostics.permission == no)
        #expect(try await feature.rows("SELECT DISTINCT status FROM reminderPlan") == ["missing"])
        #expect(await feature.reminders.diagnostics.tally.refused == 0)
        stage.system.allow(.provisional)
        await feature.reminders.foreground()
        try await eventually("all is pending") { stage.system.pending.count == 60 }
        try await feature.quiet()
        #expect(feature.reminders.state == .quiet)
        await feature.close()
    }

    @Test(
        "A request that the system refuses is recorded once and tried once a reconciliation; the others are added"
    )
    func refused() async throws {
        stage.store.put("a", [.daily("x", 9, 0), .daily("y", 10, 0, title: "No")])
        stage.system.refuse {
            $0.content.title == "No" ? RepriseError(.refused, "Not this one.") : nil
        }
        let feature = try await stage.open()
        try await feature.quiet()
        #expect(stage.system.pending.count == 30)
        let refused = await feature.reminders.diagnostics.tally.refused
        #expect(refused == 30)
        feature.reminders.reconciliation()
        try await feature.quiet()
        #expect(await feature.reminders.diagnostics.tally.refused == 60)
        #expect(
            try await feature.rows("SELECT COUNT(*) FROM reminderDecision WHERE what = 'refused'")
                == [30])
        let reasons: [String] = try await feature.rows(
            "SELECT DISTINCT reason FROM reminderPlan WHERE status = 'refused'")
        #expect(reasons == ["Not this one."])
        await feature.close()
    }

    @Test(
        "A system that does not answer is asked again after a wait, and nothing is lost",
        .limit("reminders.system"))
    func unreachable() async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        stage.system.fail(RepriseError(.unreachable, "No answer."))
        let feature = try await stage.open()
        try await feature.quiet()
        #expect(await feature.reminders.diagnostics.fault?.contains("No answer.") == true)
        #expect(await feature.reminders.diagnostics.tally.failures == 1)
        stage.system.fail(nil)
        try await eventually("it is asked again") {
            stage.time.advance(by: .milliseconds(500))
            return stage.system.pending.count == 60
        }
        try await feature.quiet()
        #expect(await feature.reminders.diagnostics.fault == nil)
        await feature.close()
    }

    @Test("A store that fails to load is loaded again, and taps wait until it is")
    func loading() async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        stage.store.with { $0.loadFailures = 4 }
        let feature = try await stage.open()
        try await eventually("it has failed") {
            await feature.reminders.diagnostics.tally.loadFailures == 1
        }
        #expect(feature.reminders.state == .loading)
        try await eventually("it is loaded") {
            stage.time.advance(by: .milliseconds(100))
            return feature.reminders.state == .ready
        }
        #expect(await feature.reminders.diagnostics.tally.loadFailures == 4)
        await feature.close()
    }

    @Test(
        "A store that throws or blocks when it is read is read again after a wait",
        .limit("reminders.store"),
        arguments: [true, false])
    func reading(blocks: Bool) async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        stage.store.with { state in
            state.isBlocked = blocks
            state.readFailures = blocks ? 0 : 2
        }
        let feature = try await stage.open()
        try await eventually("it has failed twice") {
            if blocks { stage.time.advance(by: .seconds(1)) }
            if !blocks { stage.time.advance(by: .milliseconds(300)) }
            return await feature.reminders.diagnostics.tally.failures >= 2
        }
        #expect(stage.system.pending.isEmpty)
        stage.store.unblock()
        try await eventually("it is planned") {
            stage.time.advance(by: .milliseconds(300))
            return stage.system.pending.count == 60
        }
        await feature.close()
    }

    @Test(
        "A store that blocks for ever is not called more than four times",
        .limit("reminders.abandoned"))
    func blocked() async throws {
        stage.store.with { $0.isBlocked = true }
        let feature = try await stage.open()
        try await eventually("it has failed often") {
            stage.time.advance(by: .seconds(30))
            return await feature.reminders.diagnostics.tally.failures >= 8
        }
        #expect(stage.store.reads.count == ReminderEngineLimits.abandoned)
        #expect(await feature.reminders.diagnostics.fault?.contains("have not returned") == true)
        stage.store.unblock()
        await feature.close()
    }

    @Test("Notifications of what is not in use any more leave the notification centre; others stay")
    func delivered() async throws {
        for id in ["active", "bare", "paused", "deleted"] {
            stage.store.put(id, [.daily("x", 9, 0, title: id)])
        }
        let feature = try await stage.open()
        try await feature.quiet()
        stage.time.advance(by: .seconds(3_700))
        #expect(stage.system.delivered.count == 4)
        stage.store.put("bare", [])
        stage.store.set("paused", .paused)
        stage.store.delete("deleted")
        try await eventually("two stay") { stage.system.delivered.count == 2 }
        try await feature.quiet()
        let left = stage.system.delivered.map(\.request.content.title).sorted()
        #expect(left == ["active", "bare"])
        await feature.close()
    }

    @Test("A reminder that has rung makes room for the next, while the app is in the foreground")
    func rang() async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        let feature = try await stage.open()
        try await feature.quiet()
        stage.time.advance(by: .seconds(3_602))
        try await eventually("it is topped up") { stage.system.pending.count == 60 }
        #expect(stage.system.rung.count == 1)
        try await eventually("it says why") {
            await feature.reminders.diagnostics.cause == .rang
        }
        await feature.close()
    }

    @Test(
        "A request that the system is about to ring is not taken back; one that is long past is",
        .limit("reminders.ringing"))
    func ringing() async throws {
        stage.store.put("a", [.daily("x", 9, 0, title: "Now")])
        let feature = try await stage.open()
        try await feature.quiet()
        let first = try #require(stage.system.pending.first)
        await feature.close()
        stage.time.advance(by: .seconds(3_600))
        // The system is late: it has it still.
        stage.system.plantLate(first)
        let next = try await stage.open()
        try await next.quiet()
        #expect(stage.system.pending.contains(first))
        stage.time.advance(by: .seconds(61))
        next.reminders.reconciliation()
        try await next.quiet()
        #expect(!stage.system.pending.contains(first))
        await next.close()
    }

    @Test(
        "A calendar that is set, and another time zone, are noticed within a minute",
        .limit("reminders.clocks"))
    func clocks() async throws {
        stage.store.put(
            "a",
            [
                Reminder(
                    id: "x",
                    schedule: Schedule(.daily, at: [TimeOfDay(9, 0)], zone: .fixed("Asia/Tokyo")),
                    title: "Tokyo"), .daily("y", 9, 30, title: "Here"),
            ])
        let feature = try await stage.open()
        try await feature.quiet()
        stage.time.jumpWall(by: .seconds(-3 * 86_400))
        stage.time.advance(by: .seconds(60))
        try await eventually("it is noticed") {
            await feature.reminders.diagnostics.cause == .clock
        }
        try await feature.quiet()
        #expect(stage.system.pending.count == 60)
        let changes = stage.system.changes
        stage.travel(to: try #require(TimeZone(identifier: "America/New_York")))
        stage.time.advance(by: .seconds(60))
        try await eventually("it is noticed") {
            await feature.reminders.diagnostics.cause == .zone
        }
        try await feature.quiet()
        // The system moves what names no zone by itself.
        #expect(stage.system.changes - changes <= 2)
        await feature.close()
    }

    @Test(
        "Names and times that make no sense are refused", .limit("reminders.snooze"),
        arguments: [Duration.zero, .seconds(31 * 86_400)])
    func refusedMarks(wait: Duration) async throws {
        let feature = try await stage.open()
        await expectError(.malformed) {
            try await feature.reminders.snooze("a", reminder: "x", occurrence: "o", for: wait)
        }
        await expectError(.badID) {
            try await feature.reminders.skipToday("")
        }
        await feature.close()
    }

    @Test(
        "A feature runs once; a cancelled one runs again; one whose journal is taken over ends"
    )
    func running() async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        let feature = try await stage.open()
        try await feature.quiet()
        await expectError(.badConfiguration) {
            try await feature.reminders.run(store: stage.store, notifications: feature.connection)
        }
        feature.running.cancel()
        try await feature.running.value
        #expect(feature.reminders.state == .idle)
        let again = Task {
            try await feature.reminders.run(store: stage.store, notifications: feature.connection)
        }
        try await eventually("it runs") { feature.reminders.state == .ready }
        try await feature.journal.write { db in
            try db.execute(sql: "UPDATE journal SET incarnation = incarnation + 1")
        }
        stage.store.put("b", [.daily("x", 10, 0)])
        await expectError(.ownershipLost) { try await again.value }
        await feature.close()
    }

    @Test("Many changes during a reconciliation lead to one more")
    func coalesces() async throws {
        stage.store.put("a", [.daily("x", 9, 0)])
        let feature = try await stage.open()
        feature.connection.hold()
        try await eventually("it is in the middle") { feature.connection.held == 1 }
        for index in 0..<50 { stage.store.put("b\(index)", [.daily("x", 10, index)]) }
        feature.connection.release()
        try await eventually("all are known") {
            await feature.reminders.diagnostics.entities == 51
        }
        try await feature.quiet()
        // One more where the last change came while the second was under way.
        #expect(await feature.reminders.diagnostics.tally.reconciliations <= 3)
        await feature.close()
    }
}
