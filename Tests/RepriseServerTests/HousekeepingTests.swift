import Logging
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Housekeeping")
struct HousekeepingTests {
    private static let day: Duration = .seconds(86_400)

    private static func housekeeping(
        _ log: any MessageLog, _ policy: RetentionPolicy, _ clock: any Timekeeper
    ) -> Housekeeping {
        Housekeeping(log: log, policy: policy, clock: clock, logger: Logger(label: "test"))
    }

    @Test("removes nothing after the calendar has jumped, until a day of uptime confirms it")
    func jumpedCalendar() async throws {
        let clock = ManualClock()
        let store = try SQLiteStore(clock: clock)
        try await store.reopen()
        let room = try ChannelName("room")
        try await store.fill(room, 5)
        let keeping = Self.housekeeping(
            store.log, RetentionPolicy(age: .seconds(3_600)), clock)
        var calendar = WallClockGuard(stored: nil, now: clock.clockReading())
        await keeping.pass(&calendar)
        #expect(try await store.log.state(of: room).floor == 0)

        clock.jumpWall(by: .seconds(400 * 86_400))
        for _ in 0..<3 {
            await keeping.pass(&calendar)
            #expect(try await store.log.state(of: room).floor == 0)
            clock.advance(by: .seconds(3_600))
        }
        clock.advance(by: Self.day)
        await keeping.pass(&calendar)
        #expect(try await store.log.state(of: room).floor == 5)
        await store.remove()
    }

    @Test(
        "trims to the policy minute by minute, and ends when it is cancelled",
        .timeLimit(.minutes(1)))
    func running() async throws {
        let clock = ManualClock()
        let store = try SQLiteStore(clock: clock)
        try await store.reopen()
        let room = try ChannelName("room")
        try await store.fill(room, 5)
        let keeping = Self.housekeeping(store.log, RetentionPolicy(count: 2), clock)
        let running = Task { await keeping.run() }
        for floor: Int64 in [3, 5] {
            try await eventually("a pass is over") { !clock.sleepers.isEmpty }
            #expect(try await store.log.state(of: room).floor == floor)
            try await store.fill(room, 2)
            clock.advance(by: .seconds(60))
        }
        running.cancel()
        await running.value
        await store.remove()
    }

    @Test("a server that is started more often than once a minute trims all the same")
    func atTheStart() async throws {
        let clock = ManualClock()
        let store = try SQLiteStore()
        try await store.reopen()
        let room = try ChannelName("room")
        try await store.fill(room, 5)
        let running = Task { [log = store.log] in
            await Self.housekeeping(log, RetentionPolicy(count: 2), clock).run()
        }
        try await eventually("a pass is over") { !clock.sleepers.isEmpty }
        #expect(try await store.log.state(of: room).floor == 3)
        running.cancel()
        await running.value
        await store.remove()
    }

    @Test("a pass that fails stops nothing, and the next one trims")
    func failing() async throws {
        let clock = ManualClock()
        let store = try SQLiteStore(clock: clock)
        try await store.reopen()
        let room = try ChannelName("room")
        try await store.fill(room, 5)
        var calendar = WallClockGuard(stored: nil, now: clock.clockReading())
        let closed = Self.housekeeping(store.log, RetentionPolicy(count: 2), clock)
        await store.close()
        await closed.pass(&calendar)
        try await store.reopen()
        await Self.housekeeping(store.log, RetentionPolicy(count: 2), clock).pass(&calendar)
        #expect(try await store.log.state(of: room).floor == 3)
        await store.remove()
    }
}
