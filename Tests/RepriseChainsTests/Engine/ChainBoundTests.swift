import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// Says a lot, and keeps a lot.
private struct Verbose: Worker {
    static let identifier = "verbose"
    let checker: Seen<String>

    func run(_ bytes: Int, _ work: WorkContext) async throws -> Int {
        for number in 0..<110 { await work.log("\(number) " + String(repeating: "ä", count: 300)) }
        await work.progress(0.5, String(repeating: "ä", count: 200))
        do {
            // As JSON a text has two quotation marks more.
            try await work.checkpoint(String(repeating: "x", count: bytes - 2))
            checker.add("kept")
        } catch {
            checker.add("\((error as? RepriseError)?.code.name ?? "another")")
        }
        throw DispatchFailure.permanent(String(repeating: "ä", count: 1_000))
    }
}

/// How many are at work, and how many were at most.
private final class AtWork: Sendable {
    private let state = Mutex<(now: Int, most: Int)>((0, 0))

    var most: Int { state.withLock { $0.most } }

    func began() { state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
    func ended() { state.withLock { $0.now -= 1 } }
}

/// Is at work for a moment.
private struct Busy: Worker {
    static let identifier = "busy"
    let atWork: AtWork
    /// As many as may be at work at the same time.
    let most: Int

    func run(_ number: Int, _ work: WorkContext) async throws -> Int {
        atWork.began()
        defer { atWork.ended() }
        // The first stay until as many as may be have come, however slowly they begin.
        for _ in 0..<2_000 where atWork.most < most {
            try await Task.sleep(for: .milliseconds(5))
        }
        try await Task.sleep(for: .milliseconds(5))
        return number
    }
}

@Suite("Bounds of chains", .timeLimit(.minutes(1)))
struct ChainBoundTests {
    @Test(
        "A checkpoint has 8,192 bytes, a note 256, a line of the log 512, an error 1,024, and the log 100 lines",
        .limit("chains.checkpoint", "chains.texts", "chains.log"),
        arguments: [(8_192, "kept"), (8_193, "tooLarge")])
    func texts(_ bytes: Int, _ outcome: String) async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("verbose") { bytes in Work("a", Verbose.self) { _ in bytes } }
        let chains = try await fixture.open([chain], workers: [Verbose(checker: fixture.checker)])
        let id = try await chains.start(chain, input: bytes)
        try await chains.wait(id, for: .failed)
        #expect(fixture.checker.all == [outcome])
        let status = try #require(try await chains.status(id))
        // The chain itself says something about its end.
        let lines = status.log.filter { $0.first?.isNumber == true }
        #expect(status.log.count == 100)
        #expect(lines.allSatisfy { (500...512).contains($0.utf8.count) } && lines.count > 90)
        let note = try #require(status.tasks[0].note)
        #expect((250...256).contains(note.utf8.count))
        let error = try #require(status.tasks[0].error)
        #expect((1_000...1_024).contains(error.utf8.count))
        await fixture.close()
    }

