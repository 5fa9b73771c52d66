import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

/// The app does not know the definition of a chain that should end: what it did is not forgotten.
@Suite("Chains without a definition", .timeLimit(.minutes(1)))
struct UnrecoverableTests {
    private let chain = EngineTests.script(compensation: true)

    /// A chain that has done one step and hangs in the second, in an app that has forgotten it.
    private func suspended(
        _ fixture: EngineFixture, deadline: Duration? = nil
    ) async throws -> (Chains, ChainID) {
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain,
            input: .init(steps: [[.init(line: "a")], [.init(line: "b", hangs: true)]]),
            deadline: deadline)
        try await eventually("b runs") { fixture.checker.all == ["a 1", "b 1"] }
        await fixture.close()
        let later = try await fixture.open([])
        try await later.wait(id, for: .suspended)
        return (later, id)
    }

    @Test(
        "A chain cancelled without its definition reports that, and compensates once it is registered again"
    )
    func cancelled() async throws {
        let fixture = try EngineFixture()
        var (chains, id) = try await suspended(fixture)
        try await chains.cancel(id)
        try await eventually("it says so") {
            let reason = try await chains.status(id)?.reason
            return reason?.contains("cancelled") == true && reason?.contains("script") == true
        }
        #expect(try await chains.status(id)?.state == .suspended)
        try await chains.resume(id)
        await fixture.close()
        // Another start of the same app changes nothing.
        chains = try await fixture.open([])
        try await chains.wait(id, for: .suspended)
        #expect(try await chains.status(id)?.reason?.contains("cancelled") == true)
        await fixture.close()
        chains = try await fixture.open([chain])
        try await chains.wait(id, for: .cancelled)
        #expect(fixture.checker.all == ["a 1", "b 1", "undo-a 1"])
        #expect(try await chains.status(id)?.reason == "It was cancelled.")
        #expect(try await fixture.journal?.ledger().isBalanced == true)
        await fixture.close()
    }

    @Test(
        "A chain past its deadline without its definition stays suspended, and fails once it has compensated"
    )
    func late() async throws {
        let fixture = try EngineFixture(manualTime: true)
        var (chains, id) = try await suspended(fixture, deadline: .seconds(60))
        fixture.time?.advance(by: .seconds(61))
        try await eventually("it says so") {
            try await chains.status(id)?.reason?.contains("failed") == true
        }
        #expect(try await chains.status(id)?.state == .suspended)
        await fixture.close()
        chains = try await fixture.open([chain])
        try await chains.wait(id, for: .failed)
        #expect(fixture.checker.all == ["a 1", "b 1", "undo-a 1"])
        #expect(try await chains.status(id)?.tasks[1].error?.contains("timedOut") == true)
        await fixture.close()
    }

    @Test(
        "A wait past its deadline without the chain's definition fails the chain, and all done tasks are compensated"
    )
    func lateWait() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let chain = Chain<Int>("waits") { _ in
            Work("a", Say.self) { _ in .init(line: "a") }
                .compensation(with: Say.self) { _ in .init(line: "undo-a") }
            WaitFor(for: .session).deadline(.seconds(60))
        }
        var chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await eventually("it waits") { try await chains.status(id)?.tasks[1].hold != nil }
        await fixture.close()
        chains = try await fixture.open([])
        try await eventually("it is suspended") {
            // Again, where the journal had not set its timer yet.
            fixture.time?.advance(by: .seconds(61))
            return try await chains.status(id)?.state == .suspended
        }
        await fixture.close()
        chains = try await fixture.open([chain])
        try await chains.wait(id, for: .failed)
        #expect(fixture.checker.all == ["a 1", "undo-a 1"])
        await fixture.close()
    }

    @Test(
        "A chain cancelled twice without its definition ends as it is, and reports the effects that stay"
    )
    func twice() async throws {
        let fixture = try EngineFixture()
        let (chains, id) = try await suspended(fixture)
        try await chains.cancel(id)
        try await eventually("it says so") {
            try await chains.status(id)?.reason?.contains("cancelled") == true
        }
        try await chains.cancel(id)
        try await chains.wait(id, for: .cancelled)
        let status = try #require(try await chains.status(id))
        #expect(status.reason?.contains("Nothing more is taken back") == true)
        #expect(status.tasks.map(\.state) == [.succeeded, .cancelled])
        #expect(fixture.checker.all == ["a 1", "b 1"])
        await fixture.close()
    }

    @Test("A chain without its definition and without done tasks ends when it is cancelled")
    func nothingDone() async throws {
        let fixture = try EngineFixture()
        var chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: .init(steps: [[.init(line: "a", hangs: true)]]))
        try await eventually("a runs") { fixture.checker.all == ["a 1"] }
        await fixture.close()
        chains = try await fixture.open([])
        try await chains.wait(id, for: .suspended)
        try await chains.cancel(id)
        try await chains.wait(id, for: .cancelled)
        await fixture.close()
    }
}
