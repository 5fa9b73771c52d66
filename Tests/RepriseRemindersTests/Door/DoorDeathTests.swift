import Foundation
import RepriseCore
import RepriseJournal
import RepriseReminders
import RepriseTesting
import Synchronization
import Testing

@Suite("The door for reminders, and death")
struct DoorDeathTests {
    private static func requests(_ stage: DoorStage) -> Set<NotificationRequest> {
        Set(stage.system.pending)
    }

    /// Three entities are pending; one was deleted, one edited, one is new, and one was paused
    /// whose notification stands there.
    private func scene() async throws -> DoorStage {
        let stage = try DoorStage()
        let day = LocalDate(2027, 1, 20)
        for (index, id) in ["a", "b", "c", "d"].enumerated() {
            stage.store.put(
                id, [.once("x", day, 9, index), .once("y", LocalDate(2027, 1, 15), 8, 30 + index)])
        }
        let door = try await stage.open()
        try await door.quiet()
        await door.close()
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
        let door = try await calm.open()
        try await door.quiet()
        await door.close()
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
        let stage = try DoorStage()
        for index in 0..<20 { stage.store.put("g\(index)", [.daily("x", 9, index)]) }
        let door = try await stage.open()
        try await door.quiet()
        try await door.kill()
        stage.time.advance(by: .seconds(7 * 86_400))
        #expect(stage.system.rung.count == 60)
        let next = try await stage.open()
        try await next.quiet()
        #expect(stage.system.pending.count == 60)
        #expect(stage.system.due.values.allSatisfy { $0 > stage.time.now })
        await next.close()
    }

    @Test(
        "The requests and notifications of a former user go with the first survey of the next one")
    func anotherUser() async throws {
        let stage = try DoorStage()
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
        "A door that is left takes back all that it has asked for, and changes nothing afterwards")
    func leaving() async throws {
        let stage = try DoorStage()
        stage.store.put("a", [.daily("x", 9, 0)])
        let door = try await stage.open()
        try await door.quiet()
        stage.time.advance(by: .seconds(3_601))
        await door.reminders.leave()
        try await door.running.value
        #expect(stage.system.pending.isEmpty && stage.system.delivered.isEmpty)
        stage.store.put("b", [.daily("x", 9, 0)])
        door.reminders.survey()
        #expect(stage.system.pending.isEmpty)
        await door.journal.close()
    }
}

/// Time in the background, as the system gives it and takes it.
final class SlotInMemory: BackgroundSlot {
    let id = "refresh"
    private struct State {
        var completed: [Bool] = []
        var isOver = false
        var expiry: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    var completed: [Bool] { state.withLock { $0.completed } }

    func expired() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.expiry = continuation }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }

    func expire() {
        let expiry = state.withLock { state in
            state.isOver = true
            return state.expiry.take()
        }
        expiry?.resume()
    }

    func complete(success: Bool) async {
        state.withLock { $0.completed.append(success) }
        expire()
    }
}

final class SchedulerInMemory: BackgroundScheduler {
    private let state = Mutex<(asked: [BackgroundRequest], refusal: RepriseError?)>(([], nil))

    var asked: [BackgroundRequest] { state.withLock { $0.asked } }

    func refuse(_ error: RepriseError?) { state.withLock { $0.refusal = error } }

    func submit(_ request: BackgroundRequest) async throws {
        let refusal = state.withLock { state in
            state.asked.append(request)
            return state.refusal
        }
        if let refusal { throw refusal }
    }

    func cancel(_ id: String) async throws {}

    func pending() async throws -> [BackgroundRequest] { asked.suffix(1) }
}

@Suite("The door for reminders, in the background")
struct DoorRefreshTests {
    private let stage: DoorStage
    private let scheduler = SchedulerInMemory()

    init() throws {
        stage = try DoorStage()
        stage.store.put("a", [.daily("x", 9, 0)])
    }

    private func open() async throws -> DoorProcess {
        try await stage.open(refreshTask: "refresh", scheduler: scheduler)
    }

    @Test(
        "Time in the background is asked for at half the way to the end of what is guaranteed, once"
    )
    func asks() async throws {
        let door = try await open()
        try await door.quiet()
        try await door.until("it is asked for") { scheduler.asked.count == 1 }
        let end = try #require(await door.reminders.insight.guaranteedUntil)
        let half = stage.time.now.advanced(by: stage.time.now.duration(to: end) / 2)
        #expect(
            scheduler.asked == [BackgroundRequest(id: "refresh", kind: .refresh, earliest: half)])
        door.reminders.survey()
        try await door.quiet()
        #expect(scheduler.asked.count == 1)
        await door.close()
    }

    @Test(
        "In a slot it plans, asks for the next time and gives the time back; also in a start for it"
    )
    func slot() async throws {
        let door = try await open()
        let slot = SlotInMemory()
        await door.reminders.slot(slot)
        #expect(slot.completed == [true])
        #expect(stage.system.pending.count == 60)
        stage.time.advance(by: .seconds(40 * 86_400))
        #expect(stage.system.pending.count == 20)
        let second = SlotInMemory()
        await door.reminders.slot(second)
        #expect(second.completed == [true])
        #expect(stage.system.pending.count == 60)
        #expect(scheduler.asked.count >= 2)
        await door.close()
    }

    @Test("A slot whose time is taken back is given back at once, and the next survey goes on")
    func expired() async throws {
        let door = try await open()
        try await door.quiet()
        door.connection.hold()
        stage.store.put("b", [.daily("x", 10, 0)])
        let slot = SlotInMemory()
        let given = Task { await door.reminders.slot(slot) }
        try await door.until("it is in the middle") { door.connection.held == 1 }
        try await door.until("it has its slot") {
            slot.expire()
            return !slot.completed.isEmpty
        }
        await given.value
        #expect(slot.completed == [false])
        door.connection.release()
        try await door.quiet()
        #expect(stage.system.pending.count == 60)
        await door.close()
    }

    @Test("A scheduler that refuses is seen, and the reminders are planned all the same")
    func refused() async throws {
        scheduler.refuse(RepriseError(.refused, "notPermitted"))
        let door = try await open()
        try await door.until("it is seen") {
            await door.reminders.insight.refreshFault?.contains("notPermitted") == true
        }
        #expect(stage.system.pending.count == 60)
        await door.close()
    }

    @Test("A door that ends gives the time back that it still has")
    func ends() async throws {
        let door = try await open()
        try await door.quiet()
        door.connection.hold()
        stage.store.put("b", [.daily("x", 10, 0)])
        try await door.until("it is in the middle") { door.connection.held == 1 }
        let slot = SlotInMemory()
        let given = Task { await door.reminders.slot(slot) }
        await door.close()
        door.connection.release()
        slot.expire()
        await given.value
        #expect(slot.completed.count == 1)
    }
}
