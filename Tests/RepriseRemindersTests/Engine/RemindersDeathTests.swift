import Foundation
import RepriseCore
import RepriseJournal
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("The reminders feature, and death")
struct RemindersDeathTests {
    private static func requests(_ stage: RemindersFixture) -> Set<NotificationRequest> {
        Set(stage.system.pending)
    }

    /// Three entities are pending; one was deleted, one edited, one is new, and one was paused
    /// whose notification stands there.
    private func scene() async throws -> RemindersFixture {
        let stage = try RemindersFixture()
        let day = LocalDate(2027, 1, 20)
        for (index, id) in ["a", "b", "c", "d"].enumerated() {
            stage.store.put(
                id, [.once("x", day, 9, index), .once("y", LocalDate(2027, 1, 15), 8, 30 + index)])
        }
        let feature = try await stage.open()
        try await feature.quiet()
        await feature.close()
        stage.time.advance(by: .seconds(3_600))
        stage.store.delete("a")
        stage.store.put("b", [.once("x", day, 10, 0)])
        stage.store.set("d", .paused)
        stage.store.put("e", [.once("x", day, 11, 0), .once("y", day, 12, 0)])
        return stage
    }

    @Test(
        "Killed at every position between two changes, the next start ends where the one without a kill does"
    )
    func everyPosition() async throws {
        let calm = try await scene()
        let before = calm.system.changes
        let feature = try await calm.open()
        try await feature.quiet()
        await feature.close()
        let changes = calm.system.changes - before
        // One call for what was delivered, one for what was pending, three additions.
        #expect(changes == 5)
        for position in 0...changes {
            let stage = try await scene()
            let dying = try await stage.open(dyingAfter: position + 1)
            try await dying.quiet()
            if position < changes - 1 { #expect(dying.connection.isDead) }
            #expect(stage.system.changes - before == min(position + 1, changes))
            try await dying.kill()
            let next = try await stage.open()
            try await next.quiet()
            #expect(Self.requests(stage) == Self.requests(calm))
            #expect(stage.system.delivered == calm.system.delivered)
            // Nothing is done twice.
            #expect(stage.system.changes - before == changes)
            await next.close()
        }
    }

    @Test("A week with the phone off: what rang is made up for, and nothing rings late")
    func week() async throws {
        let stage = try RemindersFixture()
        for index in 0..<20 { stage.store.put("g\(index)", [.daily("x", 9, index)]) }
        let feature = try await stage.open()
        try await feature.quiet()
        try await feature.kill()
        stage.time.advance(by: .seconds(7 * 86_400))
        #expect(stage.system.rung.count == 60)
        let next = try await stage.open()
        try await next.quiet()
        #expect(stage.system.pending.count == 60)
        #expect(stage.system.due.values.allSatisfy { $0 > stage.time.now })
        await next.close()
    }

    @Test(
        "The requests and notifications of a former user go with the first reconciliation of the next one"
    )
    func anotherUser() async throws {
        let stage = try RemindersFixture()
        stage.store.put("a", [.daily("x", 9, 0, title: "Ada's")], owner: "ada")
        let ada = try await stage.open(journal: "ada")
        try await ada.quiet()
        stage.time.advance(by: .seconds(3_601))
        try await ada.quiet()
        try await ada.kill()
        #expect(stage.system.delivered.count == 1)
        let store = StoreInMemory()
        // The same id, in another person's store.
        store.put("a", [.daily("x", 9, 0, title: "Bob's")], owner: "bob")
        let bob = try await stage.open(store: store, journal: "bob")
        try await bob.quiet()
        #expect(stage.system.pending.allSatisfy { $0.content.title == "Bob's" })
        #expect(stage.system.pending.count == 60)
        #expect(stage.system.delivered.isEmpty)
        await bob.close()
    }

    @Test(
        "A feature that is left takes back all that it has asked for, and changes nothing afterwards"
    )
    func leaving() async throws {
        let stage = try RemindersFixture()
        stage.store.put("a", [.daily("x", 9, 0)])
        let feature = try await stage.open()
        try await feature.quiet()
        stage.time.advance(by: .seconds(3_601))
        await feature.reminders.leave()
        try await feature.running.value
        #expect(stage.system.pending.isEmpty && stage.system.delivered.isEmpty)
        stage.store.put("b", [.daily("x", 9, 0)])
        feature.reminders.reconciliation()
        #expect(stage.system.pending.isEmpty)
        await feature.journal.close()
    }

    @Test("A feature that is left while it does not run takes back all the same, also its slots")
    func leavingWithoutRun() async throws {
        let stage = try RemindersFixture()
        stage.store.put("a", [.daily("x", 9, 0)])
        let feature = try await stage.open()
        try await feature.quiet()
        stage.time.advance(by: .seconds(3_601))
        feature.running.cancel()
        try await feature.running.value
        #expect(!stage.system.pending.isEmpty && stage.system.delivered.count == 1)
        let slot = MemorySlot("refresh")
        let given = Task { await feature.reminders.slot(slot) }
        try await eventually("it has the slot, and gives it back") {
            await feature.reminders.leave(feature.connection)
            return slot.completed == [false]
        }
        await given.value
        #expect(stage.system.pending.isEmpty && stage.system.delivered.isEmpty)
        await feature.journal.close()
    }
}

@Suite("The reminders feature, in the background")
struct RemindersRefreshTests {
    private let stage: RemindersFixture
    private let scheduler = MemoryScheduler()

