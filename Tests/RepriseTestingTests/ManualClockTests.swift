import Foundation
import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("A manual clock in an app's test", .timeLimit(.minutes(1)))
struct ManualClockTests {
    private static let catalogue = """
        {"format": "forms/1", "version": "1", "forms": [
            {"id": "later", "title": "Later", "triggers": [{"event": "asked", "delay": 3600}]}]}
        """

    private let clock = ManualClock()
    private let folder: TemporaryFolder
    private let server: MemoryServer
    private let notifications: MemoryNotifications
    private let screen: ScriptedWebViews

    init() throws {
        folder = try TemporaryFolder()
        server = MemoryServer(clock: clock)
        notifications = MemoryNotifications(clock: clock)
        screen = ScriptedWebViews(clock: clock)
    }

    private func configuration(_ store: MemoryReminderStore) -> RepriseConfiguration {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.url
        configuration.dialer = server
        configuration.clock = clock
        configuration.notifications = notifications.connect()
        configuration.webViews = screen
        configuration.catalogue = CatalogueSource(catalogue: Self.catalogue)
        configuration.forms = Forms.Configuration()
        configuration.reminders = Reminders.Configuration(store: store)
        configuration.reminders?.zone = { .gmt }
        configuration.notices = Notices.Configuration()
        configuration.chains = Chains.Configuration()
        configuration.chains?.chains = [Self.slow]
        configuration.chains?.workers = [Fails()]
        return configuration
    }

    private struct Fails: Worker {
        struct Once: Error {}
        static let identifier = "fails"

        func run(_ input: Int, _ work: WorkContext) async throws -> Int {
            guard work.attempt > input else { throw Once() }
            return work.attempt
        }
    }

    private static let slow = Chain<Int>("slow") { failures in
        Work("fails", Fails.self) { _ in failures }
            .retry(attempts: 3, Backoff(base: .seconds(3_600), longest: .seconds(3_600)))
    }

    @Test(
        "The journal, forms, reminders and chains wait for the test's clock, and for nothing else")
    func features() async throws {
        let store = MemoryReminderStore()
        let client = RepriseClient(configuration(store))
        let running = Task { try await client.run() }
        let event = try await client.recordEvent("asked")
        let chain = try await client.chains.start(Self.slow, input: 1)
        store.save(
            Entity(id: "run", title: "Run"),
            reminders: [
                Reminder(
                    id: "morning", schedule: Schedule(.daily, at: [TimeOfDay(9, 0)]), title: "Go")
            ])
        let entry = try #require(try await client.journal.entry(event))
        #expect(entry.recordedAt == clock.now)
        try await waitUntil("it is planned") { !notifications.pending.isEmpty }
        try await waitUntil("the chain waits for its second attempt") {
            try await client.chains.status(chain)?.tasks[0].failures == 1
        }
        #expect(screen.current == nil && notifications.delivered.isEmpty)
        // Everything that waited for an hour.
        try await clock.advance(by: .seconds(3_601)) { screen.current != nil }
        try await clock.advance(by: .seconds(3_600)) {
            try await client.chains.status(chain)?.state == .succeeded
        }
        try await clock.advance(by: .seconds(3_600)) { !notifications.delivered.isEmpty }
        #expect(notifications.delivered.first?.request.content.title == "Go")
        let rang = try #require(notifications.delivered.first?.date.milliseconds)
        #expect(rang % 86_400_000 == 9 * 3_600_000)
        running.cancel()
        try await running.value
        await client.close()
    }

    @Test("A step waits until nobody uses the clock, and no longer than 100 looks")
    func quiet() async throws {
        for busy in [30, Int.max] {
            let start = clock.now
            var looks = 0
            try await clock.advance(by: .seconds(60)) {
                looks += 1
                if looks <= busy { _ = clock.uptime() }
                return clock.now > start
            }
            #expect(clock.now == start.advanced(by: .seconds(60)))
            #expect(busy == 30 ? (35...40).contains(looks) : (100...102).contains(looks))
        }
    }

    @Test("A cancelled wait ends, and one whose time has come does not wait")
    func waits() async throws {
        let cancelled = Seen<Bool>()
        let waiting = Task { [clock] in
            do {
                try await clock.sleep(until: clock.uptime() + .seconds(1))
                cancelled.add(false)
            } catch { cancelled.add(error is CancellationError) }
        }
        try await waitUntil("it waits") { clock.sleepers.count == 1 }
        waiting.cancel()
        try await waitUntil("it ends") { cancelled.all == [true] }
        #expect(clock.sleepers.isEmpty)
        try await clock.sleep(until: clock.uptime())
    }

    @Test("Setting the calendar lets no time pass")
    func calendar() async throws {
        let before = clock.uptime()
        clock.setWall(milliseconds: 0)
        clock.jumpWall(by: .seconds(5))
        #expect(clock.now == WallTime(milliseconds: 5_000) && clock.uptime() == before)
    }

    @Test("A condition that never holds is an error")
    func never() async {
        await expectError(.timedOut) {
            try await waitUntil("pigs fly", within: .milliseconds(10)) { false }
        }
        do {
            try await clock.advance(by: .seconds(1), within: .milliseconds(10)) { false }
        } catch {
            #expect((error as? RepriseError)?.code == .timedOut)
        }
    }
}
