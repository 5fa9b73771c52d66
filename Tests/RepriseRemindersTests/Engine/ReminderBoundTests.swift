import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Testing

/// What the door bears: docs/limits.md, Reminders and Taps on reminders.
@Suite("Bounds of the reminders feature", .timeLimit(.minutes(1)))
struct ReminderBoundTests {
    private static let info = #"{"reprise":{"v":2,"sort":"goal","id":"g"}}"#

    @Test("2,000 decisions are kept, and the oldest go", .limit("reminders.decisions"))
    func decisions() async throws {
        let stage = try RemindersFixture()
        let feature = try await stage.open()
        try await feature.quiet()
        try await feature.journal.write { db in
            for number in 0..<2_100 {
                try db.execute(
                    sql: """
                        INSERT INTO reminderDecision (at, what, request, entity, reason)
                        VALUES (?, 'add', 'r', 'old', 'x')
                        """, arguments: [number])
            }
        }
        stage.store.put("new", [.once("x", LocalDate(2027, 2, 1), 9, 0)])
        try await eventually("what is new is written down") {
            let rows: [Int] = try await feature.rows(
                "SELECT COUNT(*) FROM reminderDecision WHERE entity = 'new'")
            return rows == [1]
        }
        let kept: [Int64] = try await feature.rows(
            "SELECT at FROM reminderDecision ORDER BY seq")
        #expect(kept.count == 2_000 && kept.first == 101)
        await feature.close()
    }

    @Test(
        "one reconciliation looks up 256 entities of the delivered notifications",
        .limit("reminders.lookUps")
    )
    func lookUps() throws {
        let delivered = (0..<300).map { number in
            let info =
                #"{"reprise":{"v":2,"sort":"goal","id":"g\#(number)","#
                + #""reminder":"x","at":"2027-01-15T07:30"}}"#
            return DeliveredNotification(
                request: NotificationRequest(
                    id: "reprise.reminder.\(number)",
                    content: NotificationContent(title: "T", info: Array(info.utf8))),
                date: WallTime(milliseconds: 1_800_000_000_000), isRemote: false)
        }
        let now = ReconciliationMachine.Moment(
            uptime: .zero, wall: WallTime(milliseconds: 1_800_000_000_000), zone: .gmt)
        var machine = ReconciliationMachine()
        _ = machine.take(.started, at: now)
        var actions = machine.take(.storeLoaded, at: now)
        var looked: [Int] = []
        while !actions.isEmpty {
            guard case .ask(let number, let question) = actions.removeFirst() else { continue }
            let answer: ReconciliationMachine.Answer
            switch question {
            case .entities: answer = .entities([])
            case .settings: answer = .settings(NotificationSettings(authorization: .authorized))
            case .pending: answer = .pending([])
            case .delivered: answer = .delivered(delivered)
            case .marks: answer = .marks([])
            case .look(let routes):
                looked.append(routes.count)
                answer = .looked(inUse: [])
            case .add, .removeDelivered, .removePending, .write: answer = .done
            }
            actions += machine.take(.answered(number, answer), at: now)
        }
        #expect(looked == [256])
    }

    @Test(
        "eight background slots wait for a reconciliation; a ninth is given back at once",
        .limit("reminders.slots"))
    func slots() async throws {
        let stage = try RemindersFixture()
        let feature = try await stage.open()
        try await feature.quiet()
        feature.connection.hold()
        stage.store.put("b", [.daily("x", 10, 0)])
        try await eventually("a reconciliation is under way") { feature.connection.held == 1 }
        let slots = (0..<9).map { _ in MemorySlot("refresh") }
        let given = slots.map { slot in Task { await feature.reminders.slot(slot) } }
        try await eventually("one is given back") { slots.contains { $0.completed == [false] } }
        #expect(slots.count { $0.completed.isEmpty } == 8)
        feature.connection.release()
        for task in given { await task.value }
        #expect(slots.count { $0.completed == [true] } == 8)
        await feature.close()
    }

    @Test("eight taps are in flight, the others wait in the journal", .limit("taps.inFlight"))
    func taps() async throws {
        let folder = try TemporaryFolder()
        let store = ScriptedStore(Entity(id: "g", title: "Read"))
        let feature = try await RoutingFixture(in: folder, store, ui: false)
        for number in 0..<20 {
            try await feature.reminders.received(tap("a", at: Int64(number), info: Self.info))
        }
        await feature.journal.setReady(.ui)
        var routes = feature.reminders.routes.makeAsyncIterator()
        let first = try #require(await routes.next())
        try await eventually("eight are in flight") { try await Self.inFlight(feature) == 8 }
        try await first.presented()
        try await eventually("another one takes its place") {
            let ended = try await feature.journal.read { db in
                try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM entry WHERE state >= 10") ?? 0
            }
            let held = try await Self.inFlight(feature)
            #expect(held <= 8)
            return ended == 1 && held == 8
        }
        await feature.journal.close()
    }

    private static func inFlight(_ feature: RoutingFixture) async throws -> Int {
        try await feature.journal.read { db in
            try Int.fetchOne(
                db, sql: "SELECT COUNT(*) FROM entry WHERE state < 10 AND incarnation NOT NULL")
                ?? -1
        }
    }

    @Test(
        "one look-up remembers 1,000 entities that have changed; of more it knows that any may have",
        .limit("taps.changed")
    )
    func changed() {
        let others = Set((0..<999).map { "other-\($0)" })
        var watch = LookUpWatch("g")
        watch.changed(others)
        watch.changed(["one more"])
        #expect(!watch.hasChanged(.unknown))
        watch.changed(["too many"])
        #expect(watch.hasChanged(.unknown))
    }
}
