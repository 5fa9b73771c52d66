import Foundation
import GRDB
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

/// Leaves something behind, and is told when nothing will come of it.
struct Leaving: Worker {
    static let identifier = "leaving"
    let checker: Seen<String>

    func run(_ input: Say.Input, _ work: WorkContext) async throws -> String {
        try await Say(checker: checker).run(input, work)
    }

    func onAbandon(_ input: Say.Input, key: String) async {
        checker.add("given up \(input.line) \(key.split(separator: "/").last ?? "")")
    }
}

/// Does not listen when it is told to stop: each attempt ends when the test says so, the first one
/// with an error.
struct Obstinate: Worker {
    static let identifier = "obstinate"
    let checker: Seen<String>
    let ends: [Signal]

    func run(_ input: Int, _ work: WorkContext) async throws -> String {
        checker.add("begins \(work.attempt)")
        let end = ends[work.attempt - 1]
        await Task { await end.wait() }.value
        checker.add("ends \(work.attempt)")
        if work.attempt == 1 { throw DispatchFailure.permanent("The first has failed.") }
        return ""
    }
}

/// Uses another client, which is closed at its first attempt.
struct ClosedElsewhere: Worker {
    static let identifier = "closed-elsewhere"
    static let error = RepriseError(.closed, "Another client is closed.")

    func run(_ input: Int, _ work: WorkContext) async throws -> Int {
        if work.attempt == 1 { throw Self.error }
        return work.attempt
    }
}

/// Keeps two positions, and fills the disk between them.
struct PositionsWorker: Worker {
    static let identifier = "positions"
    let checker: Seen<String>
    let squeeze: @Sendable () async throws -> Void

    func run(_ input: Int, _ work: WorkContext) async throws -> String {
        let saved = work.saved(as: String.self) ?? "-"
        checker.add("\(work.attempt) from \(saved.prefix(5))")
        guard saved == "-" else { return "done" }
        try await work.checkpoint("first")
        try await squeeze()
        do {
            try await work.checkpoint(String(repeating: "x", count: 8_000))
        } catch let error as RepriseError {
            checker.add("\(error.code)")
            throw error
        }
        return "not full"
    }
}

@Suite("Edge cases of chains", .timeLimit(.minutes(1)))
struct EdgeTests {
    private typealias Script = EngineTests.Script