    @Test(
        "A task whose input is more than 262,144 bytes fails for good, and is not run",
        .limit("chains.input"))
    func taskInput() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("large") { bytes in
            Work("a", Say.self) { _ in .init(line: String(repeating: "x", count: bytes)) }
        }
        let chains = try await fixture.open([chain])
        let small = try await chains.start(chain, input: 262_000)
        try await chains.wait(small, for: .succeeded)
        let large = try await chains.start(chain, input: 262_144)
        try await chains.wait(large, for: .failed)
        #expect(fixture.checker.all.count == 1)
        #expect(try await chains.status(large)?.reason?.contains("The input cannot") == true)
        await fixture.close()
    }

    @Test(
        "No more tasks run at the same time than the app sets, 8 by default",
        .limit("chains.concurrency"))
    func concurrency() async throws {
        for (configured, most) in [(nil, 8), (3, 3)] as [(Int?, Int)] {
            let fixture = try EngineFixture()
            let atWork = AtWork()
            let chain = Chain<Int>("many") { count in
                Parallel {
                    for number in 0..<count { Work("\(number)", Busy.self) { _ in number } }
                }
            }
            let busy = Busy(atWork: atWork, most: most)
            let chains = try await fixture.open([chain], workers: [busy]) {
                if let configured { $0.concurrency = configured }
            }
            try await chains.wait(try await chains.start(chain, input: 60), for: .succeeded)
            #expect(atWork.most == most)
            await fixture.close()
        }
        var configuration = Chains.Configuration()
        configuration.concurrency = 65
        expectError(.badConfiguration) { try configuration.check() }
    }

    @Test("A slow reader of progress gets the newest 64 changes", .limit("chains.progress"))
    func progress() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let steps = (0..<200).map { [Say.Input(line: "\($0)")] }
        let id = try await chains.start(chain, input: .init(steps: steps))
        let (progress, other) = (chains.progress(of: id), chains.progress(of: id))
        for await change in other where change.state == .succeeded && change.done == 200 { break }
        // Who comes now waits until both have the last one.
        _ = chains.progress(of: id)
        var seen: [ChainProgress] = []
        for await change in progress { seen.append(change) }
        // What it was when it was asked, and the changes.
        #expect(seen.count == 1 + 64)
        #expect(seen.last?.state == .succeeded && seen.last?.done == 200)
        await fixture.close()
    }

    @Test(
        "With 100,000 unfinished chains no other is started until one of them has ended",
        .limit("chains.open"))
    func open() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let before = try await fixture.open([chain], runs: false)
        let first = try await before.start(chain, input: .init(steps: [[.init(line: "a")]]))
        await fixture.close()
        // Paused ones, that take no part in anything.
        try fixture.sqlite(
            """
            UPDATE chain SET state = 2;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99998)
            INSERT INTO chain (id, definition, version, hash, state, input, tasks, needs,
                needsBytes, startedAt)
            SELECT printf('%032x', i), 'script', version, hash, 2, input, tasks, needs,
                needsBytes, startedAt FROM n, (SELECT * FROM chain LIMIT 1);
            """)
        let chains = try await fixture.open([chain], runs: false)
        let last = try await chains.start(chain, input: .init(steps: [[.init(line: "b")]]))
        await expectError(.full) {
            try await chains.start(chain, input: .init(steps: [[.init(line: "c")]]))
        }
        #expect(try await chains.status(first) != nil)
        #expect(try await chains.status(last) != nil)
        await fixture.close()
        try fixture.sqlite("UPDATE chain SET state = 12 WHERE seq = 5")
        let after = try await fixture.open([chain], runs: false)
        try await after.start(chain, input: .init(steps: [[.init(line: "c")]]))
        await fixture.close()
    }

    @Test(
        "Of the inputs of tasks that are to run, memory has those of at most 8,192 bytes",
        arguments: [(8_000, true), (9_000, false)])
    func inputs(_ bytes: Int, _ isKept: Bool) async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("large") { bytes in
            Work("a", Say.self) { _ in .init(line: String(repeating: "x", count: bytes)) }
        }
        let chains = try await fixture.open([chain], runs: false)
        try await chains.start(chain, input: bytes)
        let journal = try #require(fixture.journal)
        let found = try await journal.read { db in try ChainReading.load(1, db) }
        let (row, tasks) = try #require(found)
        let plan = try ChainPlan.of(row, tasks, chain) { _ in true }
        let live = LiveChain(row: row, tasks: tasks, plan: .success(plan))
        let now = WallTime(milliseconds: 1_800_000_000_000)
        let facts = ChainFacts(
            wall: { now }, now: { now }, mayExpire: { true }, conditions: DeviceConditions(),
            isOpen: { _ in false }, hasWorker: { _ in true }, jitter: { 0 })
        var decision = ChainDecision.perform(
            ChainCommand(.begin, chain: row.id), live, facts)
        let need = decision.next()?.place
        #expect(need == nil)
        #expect(decision.writes.intents.count == 1)
        #expect((live.inputs[0] != nil) == isKept)
        await fixture.close()
    }
}
