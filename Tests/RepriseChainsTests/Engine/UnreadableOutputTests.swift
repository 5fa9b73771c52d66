import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

/// The disk does not give what an earlier task has made, and gives it later.
@Suite("Outputs that cannot be read now", .timeLimit(.minutes(1)))
struct UnreadableOutputTests {
    private let fixture: EngineFixture

    init() throws { fixture = try EngineFixture(manualTime: true) }

    private var outputs: URL { fixture.folder.appending("outputs") }
    private var away: URL { fixture.folder.appending("away") }

    /// A file in the place of their folder.
    private func hide() throws {
        try FileManager.default.moveItem(at: outputs, to: away)
        try Data().write(to: outputs)
    }

    private func show() throws {
        try FileManager.default.removeItem(at: outputs)
        try FileManager.default.moveItem(at: away, to: outputs)
    }

    private func waits(_ id: ChainID, _ chains: Chains, task: Int, for hold: String) async throws {
        try await eventually("it waits for \(hold)") {
            try await chains.status(id)?.tasks[task].hold == hold
        }
    }

    private func reaches(_ state: ChainState, _ id: ChainID, _ chains: Chains) async throws {
        try await eventually("it is \(state)") {
            fixture.time?.advance(by: .seconds(1))
            return try await chains.status(id)?.state == state
        }
    }

    @Test(
        "A task that needs them waits, also over a restart, and runs once they can be read",
        .limit("chains.reading"), arguments: [false, true])
    func task(restarts: Bool) async throws {
        let chain = Chain<Int>("reading") { _ in
            let big = Work("big", Say.self) { _ in .init(line: "big", bytes: 20_000) }
            big
            WaitFor(for: .session)
            Work("read", Say.self) { done in .init(line: "\(try done[big].utf8.count)") }
        }
        var chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await waits(id, chains, task: 1, for: "readiness:session")
        try hide()
        await fixture.journal?.setReady(.session)
        try await waits(id, chains, task: 2, for: "disk")
        if restarts {
            await fixture.close()
            chains = try await fixture.open([chain])
        }
        // In vain.
        fixture.time?.advance(by: .seconds(5))
        try await waits(id, chains, task: 2, for: "disk")
        #expect(try await chains.status(id)?.state == .running)
        try show()
        try await reaches(.succeeded, id, chains)
        #expect(fixture.checker.all == ["big 1", "20003 1"])
        #expect(try await chains.status(id)?.tasks[2].failures == 0)
        await fixture.close()
    }

    @Test("A compensation that needs them waits, and the effect is taken back then")
    func compensation() async throws {
        let chain = Chain<Int>("reading") { _ in
            let big = Work("big", Say.self) { _ in .init(line: "big", bytes: 20_000) }
            big
            Work("a", Say.self) { _ in .init(line: "a") }
                .compensation(with: Say.self) { done in
                    .init(line: "undo \(try done[big].utf8.count)")
                }
            WaitFor(for: .session)
            Work("b", Say.self) { _ in .init(line: "b", isPermanent: true) }
        }
        let chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await waits(id, chains, task: 2, for: "readiness:session")
        try hide()
        await fixture.journal?.setReady(.session)
        try await waits(id, chains, task: 1, for: "disk")
        #expect(try await chains.status(id)?.state == .failing)
        try show()
        try await reaches(.failed, id, chains)
        #expect(fixture.checker.all == ["big 1", "a 1", "b 1", "undo 20003 1"])
        #expect(try await chains.status(id)?.tasks[1].compensation == .compensated)
        await fixture.close()
    }

    @Test("A task that is late while it waits for them fails")
    func late() async throws {
        let chain = Chain<Int>("reading") { _ in
            let big = Work("big", Say.self) { _ in .init(line: "big", bytes: 20_000) }
            big
            WaitFor(for: .session)
            Work("read", Say.self) { done in .init(line: "\(try done[big].utf8.count)") }
                .deadline(.seconds(60))
        }
        let chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await waits(id, chains, task: 1, for: "readiness:session")
        try hide()
        await fixture.journal?.setReady(.session)
        try await waits(id, chains, task: 2, for: "disk")
        try await reaches(.failed, id, chains)
        #expect(try await chains.status(id)?.tasks[2].error?.contains("timedOut") == true)
        #expect(fixture.checker.all == ["big 1"])
        await fixture.close()
    }
}
