import Foundation
import GRDB
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Chains under faults")
struct ChainFaultTests {
    private typealias Script = EngineTests.Script

    @Test(
        "A changed definition suspends the chain, with the reason; with a compatible one it goes on, with tasks matched by name"
    )
    func changedDefinition() async throws {
        let fixture = try EngineFixture()
        func version(_ number: Int, compatibleWith: Set<Int> = [], extra: Bool) -> Chain<Int> {
            Chain<Int>("upgraded", version: number, compatibleWith: compatibleWith) { _ in
                Work("a", Say.self) { _ in .init(line: "a") }
                if extra { Work("extra", Say.self) { _ in .init(line: "extra") } }
                WaitFor(for: .session)
                Work("b", Say.self) { _ in .init(line: "b") }
            }
        }
        let first = version(1, extra: false)
        var chains = try await fixture.open([first])
        let id = try await chains.start(first, input: 1)
        try await eventually("it waits") { try await chains.status(id)?.tasks[1].hold != nil }
        await fixture.close()

        chains = try await fixture.open([version(2, extra: true)])
        await fixture.journal?.setReady(.session)
        try await chains.wait(id, for: .suspended)
        #expect(try await chains.status(id)?.reason?.contains("has changed") == true)
        #expect(fixture.checker.all == ["a 1"])
        await fixture.close()

        chains = try await fixture.open([version(3, compatibleWith: [1], extra: true)])
        await fixture.journal?.setReady(.session)
        try await chains.wait(id, for: .succeeded)
        #expect(fixture.checker.all == ["a 1", "extra 1", "b 1"])
        #expect(try await chains.status(id)?.version == 3)
        // What held it up on its way is no reason any more.
        #expect(try await chains.status(id)?.reason == nil)
        await fixture.close()
    }