    init() throws {
        stage = try RemindersFixture()
        stage.store.put("a", [.daily("x", 9, 0)])
    }

    private func open() async throws -> RemindersProcess {
        try await stage.open(refreshTask: "refresh", scheduler: scheduler)
    }

    @Test(
        "Time in the background is asked for at half the way to the end of what is guaranteed, once",
        .limit("reminders.refresh")
    )
    func asks() async throws {
        let feature = try await open()
        try await feature.quiet()
        try await eventually("it is asked for") { scheduler.asked.count == 1 }
        let end = try #require(await feature.reminders.diagnostics.guaranteedUntil)
        let half = stage.time.now.advanced(by: stage.time.now.duration(to: end) / 2)
        #expect(
            scheduler.asked == [BackgroundRequest(id: "refresh", kind: .refresh, earliest: half)])
        feature.reminders.reconciliation()
        try await feature.quiet()
        #expect(scheduler.asked.count == 1)
        await feature.close()
    }

    @Test(
        "In a slot it plans, asks for the next time and gives the time back; also in a start for it"
    )
    func slot() async throws {
        let feature = try await open()
        let slot = MemorySlot("refresh")
        await feature.reminders.slot(slot)
        #expect(slot.completed == [true])
        #expect(stage.system.pending.count == 60)
        stage.time.advance(by: .seconds(40 * 86_400))
        #expect(stage.system.pending.count == 20)
        let second = MemorySlot("refresh")
        await feature.reminders.slot(second)
        #expect(second.completed == [true])
        #expect(stage.system.pending.count == 60)
        #expect(scheduler.asked.count >= 2)
        await feature.close()
    }

    @Test(
        "A slot whose time is taken back is given back at once, and the next reconciliation goes on"
    )
    func expired() async throws {
        let feature = try await open()
        try await feature.quiet()
        feature.connection.hold()
        stage.store.put("b", [.daily("x", 10, 0)])
        let slot = MemorySlot("refresh")
        let given = Task { await feature.reminders.slot(slot) }
        try await eventually("it is in the middle") { feature.connection.held == 1 }
        try await eventually("it has its slot") {
            slot.expire()
            return !slot.completed.isEmpty
        }
        await given.value
        #expect(slot.completed == [false])
        feature.connection.release()
        try await feature.quiet()
        #expect(stage.system.pending.count == 60)
        await feature.close()
    }

    @Test("A scheduler that refuses is seen, and the reminders are planned all the same")
    func refused() async throws {
        scheduler.refuse(RepriseError(.refused, "notPermitted"))
        let feature = try await open()
        try await eventually("it is seen") {
            await feature.reminders.diagnostics.refreshFault?.contains("notPermitted") == true
        }
        #expect(stage.system.pending.count == 60)
        await feature.close()
    }

    @Test("A feature that ends gives the time back that it still has")
    func ends() async throws {
        let feature = try await open()
        try await feature.quiet()
        feature.connection.hold()
        stage.store.put("b", [.daily("x", 10, 0)])
        try await eventually("it is in the middle") { feature.connection.held == 1 }
        let slot = MemorySlot("refresh")
        let given = Task { await feature.reminders.slot(slot) }
        await feature.close()
        feature.connection.release()
        slot.expire()
        await given.value
        #expect(slot.completed.count == 1)
    }
}
