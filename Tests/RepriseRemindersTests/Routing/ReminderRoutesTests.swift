import GRDB
import RepriseCore
import RepriseJournal
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Taps on their way to a screen")
struct ReminderRoutesTests {
    private static let info = #"{"reprise":{"v":2,"sort":"goal","id":"g","part":"q"}}"#
    private static let goal = Entity(
        id: "g", title: "Read", parts: [.init(id: "q", title: "Pages?")])

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("A tap is dispatched when store and screen are there, and ends when it is presented")
    func presented() async throws {
        let store = ScriptedStore(Self.goal)
        let feature = try await RoutingFixture(in: folder, store, ui: false)
        let id = try await feature.reminders.received(tap("a", info: Self.info))
        #expect(try await feature.entry(id)?.state == .pending)
        var routes = feature.reminders.routes.makeAsyncIterator()
        await feature.journal.setReady(.ui)
        let tap = try #require(await routes.next())
        #expect(tap.id == id)
        #expect(tap.resolution == .active(Self.goal, .part(Self.goal.parts[0])))
        #expect(tap.source == .tap && tap.attempt == 1 && !tap.isTest)
        try await tap.presented()
        try await feature.ended(id, .applied, "active")
        try await eventually("the log has it") {
            try await feature.route(id) == ("active", 1, true)
        }
        try await tap.presented()
        #expect(try await feature.journal.ledger().isBalanced)
        await feature.journal.close()
    }

    @Test("The same tap by both paths is one entry, dispatched once")
    func twice() async throws {
        let store = ScriptedStore(Self.goal)
        let feature = try await RoutingFixture(in: folder, store)
        let first = try await feature.reminders.received(tap("a", info: Self.info))
        let again = try await feature.reminders.received(tap("a", info: Self.info))
        let other = try await feature.reminders.received(tap("a", at: 2, info: Self.info))
        #expect(first == again && other != first)
        var routes = feature.reminders.routes.makeAsyncIterator()
        for expected in [first, other] {
            let tap = try #require(await routes.next())
            #expect(tap.id == expected)
            try await tap.presented()
        }
        try await feature.ended(other, .applied, "active")
        #expect(store.finds == 2)
        await feature.journal.close()
    }

    @Test("Killed between dispatch and presentation it is dispatched again, and resolved anew")
    func killedBefore() async throws {
        let first = try await RoutingFixture(in: folder, ScriptedStore(Self.goal))
        let id = try await first.reminders.received(tap("a", info: Self.info))
        var routes = first.reminders.routes.makeAsyncIterator()
        _ = try #require(await routes.next())
        try await first.kill()
        let feature = try await RoutingFixture(
            in: folder, ScriptedStore { _ in .deleted(when: nil) })
        var next = feature.reminders.routes.makeAsyncIterator()
        let tap = try #require(await next.next())
        #expect(tap.id == id && tap.attempt == 2)
        #expect(tap.resolution == .deleted(when: nil))
        try await tap.presented()
        try await feature.ended(id, .applied, "deleted")
        await feature.journal.close()
    }

    @Test("Killed after the app has said that it is presented, it is not dispatched again")
    func killedAfter() async throws {
        let first = try await RoutingFixture(in: folder, ScriptedStore(Self.goal))
        let id = try await first.reminders.received(tap("a", info: Self.info))
        var routes = first.reminders.routes.makeAsyncIterator()
        let tap = try #require(await routes.next())
        // As it stands on disk after a kill between the app's word and the end of the entry.
        try await first.journal.write { db in
            try db.execute(sql: "UPDATE reminderRoute SET presented = 1")
        }
        _ = tap
        try await first.kill()
        let store = ScriptedStore(Self.goal)
        let feature = try await RoutingFixture(in: folder, store)
        let loop = Task {
            for await tap in feature.reminders.routes { Issue.record("\(tap.id) came again") }
        }
        try await feature.ended(id, .applied, "presented before")
        #expect(store.finds == 0)
        loop.cancel()
        await feature.journal.close()
    }

    @Test("A route that the app declines ends with the app's reason")
    func declined() async throws {
        let feature = try await RoutingFixture(in: folder, ScriptedStore())
        let id = try await feature.reminders.open(url: "goals://goal/nobody")
        var routes = feature.reminders.routes.makeAsyncIterator()
        let tap = try #require(await routes.next())
        #expect(tap.resolution == .missing(id: "nobody") && tap.source == .link)
        try await tap.declined("no screen for this")
        try await feature.ended(id, .applied, "declined: no screen for this")
        await feature.journal.close()
    }