    @Test(
        "In a full journal a chain goes on: entries that follow from another are accepted",
        .limit("chains.open"))
    func fullJournal() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let filler = [EntryKind("filler", requires: [.session])]
        var chains = try await fixture.open(
            [chain], others: filler, runs: false, journal: { $0.pendingLimit = 2 })
        let id = try await chains.start(
            chain,
            input: Script(steps: [
                [.init(line: "a")], [.init(line: "b"), .init(line: "c"), .init(line: "d")],
            ]))
        try await fixture.journal?.record(NewEntry(kind: "filler", payload: []))
        await expectError(.full) {
            try await fixture.journal?.record(NewEntry(kind: "filler", payload: []))
        }
        await fixture.close()
        chains = try await fixture.open(
            [chain], others: filler, journal: { $0.pendingLimit = 1 })
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all.count == 4)
        let sum = try await fixture.journal?.ledger()
        #expect(sum?.isBalanced == true)
        await fixture.close()
    }

    @Test("A task that waits for conditions is late at its deadline all the same")
    func lateWhileHeld() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let device = FakeDevice(DeviceConditions(network: false))
        let chain = Chain<Int>("online") { _ in
            Work("a", Say.self) { _ in .init(line: "a") }.deadline(.seconds(60))
        }
        let chains = try await fixture.open([chain], conditions: device)
        let id = try await chains.start(
            chain, input: 1, constraints: ChainConstraints(network: true))
        try await eventually("it waits") {
            try await chains.status(id)?.tasks[0].hold == "conditions"
        }
        fixture.time?.advance(by: .seconds(30))
        #expect(try await chains.status(id)?.state == .running)
        fixture.time?.advance(by: .seconds(32))
        try await chains.wait(id, for: .failed)
        #expect(try await chains.status(id)?.reason?.contains("timedOut") == true)
        #expect(fixture.checker.all.isEmpty)
        await fixture.close()
    }

    @Test("However often conditions come and go, one command waits for a task's deadline")
    func oneDeadline() async throws {
        let fixture = try EngineFixture()
        let device = FakeDevice(DeviceConditions(network: false))
        let chain = Chain<Int>("online") { _ in
            Work("a", Say.self) { _ in .init(line: "a", hangs: true) }.deadline(.seconds(3_600))
        }
        let chains = try await fixture.open([chain], conditions: device)
        let id = try await chains.start(
            chain, input: 1, constraints: ChainConstraints(network: true))
        for number in 1...4 {
            try await eventually("it waits") {
                try await chains.status(id)?.tasks[0].hold == "conditions"
            }
            device.set(DeviceConditions())
            try await eventually("it runs") { fixture.checker.count == number }
            device.set(DeviceConditions(network: false))
        }
        try await eventually("it waits") {
            try await chains.status(id)?.tasks[0].hold == "conditions"
        }
        let journal = try #require(fixture.journal)
        let waiting = try await journal.read { db in
            try Int.fetchOne(
                db,
                sql: "SELECT COUNT(*) FROM entry WHERE kind = 'chains-command' AND state = 2")
        }
        #expect(waiting == 1)
        await fixture.close()
    }

    @Test("A calendar that is set forward makes no task late that waits with its chain in memory")
    func calendarSet() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let device = FakeDevice(DeviceConditions(network: false))
        let chain = Chain<Int>("online") { _ in
            Work("a", Say.self) { _ in .init(line: "a") }.deadline(.seconds(3_600))
            Work("b", Say.self) { _ in .init(line: "b") }
        }
        let chains = try await fixture.open([chain], conditions: device)
        let id = try await chains.start(
            chain, input: 1, constraints: ChainConstraints(network: true))
        try await eventually("it waits") {
            try await chains.status(id)?.tasks[0].hold == "conditions"
        }
        fixture.time?.jumpWall(by: .seconds(86_400))
        try await fixture.journal?.write { _ in }
        device.set(DeviceConditions())
        try await eventually("it has ended") { try await chains.status(id)?.state.isEnd == true }
        #expect(try await chains.status(id)?.state == .succeeded)
        await fixture.close()
    }

    @Test(
        "A compensation that hangs is stopped at its deadline, and the chain ends with that reason",
        .limit("chains.compensation"),
        arguments: [false, true])
    func hangingCompensation(isDeaf: Bool) async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("undone") { _ in
            Work("a", Say.self) { _ in .init(line: "a") }
                .retry(attempts: 2, Backoff(base: .milliseconds(1)))
                .compensation(with: Say.self) { _ in
                    .init(line: "undo", hangs: !isDeaf, isDeaf: isDeaf)
                }
            Work("b", Say.self) { _ in .init(line: "b", isPermanent: true) }
        }
        let chains = try await fixture.open([chain]) {
            $0.compensationDeadline = .milliseconds(50)
            $0.cancelGrace = .milliseconds(50)
        }
        let id = try await chains.start(chain, input: 1)
        try await chains.wait(id, for: .failed)
        let status = try #require(try await chains.status(id))
        #expect(status.tasks[0].compensation == .failed)
        #expect(status.tasks[0].error?.contains("not taken back in time") == true)
        #expect(fixture.checker.all == ["a 1", "b 1", "undo 1", "undo 2"])
        await fixture.close()
    }

    @Test("The end of an abandoned attempt at a compensation is not that of the next attempt")
    func abandonedCompensation() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        let (checker, ends) = (fixture.checker, [Signal(), Signal()])
        let chain = Chain<Int>("undone") { _ in
            Work("a", Say.self) { _ in .init(line: "a") }
                .retry(attempts: 2, Backoff(base: .milliseconds(1)))
                .compensation(with: Obstinate.self) { _ in 1 }
            Work("b", Say.self) { _ in .init(line: "b", isPermanent: true) }
        }
        let other = Chain<Int>("other") { _ in Work("c", Say.self) { _ in .init(line: "c") } }
        let chains = try await fixture.open(
            [chain, other],
            workers: [Say(checker: checker), Obstinate(checker: checker, ends: ends)])
        let id = try await chains.start(chain, input: 1)
        try await time.advance(by: .seconds(30)) { checker.all.contains("begins 2") }
        ends[0].raise()
        try await eventually("the first ends") { checker.all.contains("ends 1") }
        // What came before it is taken before it.
        try await chains.wait(try await chains.start(other, input: 1), for: .succeeded)
        #expect(try await chains.status(id)?.state == .failing)
        ends[1].raise()
        try await chains.wait(id, for: .failed)
        #expect(try await chains.status(id)?.tasks[0].compensation == .compensated)
        await fixture.close()
    }

    @Test(
        "A worker that does not stop at its deadline is given up, and the chain has failed",
        arguments: [false, true])
    func deafAndLate(isInterruptedBefore: Bool) async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("deaf") { _ in
            Work("a", Say.self) { _ in .init(line: "a", isDeaf: true) }
                .deadline(.milliseconds(isInterruptedBefore ? 1_000 : 50))
        }
        let chains = try await fixture.open([chain]) { $0.cancelGrace = .milliseconds(50) }
        let id = try await chains.start(chain, input: 1)
        if isInterruptedBefore {
            try await eventually("it has begun") { fixture.checker.all == ["a 1"] }
            await chains.background(granted: .milliseconds(20))
            await chains.foreground()
        }
        try await chains.wait(id, for: .failed)
        #expect(try await chains.status(id)?.reason?.contains("timedOut") == true)
        await fixture.close()
    }

    @Test("An app's error that says closed is one of its task, and chains go on")
    func closedElsewhere() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Bool>("elsewhere") { isOfInput in
            Work("a", ClosedElsewhere.self) { _ in
                guard !isOfInput else { throw ClosedElsewhere.error }
                return 1
            }.retry(attempts: 2, Backoff(base: .milliseconds(1)))
        }
        let chains = try await fixture.open([chain], workers: [ClosedElsewhere()])
        let failed = try await chains.start(chain, input: true)
        try await chains.wait(failed, for: .failed)
        let done = try await chains.start(chain, input: false)
        try await chains.wait(done, for: .succeeded)
        #expect(try await chains.status(done)?.tasks[0].attempts == 2)
        await fixture.close()
    }

    @Test("A run that ends while it reads an output for an input fails no task")
    func endedWhileReading() async throws {
        let fixture = try EngineFixture()
        let runs = Seen<Task<Void, any Error>>()
        let chain = Chain<Int>("reading") { _ in
            let big = Work("big", Say.self) { _ in .init(line: "big", bytes: 20_000) }
            big
            Work("next", Say.self) { _ in .init(line: "next") }
            Work("read", Say.self) { done in
                runs.all.first?.cancel()
                return .init(line: "\(try done[big].utf8.count)")
            }
        }
        let chains = try await fixture.open([chain], runs: false)
        let id = try await chains.start(chain, input: 1)
        runs.add(Task { try await chains.run() })
        _ = await runs.all.first?.result
        #expect(try await chains.status(id)?.state != .failed)
        runs.add(Task { try await chains.run() })
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all.contains { $0.hasPrefix("20003 ") })
        runs.all.last?.cancel()
        _ = await runs.all.last?.result
        await fixture.close()
    }

    @Test("On a full disk a checkpoint throws at the worker, which goes on from the last one")
    func fullDisk() async throws {
        let fixture = try EngineFixture()
        let checker = fixture.checker
        let chain = Chain<Int>("positions") { _ in
            Work("a", PositionsWorker.self) { _ in 1 }
                .retry(attempts: 3, Backoff(base: .milliseconds(1)))
        }
        let worker = PositionsWorker(checker: checker) {
            try await fixture.journal?.write { db in
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                try db.execute(sql: "PRAGMA max_page_count = \(pages)")
            }
        }
        let chains = try await fixture.open([chain], workers: [worker], runs: false)
        let run = Task { try await chains.run() }
        let id = try await chains.start(chain, input: 1)
        try await eventually("the worker is told") { checker.all.contains("diskFull") }
        try await fixture.journal?.write { db in
            try db.execute(sql: "PRAGMA max_page_count = 1000000")
        }
        try await chains.wait(id, for: .succeeded)
        #expect(checker.all == ["1 from -", "diskFull", "2 from first"])
        run.cancel()
        _ = await run.result
        await fixture.close()
    }

    @Test(
        "A worker releases what it left when its task is cancelled, running or not, or has failed"
    )
    func givenUp() async throws {
        let fixture = try EngineFixture()
        let device = FakeDevice(DeviceConditions(network: false))
        let chain = Chain<Say.Input>("leaving") { input in
            Work("a", Leaving.self) { _ in input }.retry(attempts: 1)
            Work("b", Leaving.self) { _ in input }
        }
        let chains = try await fixture.open(
            [chain], workers: [Leaving(checker: fixture.checker)], conditions: device)
        let running = try await chains.start(chain, input: .init(line: "runs", hangs: true))
        let held = try await chains.start(
            chain, input: .init(line: "held"), constraints: ChainConstraints(network: true))
        let failed = try await chains.start(chain, input: .init(line: "fails", isPermanent: true))
        try await eventually("it runs") { fixture.checker.all.contains("runs 1") }
        try await eventually("it waits") {
            try await chains.status(held)?.tasks[0].hold == "conditions"
        }
        try await chains.cancel(running)
        try await chains.cancel(held)
        try await chains.wait(failed, for: .failed)
        try await eventually("all are given up") {
            Set(fixture.checker.all.filter { $0.hasPrefix("given") })
                == ["given up runs a", "given up held a", "given up fails a"]
        }
        await fixture.close()
    }

    @Test("A chain that was started before sign-in goes on in the account at the same step")
    func signIn() async throws {
        let (before, after) = (try EngineFixture(), try EngineFixture())
        let go = Readiness("go")
        let chain = Chain<Int>("before") { _ in
            let big = Work("big", Say.self) { _ in .init(line: "big", bytes: 20_000) }
            big
            WaitFor(for: go)
            Work("read", Say.self) { done in .init(line: "\(try done[big].utf8.count)") }
        }
        var chains = try await before.open([chain])
        let id = try await chains.start(chain, input: 1, name: "only")
        let late = try await chains.start(chain, input: 1, after: .seconds(3_600))
        try await eventually("it waits") { try await chains.status(id)?.tasks[1].hold != nil }
        await before.close()

        try await before.open([chain], runs: false)
        try await after.open([chain], runs: false)
        let (source, target) = (try #require(before.journal), try #require(after.journal))
        // Killed in between, it is done again.
        for _ in 0..<2 { _ = try await target.adopt(from: source) }
        await before.close()
        await after.close()
        chains = try await after.open([chain])
        let status = try #require(try await chains.status(id))
        #expect(status.tasks[0].state == .succeeded)
        #expect(status.name == "only")
        #expect(try await chains.status(late)?.state == .queued)
        #expect(try await chains.list().count == 2)
        try await eventually("it waits") {
            try await chains.status(id)?.tasks[1].hold == "readiness:go"
        }
        await after.journal?.setReady(go)
        try await chains.wait(id, for: .succeeded)
        #expect(before.checker.all == ["big 1"])
        #expect(after.checker.all == ["20003 1"])
        #expect(try await after.journal?.ledger().isBalanced == true)
        await after.close()
    }

    @Test(
        "Chains of a name that were started before sign-in run one after the other in the account"
    )
    func signInInOrder() async throws {
        let (before, after) = (try EngineFixture(), try EngineFixture())
        let go = Readiness("go")
        let chain = Chain<String>("before") { line in
            WaitFor(for: go)
            Work("say", Say.self) { _ in .init(line: line) }
        }
        var chains = try await before.open([chain])
        let first = try await chains.start(chain, input: "first", name: "n")
        let second = try await chains.start(
            chain, input: "second", name: "n", onConflict: .append)
        try await eventually("the first waits") {
            try await chains.status(first)?.tasks[0].hold == "readiness:go"
        }
        await before.close()

        try await before.open([chain], runs: false)
        try await after.open([chain], runs: false)
        let (source, target) = (try #require(before.journal), try #require(after.journal))
        // Killed in between, it is done again.
        for _ in 0..<2 { _ = try await target.adopt(from: source) }
        await before.close()
        await after.close()
        chains = try await after.open([chain])
        try await eventually("the first waits there, too") {
            try await chains.status(first)?.tasks[0].hold == "readiness:go"
        }
        #expect(try await chains.status(second)?.state == .queued)
        #expect(try await chains.status(second)?.name == "n")
        await after.journal?.setReady(go)
        try await chains.wait(second, for: .succeeded)
        #expect(after.checker.all == ["first 1", "second 1"])
        await after.close()
    }
}
