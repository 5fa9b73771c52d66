import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Chains that run")
struct EngineTests {
    /// What the tests' chains are made of.
    struct Script: Codable, Sendable {
        var steps: [[Say.Input]]
        var attempts = 3
    }

    static func script(_ name: String = "script", compensation: Bool = false) -> Chain<Script> {
        Chain<Script>(name) { script in
            for (step, tasks) in script.steps.enumerated() {
                Parallel {
                    for task in tasks {
                        if compensation {
                            Work("\(step)-\(task.line)", Say.self) { _ in task }
                                .retry(attempts: script.attempts, Backoff(base: .milliseconds(1)))
                                .compensation(with: Say.self) { _ in
                                    .init(line: "undo-\(task.line)")
                                }
                        } else {
                            Work("\(step)-\(task.line)", Say.self) { _ in task }
                                .retry(attempts: script.attempts, Backoff(base: .milliseconds(1)))
                        }
                    }
                }
            }
        }
    }

    @Test("Steps run in order, each after the one before is done")
    func inOrder() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain,
            input: Script(steps: [
                [.init(line: "a")], [.init(line: "b"), .init(line: "c")], [.init(line: "d")],
            ]))
        try await chains.wait(id, for: .succeeded)
        let all = fixture.checker.all
        #expect(all.first == "a 1")
        #expect(Set(all[1...2]) == ["b 1", "c 1"])
        #expect(all.last == "d 1")
        let journal = try #require(fixture.journal)
        try await eventually("everything is accounted for") {
            let sum = try await journal.ledger()
            return sum.pending == 0 && sum.isBalanced
        }
        await fixture.close()
    }

    @Test(
        "A task reads the outputs of earlier ones, also one that lies in a file",
        .limit("chains.output"))
    func outputs() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("outputs") { bytes in
            let big = Work("big", Say.self) { _ in .init(line: "big", bytes: bytes) }
            let small = Work("small", Say.self) { _ in .init(line: "small") }
            Parallel {
                big
                small
            }
            Work("read", Say.self) { done in
                .init(line: "\(try done[small]) \(try done[big].utf8.count)")
            }
        }
        let chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 100_000)
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all.last == "small 100003 1")
        #expect(try await chains.output(of: "small", by: Say.self, in: id) == "small")
        let big = try await chains.output(of: "big", by: Say.self, in: id)
        #expect(big?.utf8.count == 100_003)
        #expect(try await chains.output(of: "none", by: Say.self, in: id) == nil)
        #expect(try await chains.output(of: "small", by: Leaving.self, in: id) == nil)
        let files = try FileManager.default.contentsOfDirectory(
            atPath: fixture.folder.appending("outputs").path)
        #expect(files.count == 1)
        await fixture.close()
    }

    @Test("A task that fails is tried again, and the chain goes on when it succeeds")
    func retried() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", failures: 2)], [.init(line: "b")]]))
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all == ["a 1", "a 2", "a 3", "b 1"])
        let status = try #require(try await chains.status(id))
        #expect(status.tasks[0].failures == 2)
        #expect(status.tasks[0].attempts == 3)
        await fixture.close()
    }

    @Test(
        "After the last attempt the chain has failed, says why, and stays to be seen and retried",
        .limit("chains.attempts"))
    func failed() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", failures: 4)], [.init(line: "b")]]))
        try await chains.wait(id, for: .failed)
        let status = try #require(try await chains.status(id))
        #expect(status.reason?.contains("Not yet.") == true)
        #expect(status.tasks.map(\.state) == [.failed, .blocked])
        try await chains.retry(id)
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all == ["a 1", "a 2", "a 3", "a 4", "a 5", "b 1"])
        await fixture.close()
    }

    @Test("A permanent failure is not tried again")
    func permanent() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", isPermanent: true)]]))
        try await chains.wait(id, for: .failed)
        #expect(fixture.checker.all == ["a 1"])
        await fixture.close()
    }

    @Test("A chain that fails compensates its done tasks, the newest first")
    func compensated() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script(compensation: true)
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain,
            input: Script(steps: [
                [.init(line: "a")], [.init(line: "b")], [.init(line: "c", isPermanent: true)],
            ]))
        try await chains.wait(id, for: .failed)
        #expect(fixture.checker.all == ["a 1", "b 1", "c 1", "undo-b 1", "undo-a 1"])
        let status = try #require(try await chains.status(id))
        #expect(status.tasks.map(\.compensation) == [.compensated, .compensated, .none])
        await fixture.close()
    }

    @Test(
        "A cancelled chain stops its running tasks, compensates its done ones, and starts no more")
    func cancelled() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script(compensation: true)
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain,
            input: Script(steps: [
                [.init(line: "a")], [.init(line: "b", hangs: true)], [.init(line: "c")],
            ]))
        try await eventually("b runs") { fixture.checker.all.contains("b 1") }
        try await chains.cancel(id)
        try await chains.wait(id, for: .cancelled)
        #expect(fixture.checker.all == ["a 1", "b 1", "undo-a 1"])
        await fixture.close()
    }

    @Test(
        "A worker that does not stop when its chain is cancelled is given up after the grace",
        .limit("chains.cancelGrace"))
    func deaf() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script()
        let chains = try await fixture.open([chain]) { $0.cancelGrace = .milliseconds(50) }
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", isDeaf: true)]]))
        try await eventually("a runs") { fixture.checker.all.contains("a 1") }
        try await chains.cancel(id)
        try await chains.wait(id, for: .cancelled)
        await fixture.close()
    }

    @Test("A worker that does not stop when its chain is paused is given up when that is cancelled")
    func deafAndPaused() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script()
        let chains = try await fixture.open([chain]) { $0.cancelGrace = .milliseconds(50) }
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", isDeaf: true)]]))
        try await eventually("a runs") { fixture.checker.all.contains("a 1") }
        try await chains.pause(id)
        try await chains.wait(id, for: .paused)
        try await chains.cancel(id)
        try await chains.wait(id, for: .cancelled)
        await fixture.close()
    }

    @Test("A paused chain stands still, and goes on where it was when it is resumed")
    func paused() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain,
            input: Script(steps: [[.init(line: "a")], [.init(line: "b", hangs: true)]]))
        try await eventually("b runs") { fixture.checker.all.contains("b 1") }
        try await chains.pause(id)
        try await eventually("b is held") { try await chains.status(id)?.tasks[1].hold == "paused" }
        #expect(try await chains.status(id)?.state == .paused)
        try await chains.resume(id)
        try await eventually("b runs again") { fixture.checker.all.contains("b 2") }
        #expect(fixture.checker.all == ["a 1", "b 1", "b 2"])
        await fixture.close()
    }

    @Test("Of a name one chain goes on: keep starts nothing, append waits, replace cancels")
    func names() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script()
        let chains = try await fixture.open([chain])
        let first = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", hangs: true)]]), name: "n")
        let same = try await chains.start(
            chain, input: Script(steps: [[.init(line: "no")]]), name: "n")
        #expect(same == first)
        let third = try await chains.start(
            chain, input: Script(steps: [[.init(line: "b", hangs: true)]]), name: "n",
            onConflict: .append)
        try await eventually("a runs") { fixture.checker.all == ["a 1"] }
        #expect(try await chains.status(third)?.state == .queued)
        try await chains.cancel(first)
        try await eventually("b runs") { fixture.checker.all == ["a 1", "b 1"] }
        let fourth = try await chains.start(
            chain, input: Script(steps: [[.init(line: "c")]]), name: "n", onConflict: .replace)
        try await chains.wait(fourth, for: .succeeded)
        #expect(try await chains.status(third)?.state == .cancelled)
        #expect(fixture.checker.all == ["a 1", "b 1", "c 1"])
        await fixture.close()
    }

    @Test("Commands to a chain before the engine runs are carried out when it does")
    func startedBefore() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script()
        var chains = try await fixture.open([chain], runs: false)
        let id = try await chains.start(chain, input: Script(steps: [[.init(line: "a")]]))
        let other = try await chains.start(chain, input: Script(steps: [[.init(line: "b")]]))
        try await chains.cancel(other)
        await fixture.close()
        chains = try await fixture.open([chain])
        try await chains.wait(id, for: .succeeded)
        try await chains.wait(other, for: .cancelled)
        #expect(fixture.checker.all.filter { $0.hasPrefix("a") } == ["a 1"])
        await fixture.close()
    }

    @Test("Progress comes as it is made, and ends with the chain")
    func progress() async throws {
        let fixture = try EngineFixture()
        let chain = Self.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a")], [.init(line: "b")]]))
        var last: ChainProgress?
        for await progress in chains.progress(of: id) { last = progress }
        #expect(last == ChainProgress(state: .succeeded, done: 2, total: 2))
        await fixture.close()
    }
}