    @Test("A loop that ends gives back what it has not presented, and the next loop gets it")
    func loops() async throws {
        let feature = try await RoutingFixture(in: folder, ScriptedStore(Self.goal))
        let id = try await feature.reminders.received(tap("a", info: Self.info))
        let loop = Task { [reminders = feature.reminders] in
            for await tap in reminders.routes { return tap.attempt }
            return 0
        }
        #expect(await loop.value == 1)
        var routes = feature.reminders.routes.makeAsyncIterator()
        let tap = try #require(await routes.next())
        #expect(tap.id == id && tap.attempt == 2)
        try await tap.presented()
        try await feature.ended(id, .applied, "active")
        await feature.journal.close()
    }

    @Test("A loop that is cancelled while it waits takes nothing with it")
    func cancelled() async throws {
        let feature = try await RoutingFixture(in: folder, ScriptedStore(Self.goal))
        let loop = Task { [reminders = feature.reminders] in
            var routes = reminders.routes.makeAsyncIterator()
            return await routes.next()?.id
        }
        try await Task.sleep(for: .milliseconds(10))
        loop.cancel()
        #expect(await loop.value == nil)
        let id = try await feature.reminders.received(tap("a", info: Self.info))
        var routes = feature.reminders.routes.makeAsyncIterator()
        #expect(await routes.next()?.id == id)
        await feature.journal.close()
    }

    @Test(
        "An unreadable payload is recorded, and passed to the app as malformed",
        arguments: [
            ("no JSON", .notJSON), (#"{"aps":{}}"#, .noRoute),
            (#"{"goalId":7}"#, .invalid(field: "goalId")),
            (#"{"reprise":{"v":9}}"#, .newer(version: 9)), ("large", .notJSON),
        ] as [(String, Malformation)])
    func malformed(info: String, malformation: Malformation) async throws {
        let feature = try await RoutingFixture(in: folder, ScriptedStore())
        let payload = info == "large" ? String(repeating: "x", count: 300_000) : info
        let id = try await feature.reminders.received(tap("a", info: payload))
        var routes = feature.reminders.routes.makeAsyncIterator()
        let tap = try #require(await routes.next())
        #expect(tap.resolution == .malformed(malformation))
        #expect(tap.route == nil)
        try await tap.presented()
        try await feature.ended(id, .applied, "malformed")
        await feature.journal.close()
    }

    @Test(
        "A store that throws is asked again until it answers, and the tap waits",
        .limit("taps.waits"))
    func throwing() async throws {
        let store = ScriptedStore(Self.goal)
        store.answer { _ in
            guard store.finds > 3 else { throw RepriseError(.diskFailed, "The disk.") }
            return .found(Self.goal)
        }
        let feature = try await RoutingFixture(in: folder, store)
        try await feature.reminders.received(tap("a", info: Self.info))
        var routes = feature.reminders.routes.makeAsyncIterator()
        let tap = try #require(await routes.next())
        #expect(tap.attempt == 4)
        await feature.journal.close()
    }

    @Test("A look-up that blocks does not hold up the taps behind it", .limit("taps.slowLookUp"))
    func blocking() async throws {
        let latch = Latch()
        defer { latch.open() }
        let store = ScriptedStore { route in
            if route.id == "slow" { await latch.wait() }
            return .found(Self.goal)
        }
        let feature = try await RoutingFixture(in: folder, store) {
            $0.lookUpTimeout = .seconds(600)
        }
        try await feature.reminders.open(Route(sort: "goal", id: "slow"))
        let quick = try await feature.reminders.open(Route(sort: "goal", id: "g"))
        var routes = feature.reminders.routes.makeAsyncIterator()
        let tap = try #require(await routes.next())
        #expect(tap.id == quick)
        await feature.journal.close()
    }

    @Test("A route is resolved when a loop asks for it, not before")
    func late() async throws {
        let store = ScriptedStore(Self.goal)
        let feature = try await RoutingFixture(in: folder, store)
        var routes = feature.reminders.routes.makeAsyncIterator()
        try await feature.reminders.open(Route(sort: "goal", id: "g"))
        _ = try #require(await routes.next())
        try await feature.reminders.open(Route(sort: "goal", id: "g"))
        try await eventually("it is in flight") {
            try await feature.journal.read { db in
                try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM entry WHERE incarnation NOT NULL")
            } == 2
        }
        #expect(store.finds == 1)
        store.answer { _ in .deleted(when: nil) }
        let tap = try #require(await routes.next())
        #expect(tap.resolution == .deleted(when: nil))
        await feature.journal.close()
    }

    @Test("A tap whose time is up expires", .limit("taps.life"))
    func expires() async throws {
        let time = ManualClock()
        let feature = try await RoutingFixture(
            in: folder, ScriptedStore(Self.goal), timekeeper: time, ui: false
        ) { $0.timeToLive = .seconds(60) }
        let id = try await feature.reminders.received(tap("a", info: Self.info))
        time.advance(by: .seconds(61))
        try await eventually("it expires") {
            try await feature.entry(id)?.state == .finished(.expired)
        }
        await feature.journal.close()
    }
}
