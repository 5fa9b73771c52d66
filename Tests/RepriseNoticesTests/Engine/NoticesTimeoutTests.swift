import Reprise
import RepriseCore
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("The notices feature with a failing system", .serialized)
struct NoticesTimeoutTests {
    let stage: NoticeFixture
    let system = MemoryNotifications(clock: ManualClock())
    let clock = ManualClock()

    init() throws { stage = try NoticeFixture() }

    private func open() async throws -> NoticeDevice {
        let device = try await stage.open(system: system) { $0.timekeeper = clock }
        try stage.publish()
        try await eventually("it is live") {
            let head: Int64? = try await device.value("SELECT MAX(head) FROM noticesChannel")
            return head == 1
        }
        return device
    }

    /// Lets time pass until it is true.
    private func passes(_ what: String, _ condition: () async throws -> Bool) async throws {
        try await eventually(what) {
            clock.advance(by: .seconds(1))
            return try await condition()
        }
    }

    @Test(
        "A call that never returns stops nothing: it is given up, and its notification is shown",
        .limit("notices.system"))
    func hangs() async throws {
        let device = try await open()
        device.connection.hold()
        let (_, id) = try stage.publish()
        try await eventually("it waits") { device.connection.held > 0 }
        try await passes("it is given up") {
            await device.notices.diagnostics.tally.failures > 0
        }
        #expect(await device.notices.diagnostics.fault?.contains("longer than") == true)
        device.connection.release()
        try await passes("it stands") { device.standing.contains(id.text) }
        try await passes("the fault is over") { await device.notices.diagnostics.fault == nil }
        #expect(system.rung.count { $0.request.id == id.text } <= 2)
        await device.close()
    }

    @Test(
        "What is on its way while the account is left is taken away, and nothing else is shown",
        arguments: [false, true])
    func left(answersInTime: Bool) async throws {
        let first = try await open()
        await first.close()
        for id in first.standing { system.putAway(id) }
        let ids = try (0..<3).map { _ in try stage.publish().id.text }
        let device = try await stage.open(system: system, isHeld: true) {
            $0.timekeeper = clock
        }
        try await eventually("the first one is on its way") { device.connection.held > 0 }
        // What is left waits for the round that shows them.
        let due = clock.uptime() + .seconds(5)
        let leaving = Task { await device.notices.leave() }
        try await eventually("it waits") { clock.sleepers.contains(due) }
        if answersInTime {
            // The clock stands still: the rest of the round fails nothing.
            device.connection.release()
        } else {
            clock.advance(by: .seconds(5))
        }
        await leaving.value
        device.connection.release()
        try await eventually("it is taken away") {
            system.rung.contains { ids.contains($0.request.id) } && device.standing.isEmpty
        }
        try await eventually("the badge, too") { system.badge == 0 }
        #expect(system.rung.count { ids.contains($0.request.id) } == 1)
        await device.close()
    }

    @Test("A notification that the system refuses is tried again, and not counted as unconfirmed")
    func fails() async throws {
        let device = try await open()
        system.refuse { _ in RepriseError(.unavailable, "Not now.") }
        let (_, id) = try stage.publish()
        try await eventually("it fails") { await device.notices.diagnostics.tally.failures > 0 }
        try await passes("it fails again") { await device.notices.diagnostics.tally.failures > 2 }
        system.refuse { _ in nil }
        try await passes("it stands") { device.standing.contains(id.text) }
        let unconfirmed: Int? = try await device.value(
            "SELECT SUM(unconfirmed) FROM noticesMessage")
        #expect(unconfirmed == 0)
        #expect(await device.notices.diagnostics.tally.again == 0)
        await device.close()
    }
}
