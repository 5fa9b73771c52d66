import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@Suite("Retention")
struct RetentionTests {
    private static let day: Duration = .seconds(86_400)

    @Test("takes nothing while the calendar has jumped, until a day of uptime confirms it")
    func jumpedCalendar() async throws {
        let clock = TestClock()
        let store = try SQLiteStore(clock: clock)
        try await store.reopen()
        let room = try ChannelName("room")
        try await store.fill(room, 5)
        let policy = RetentionPolicy(age: .seconds(3_600))
        let retention = Retention(log: store.log, policy: policy, clock: clock)
        var calendar = WallClockGuard(stored: nil, now: clock.sighting())
        await retention.pass(&calendar)
        #expect(try await store.log.state(of: room).floor == 0)

        clock.jump(by: .seconds(400 * 86_400))
        for _ in 0..<3 {
            await retention.pass(&calendar)
            #expect(try await store.log.state(of: room).floor == 0)
            clock.move(by: .seconds(3_600))
        }
        clock.move(by: Self.day)
        await retention.pass(&calendar)
        #expect(try await store.log.state(of: room).floor == 5)
        await store.remove()
    }

    @Test("ends when it is cancelled")
    func cancelling() async {
        let retention = Retention(
            log: ScriptedLog(), policy: RetentionPolicy(), clock: TestClock())
        let running = Task { await retention.run() }
        running.cancel()
        await running.value
    }
}