    @Test("A permanent failure counts as one, and so does the last of many attempts")
    func failures() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let once = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", isPermanent: true)]]))
        try await chains.wait(once, for: .failed)
        #expect(try await chains.status(once)?.tasks[0].failures == 1)
        let often = try await chains.start(
            chain, input: Script(steps: [[.init(line: "b", failures: 100)]]))
        try await chains.wait(often, for: .failed)
        let task = try #require(try await chains.status(often)?.tasks[0])
        #expect(task.failures == task.attempts)
        await fixture.close()
    }

    @Test("Two definitions of one name are refused with a code of its own")
    func duplicateDefinitions() {
        var configuration = Chains.Configuration()
        configuration.chains = [EngineTests.script(), EngineTests.script()]
        expectError(.duplicateChain) { try configuration.check() }
    }

    @Test("A chain is suspended while its definition or a worker is not registered")
    func unregistered() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        var chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", hangs: true)]]))
        try await eventually("a runs") { fixture.checker.all == ["a 1"] }
        await fixture.close()
        chains = try await fixture.open([])
        try await chains.wait(id, for: .suspended)
        #expect(try await chains.status(id)?.reason?.contains("script") == true)
        await fixture.close()
        chains = try await fixture.open([chain], workers: [])
        try await eventually("it says which worker") {
            try await chains.status(id)?.reason?.contains("say") == true
        }
        await fixture.close()
        chains = try await fixture.open([chain])
        try await eventually("a runs again") { fixture.checker.all.count == 2 }
        #expect(try await chains.status(id)?.state == .running)
        await fixture.close()
    }

    @Test(
        "Each task of a step is held while its worker is missing, and runs once it is there again")
    func unregisteredTogether() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        var chains = try await fixture.open([chain])
        let parts = ["a", "b", "c", "d"].map { Say.Input(line: $0, hangs: true) }
        let id = try await chains.start(chain, input: Script(steps: [parts]))
        try await eventually("all run") { fixture.checker.all.count == 4 }
        await fixture.close()
        chains = try await fixture.open([chain], workers: [])
        try await chains.wait(id, for: .suspended)
        try await eventually("each of them is held") {
            try await chains.status(id)?.tasks.allSatisfy { $0.hold == "parked" } == true
        }
        await fixture.close()
        chains = try await fixture.open([chain])
        try await eventually("all run again") { fixture.checker.all.count == 8 }
        await fixture.close()
    }

    @Test("A paused chain stays paused while a worker is missing and registered again")
    func pausedWithout() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        var chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", hangs: true)]]))
        try await eventually("a runs") { fixture.checker.all == ["a 1"] }
        try await chains.pause(id)
        try await chains.wait(id, for: .paused)
        await fixture.close()
        chains = try await fixture.open([chain], workers: [])
        await fixture.close()
        chains = try await fixture.open([chain])
        #expect(try await chains.status(id)?.state == .paused)
        try await chains.resume(id)
        try await eventually("a runs again") { fixture.checker.all.count == 2 }
        await fixture.close()
    }

    @Test(
        "A broken row quarantines its chain; the others go on, and the next of its name begins",
        arguments: [
            "UPDATE chain SET input = x'7b' WHERE seq = (SELECT MIN(seq) FROM chain WHERE name = 'bad')",
            "UPDATE chainTask SET state = 77 WHERE chain = (SELECT MIN(seq) FROM chain WHERE name = 'bad')",
            "DELETE FROM chainTask WHERE place = 1 AND chain = (SELECT MIN(seq) FROM chain WHERE name = 'bad')",
            "UPDATE chainTask SET takenBack = 9223372036854775807 WHERE chain = (SELECT MIN(seq) FROM chain WHERE name = 'bad')",
        ])
    func brokenRow(damage: String) async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        var chains = try await fixture.open([chain], runs: false)
        let steps = Script(steps: [[.init(line: "a")], [.init(line: "b")]])
        let bad = try await chains.start(chain, input: steps, name: "bad")
        let next = try await chains.start(chain, input: steps, name: "bad", onConflict: .append)
        let good = try await chains.start(chain, input: steps)
        await fixture.close()
        try fixture.sqlite(damage)
        chains = try await fixture.open([chain])
        let progress = chains.progress(of: bad)
        let watch = Task { await progress.reduce(into: ChainState?.none) { $0 = $1.state } }
        try await chains.wait(good, for: .succeeded)
        try await chains.wait(bad, for: .quarantined)
        #expect(try await chains.status(bad)?.reason?.contains("corrupt") == true)
        #expect(await watch.value == .quarantined, "who watches it is told")
        try await chains.wait(next, for: .succeeded)
        await fixture.close()
    }

    @Test(
        "A task whose entry cannot be read runs again from the next start on",
        arguments: ["attempt = -1", "attempt = 9223372036854775807", "state = 77"])
    func brokenEntry(damage: String) async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        try await chains.start(chain, input: Script(steps: [[.init(line: "a", hangs: true)]]))
        try await eventually("a runs") { fixture.checker.all == ["a 1"] }
        await fixture.close()
        try fixture.sqlite("UPDATE entry SET \(damage) WHERE kind = 'chains'")
        try await fixture.open([chain])
        let journal = try #require(fixture.journal)
        try await eventually("the entry is quarantined") {
            try await journal.read { db in
                try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM quarantine") == 1
            }
        }
        await fixture.close()
        try await fixture.open([chain])
        try await eventually("a runs again") { fixture.checker.count > 1 }
        await fixture.close()
    }

    @Test("A task whose number of attempts is damaged can be shown")
    func shownAttempts() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", hangs: true)]]))
        try await eventually("a runs") { fixture.checker.all == ["a 1"] }
        await fixture.close()
        try fixture.sqlite(
            """
            UPDATE chainTask SET attempts = 9223372036854775807;
            UPDATE entry SET attempt = 1 WHERE kind = 'chains';
            """)
        let viewer = ChainViewer(at: fixture.folder.url, schemas: [Chains.schema])
        #expect(try viewer.show(id.text).tasks.map(\.attempts) == [.max])
    }

    @Test(
        "A waiting task that cannot be read quarantines its chain once its wait is over; others go on",
        arguments: ["NULL", "x'ff'"])
    func brokenWait(value: String) async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("waiting") { _ in
            WaitFor(for: .session)
            Work("after", Say.self) { _ in .init(line: "after") }
        }
        var chains = try await fixture.open([chain])
        let bad = try await chains.start(chain, input: 1)
        let good = try await chains.start(chain, input: 2)
        for id in [bad, good] {
            try await eventually("it waits") { try await chains.status(id)?.tasks[0].hold != nil }
        }
        await fixture.close()
        // As a disk that rots, and no statement.
        let (whole, lax) = ("name TEXT NOT NULL", "name ANY")
        for (from, to, damage) in [
            (whole, lax, ""),
            (
                lax, whole,
                """
                UPDATE chainTask SET name = \(value)
                WHERE place = 0 AND chain = (SELECT MIN(seq) FROM chain);
                """
            ),
        ] {
            try fixture.sqlite(
                """
                \(damage)
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = replace(sql, '\(from)', '\(to)')
                WHERE name = 'chainTask';
                """)
        }
        chains = try await fixture.open([chain])
        await fixture.journal?.setReady(.session)
        try await chains.wait(good, for: .succeeded)
        try await chains.wait(bad, for: .quarantined)
        #expect(fixture.checker.all == ["after 1"])
        await fixture.close()
    }

    @Test(
        "A missing or changed output file, or a folder for it, quarantines the chain that needs it",
        arguments: ["missing", "changed", "folder"])
    func brokenFile(damage: String) async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("file") { _ in
            let big = Work("big", Say.self) { _ in .init(line: "big", bytes: 20_000) }
            big
            WaitFor(for: .session)
            Work("read", Say.self) { done in .init(line: "\(try done[big].utf8.count)") }
        }
        var chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await eventually("it waits") { try await chains.status(id)?.tasks[1].hold != nil }
        await fixture.close()
        let folder = fixture.folder.appending("outputs")
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
        let file = folder.appendingPathComponent(name)
        try FileManager.default.removeItem(at: file)
        switch damage {
        case "changed": try Data(repeating: 0x22, count: 20_005).write(to: file)
        case "folder":
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        default: break
        }
        chains = try await fixture.open([chain])
        await fixture.journal?.setReady(.session)
        try await chains.wait(id, for: .quarantined)
        await fixture.close()
    }

    /// Has the name of ``Say``, and makes something else.
    private struct Counted: Worker {
        static let identifier = Say.identifier
        func run(_ input: Say.Input, _ work: WorkContext) async throws -> Int { input.bytes }
    }

    @Test(
        "An output that cannot be read is malformed: of another type, of a file that has changed or is missing"
    )
    func unreadableOutput() async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("file") { _ in
            Work("big", Say.self) { _ in .init(line: "big", bytes: 20_000) }
        }
        let chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: 1)
        try await chains.wait(id, for: .succeeded)
        func fault(_ worker: (some Worker).Type) async -> RepriseError.Code? {
            let error = await #expect(throws: RepriseError.self) {
                try await chains.output(of: "big", by: worker, in: id)
            }
            return error?.code
        }
        #expect(await fault(Counted.self) == .malformed)
        let folder = fixture.folder.appending("outputs")
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
        let file = folder.appendingPathComponent(name)
        try Data(repeating: 0x22, count: 20_005).write(to: file)
        #expect(await fault(Say.self) == .malformed)
        try FileManager.default.removeItem(at: file)
        #expect(await fault(Say.self) == .malformed)
        await fixture.close()
    }

    @Test("An output file that no row names is removed at the next start")
    func orphan() async throws {
        let fixture = try EngineFixture()
        let folder = fixture.folder.appending("outputs")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("x".utf8).write(to: folder.appendingPathComponent("orphan"))
        try await fixture.open([])
        try await eventually("it is gone") {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty
        }
        await fixture.close()
    }

    @Test("A tool's commands come through the spool; a malformed one is a dead letter")
    func spool() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", hangs: true)]]))
        try await eventually("a runs") { fixture.checker.all == ["a 1"] }
        let spool = Spool(at: fixture.folder.url)
        try spool.record(NewEntry(kind: "chains-command", source: "tool", payload: Array("{".utf8)))
        let command = #"{"command":"cancel","chain":"\#(id)"}"#
        try spool.record(
            NewEntry(kind: "chains-command", source: "tool", payload: Array(command.utf8)))
        let journal = try #require(fixture.journal)
        try await journal.mergeSpool()
        try await chains.wait(id, for: .cancelled)
        try await eventually("it is dead") { try await journal.deadLetters().count == 1 }
        await fixture.close()
    }

    @Test(
        "An ended chain is removed after its retention, and the ledger still counts it",
        .limit("chains.retention"))
    func retention() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: Script(steps: [[.init(line: "a")]]))
        try await chains.wait(id, for: .succeeded)
        let journal = try #require(fixture.journal)
        let before = try await journal.ledger()
        for _ in 0..<6 * 24 {
            fixture.time?.advance(by: .seconds(3_600))
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(try await chains.status(id)?.state == .succeeded, "after six days it is there")
        try await eventually("it has left") {
            fixture.time?.advance(by: .seconds(3_600))
            return try await chains.status(id) == nil
        }
        let after = try await journal.ledger()
        #expect(after.isBalanced)
        #expect(after.accepted == before.accepted)
        await fixture.close()
    }

    @Test(
        "An ended chain stays for its retention, though the calendar jumps while the device is off")
    func hiddenJump() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let chain = EngineTests.script()
        let first = try await fixture.open([chain])
        let id = try await first.start(chain, input: Script(steps: [[.init(line: "a")]]))
        try await first.wait(id, for: .succeeded)
        await fixture.close()
        fixture.time?.jumpWall(by: .seconds(400 * 86_400))
        fixture.time?.restart()
        let second = try await fixture.open([chain])
        for _ in 0..<2 * 24 {
            fixture.time?.advance(by: .seconds(3_600))
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(try await second.status(id)?.state == .succeeded)
        await fixture.close()
    }

    @Test(
        "An invalid chain is refused with an error code, and not started",
        .limit("chains.tasks", "chains.names", "chains.input"))
    func refused() async throws {
        let fixture = try EngineFixture()
        let huge = Chain<Int>("huge") { count in
            for number in 0..<count { Work("\(number)", Say.self) { _ in .init(line: "") } }
        }
        let wide = Chain<Int>("wide") { count in
            Parallel {
                for number in 0..<count { Work("\(number)", Say.self) { _ in .init(line: "") } }
            }
        }
        let twice = Chain<Int>("twice") { _ in
            Work("a", Say.self) { _ in .init(line: "") }
            Work("a", Say.self) { _ in .init(line: "") }
        }
        let empty = Chain<Int>("empty") { count in
            if count < 0 { Work("a", Say.self) { _ in .init(line: "") } }
        }
        let text = Chain<String>("text") { _ in Work("a", Say.self) { _ in .init(line: "") } }
        let all: [any ChainDefinition] = [huge, wide, twice, empty, text]
        let chains = try await fixture.open(all)
        func code(_ body: () async throws -> Void) async -> String? {
            do { try await body() } catch { return (error as? RepriseError)?.code.name }
            return nil
        }
        #expect(await code { try await chains.start(huge, input: 100_000) } == "tooLarge")
        #expect(await code { try await chains.start(wide, input: 257) } == "tooLarge")
        #expect(await code { try await chains.start(twice, input: 1) } == "malformed")
        #expect(await code { try await chains.start(empty, input: 1) } == "malformed")
        let long = String(repeating: "x", count: 300_000)
        #expect(await code { try await chains.start(text, input: long) } == "tooLarge")
        #expect(
            await code { try await chains.start(text, input: "", name: long) } == "malformed")
        #expect(await code { try await chains.cancel(ChainID("none")) } == "noSuchChain")
        #expect(try await chains.list().isEmpty)
        await fixture.close()
        let without = try await fixture.open(all, workers: [])
        #expect(await code { try await without.start(text, input: "") } == "unknownWorker")
        await fixture.close()
    }

    @Test("An output that is too large fails the task for good", .limit("chains.output"))
    func largeOutput() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", bytes: 17_000_000)]]))
        try await chains.wait(id, for: .failed)
        #expect(try await chains.status(id)?.reason?.contains("tooLarge") == true)
        #expect(fixture.checker.all == ["a 1"])
        await fixture.close()
    }
}
