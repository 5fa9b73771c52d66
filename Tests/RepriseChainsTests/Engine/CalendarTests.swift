import GRDB
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// Sets the calendar back by two hours, once.
final class CalendarSetter: Sendable {
    private let time: ManualClock
    private let isDone = Mutex(false)

    init(_ time: ManualClock) { self.time = time }

    func set() {
        let isFirst = isDone.withLock { isDone in
            defer { isDone = true }
            return !isDone
        }
        if isFirst { time.jumpWall(by: .seconds(-7_200)) }
    }
}

/// While it runs the calendar is set.
struct SetsCalendar: Worker {
    static let identifier = "sets-calendar"
    let setter: CalendarSetter

    func run(_ input: Int, _ work: WorkContext) async throws -> Int {
        setter.set()
        return input
    }
}

@Suite("Chains: a calendar that is set at the worst moment", .timeLimit(.minutes(1)))
struct CalendarTests {
    @Test(
        "A calendar set back between the computation of a deadline and its commit does not move the deadline"
    )
    func beforeCommit() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        let setter = CalendarSetter(time)
        let device = FakeDevice(DeviceConditions(network: false))
        let chain = Chain<Int>("online") { _ in
            Work("a", Say.self) { _ in
                // The decision is under way, and nothing of it is written yet.
                setter.set()
                return .init(line: "a")
            }.deadline(.seconds(60))
        }
        var chains = try await fixture.open([chain], conditions: device)
        let id = try await chains.start(
            chain, input: 1, constraints: ChainConstraints(network: true))
        try await eventually("it waits") {
            try await chains.status(id)?.tasks[0].hold == "conditions"
        }
        await fixture.close()
        // In the next life there is but the row.
        chains = try await fixture.open([chain], conditions: device)
        let row = try await fixture.journal?.read {
            try Int64.fetchOne($0, sql: "SELECT deadline FROM chainTask")
        }
        #expect(row == time.now.advanced(by: .seconds(60)).milliseconds)
        time.advance(by: .seconds(62))
        // Its timer may be set only now. At most 4,000 s pass, less than the calendar was set back.
        try await eventually("it is late") {
            time.advance(by: .seconds(1))
            return try await chains.status(id)?.state == .failed
        }
        #expect(try await chains.status(id)?.reason?.contains("timedOut") == true)
        await fixture.close()
    }

    @Test("A calendar set back while a task runs makes no later task miss its deadline")
    func whileRunning() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let setter = CalendarSetter(try #require(fixture.time))
        let chain = Chain<Int>("two") { _ in
            Work("a", SetsCalendar.self) { _ in 1 }
            Work("b", Say.self) { _ in .init(line: "b") }.deadline(.seconds(3_600))
        }
        let chains = try await fixture.open(
            [chain], workers: [SetsCalendar(setter: setter), Say(checker: fixture.checker)])
        let id = try await chains.start(chain, input: 1)
        try await eventually("it has ended") { try await chains.status(id)?.state.isEnd == true }
        #expect(try await chains.status(id)?.state == .succeeded)
        #expect(fixture.checker.all == ["b 1"])
        await fixture.close()
    }
}
