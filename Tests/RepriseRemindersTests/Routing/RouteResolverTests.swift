import RepriseCore
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Route resolution")
struct RouteResolverTests {
    private static let goal = Entity(
        id: "g", title: "Read", parts: [.init(id: "q", title: "Pages?")])

    private func resolve(
        _ route: Route, _ store: ScriptedStore, owner: String? = nil
    ) async throws -> ResolvedRoute {
        var configuration = Reminders.Configuration()
        configuration.owner = owner
        let resolver = RouteResolver(configuration)
        resolver.use(store)
        return try await resolver.resolve(RouteArrival(route))
    }

    private static func with(
        _ state: Entity.State = .active, owner: String? = nil
    ) -> Entity {
        var goal = goal
        (goal.state, goal.owner) = (state, owner)
        return goal
    }

    @Test(
        "Each finding has a resolution of its own, and a reason",
        arguments: [
            (.found(goal), nil, .active(goal, .whole)),
            (.found(goal), "q", .active(goal, .part(.init(id: "q", title: "Pages?")))),
            (.found(goal), "gone", .active(goal, .partGone(id: "gone"))),
            (.found(with(.paused)), "q", .paused(with(.paused))),
            (.found(with(.archived)), nil, .paused(with(.archived))),
            (.deleted(when: nil), nil, .deleted(when: nil)),
            (
                .deleted(when: WallTime(milliseconds: 5)), "q",
                .deleted(when: WallTime(milliseconds: 5))
            ),
            (.unknown, nil, .missing(id: "g")),
            (.replaced(by: goal), "q", .superseded(by: goal)),
        ] as [(EntityFinding, String?, Resolution)])
    func findings(finding: EntityFinding, part: String?, resolution: Resolution) async throws {
        let store = ScriptedStore { _ in finding }
        let resolved = try await resolve(Route(sort: "goal", id: "g", part: part), store)
        #expect(resolved.resolution == resolution)
        #expect(resolved.reason.count > 10)
    }

    @Test(
        "Another user's entity is not resolved, whether the route or the store names the user",
        arguments: [
            (nil, nil, nil, true), ("anna", nil, nil, true), (nil, "anna", nil, true),
            ("anna", "anna", "anna", true), ("anna", "anna", nil, true), ("bert", nil, nil, true),
            ("anna", nil, "anna", true), (nil, "bert", "anna", false),
            ("bert", nil, "anna", false), ("bert", "anna", "anna", false),
        ] as [(String?, String?, String?, Bool)])
    func owners(routes: String?, entitys: String?, signedIn: String?, isOurs: Bool) async throws {
        let store = ScriptedStore(Self.with(owner: entitys))
        let resolved = try await resolve(
            Route(sort: "goal", id: "g", owner: routes), store, owner: signedIn)
        #expect((resolved.resolution == .malformed(.anotherUser)) != isOurs)
    }

    @Test("A sort of entity that the app does not have is named, and the store is not asked")
    func sorts() async throws {
        let store = ScriptedStore(Self.goal)
        let resolved = try await resolve(Route(sort: "channel", id: "g"), store)
        #expect(resolved.resolution == .malformed(.unknownSort("channel")))
        #expect(store.finds == 0)
    }

    @Test(
        "An entity that changes during the look-up is looked up again, at most three times",
        .limit("taps.lookUpsAgain"))
    func changes() async throws {
        let resolver = RouteResolver(Reminders.Configuration())
        let store = ScriptedStore { _ in .found(Self.goal) }
        resolver.use(store)
        store.answer { _ in
            let count = store.finds
            if count == 1 { resolver.changed(.entities(["g", "other"])) }
            return count == 1 ? .found(Self.goal) : .found(Self.with(.paused))
        }
        let once = try await resolver.resolve(RouteArrival(Route(sort: "goal", id: "g")))
        #expect(once.resolution == .paused(Self.with(.paused)))
        #expect(once.reason.contains("2 times"))
        #expect(store.finds == 2)
        store.answer { _ in
            resolver.changed(.entities(["other"]))
            return .unknown
        }
        _ = try await resolver.resolve(RouteArrival(Route(sort: "goal", id: "g")))
        #expect(store.finds == 3)
        store.answer { _ in
            resolver.changed(.everything)
            return .unknown
        }
        _ = try await resolver.resolve(RouteArrival(Route(sort: "goal", id: "g")))
        #expect(store.finds == 7)
    }

    @Test("An entity's successor is looked up again if it changes meanwhile")
    func successorChanges() async throws {
        let resolver = RouteResolver(Reminders.Configuration())
        let store = ScriptedStore(Self.goal)
        resolver.use(store)
        store.answer { _ in
            guard store.finds == 1 else { return .replaced(by: Self.with(.paused)) }
            resolver.changed(.entities([Self.goal.id]))
            return .replaced(by: Self.goal)
        }
        let resolved = try await resolver.resolve(RouteArrival(Route(sort: "goal", id: "old")))
        #expect(resolved.resolution == .superseded(by: Self.with(.paused)))
        #expect(store.finds == 2)
    }

    @Test(
        "A store that blocks for ever costs its timeout, and 64 such calls are the most",
        .limit("reminders.lookUp", "taps.lookUp", "taps.abandoned"))
    func timeout() async throws {
        let time = ManualClock()
        var configuration = Reminders.Configuration()
        configuration.timekeeper = time
        let resolver = RouteResolver(configuration)
        let latch = Latch()
        defer { latch.open() }
        let store = ScriptedStore { _ in
            await latch.wait()
            return .unknown
        }
        resolver.use(store)
        let route = RouteArrival(Route(sort: "goal", id: "g"))
        let calls = (0..<64).map { _ in Task { try await resolver.resolve(route) } }
        try await eventually("all are asked") {
            time.sleepers.count == 64 && store.finds == 64
        }
        time.advance(by: .seconds(5))
        for call in calls {
            let error = await #expect(throws: RepriseError.self) { try await call.value }
            #expect(error?.code == .timedOut)
            #expect(error?.remedy != nil)
        }
        let refused = await #expect(throws: RepriseError.self) {
            try await resolver.resolve(route)
        }
        #expect(refused?.code == .unavailable)
        #expect(store.finds == 64)
    }

    @Test("A call that is late and returns after all makes room again")
    func lateReturn() async throws {
        let time = ManualClock()
        var configuration = Reminders.Configuration()
        configuration.timekeeper = time
        let resolver = RouteResolver(configuration)
        let latch = Latch()
        let store = ScriptedStore { _ in
            await latch.wait()
            return .unknown
        }
        resolver.use(store)
        let route = RouteArrival(Route(sort: "goal", id: "g"))
        let call = Task { try await resolver.resolve(route) }
        try await eventually("it is asked") { time.sleepers.count == 1 }
        time.advance(by: .seconds(5))
        await expectError(.timedOut) { try await call.value }
        #expect(resolver.abandoned == 1)
        latch.open()
        try await eventually("it has returned") { resolver.abandoned == 0 }
    }

    @Test("Without a store the answer is to wait, and a store that throws is to be asked again")
    func failures() async throws {
        let resolver = RouteResolver(Reminders.Configuration())
        let route = RouteArrival(Route(sort: "goal", id: "g"))
        let none = await #expect(throws: DispatchFailure.self) { try await resolver.resolve(route) }
        #expect(none?.advice == .notReady)
        resolver.use(ScriptedStore { _ in throw RepriseError(.diskFailed, "The disk.") })
        await expectError(.diskFailed) { try await resolver.resolve(route) }
    }
}
