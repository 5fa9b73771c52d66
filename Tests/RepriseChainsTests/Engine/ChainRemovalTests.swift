import Foundation
import GRDB
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Removing and listing chains", .timeLimit(.minutes(1)))
struct ChainRemovalTests {
    private typealias Script = EngineTests.Script

    private func files(_ fixture: EngineFixture) -> [String] {
        let folder = fixture.folder.appending("outputs").path
        return (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    @Test(
        "A chain that has ended is deleted with its tasks, its log and its files, and the ledger counts it"
    )
    func delete() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let large = Script(steps: [[.init(line: "a", bytes: 100_000)]])
        let id = try await chains.start(chain, input: large)
        let other = try await chains.start(chain, input: large)
        for one in [id, other] { try await chains.wait(one, for: .succeeded) }
        let journal = try #require(fixture.journal)
        let number = try await journal.read { try ChainReading.seq(of: other.text, $0) }
        #expect(files(fixture).count == 2)
        try await chains.delete(other)
        #expect(try await chains.status(other) == nil)
        #expect(files(fixture).count == 1)
        let rows = try await journal.read { db in
            try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM chainTask") ?? 0
        }
        #expect(rows == 1)
        try await eventually("the ledger counts both") {
            let sum = try await journal.ledger()
            return sum.isBalanced && sum.pending == 0
        }
        // The next one gets no number that was given before.
        let third = try await chains.start(chain, input: large)
        let next = try await journal.read { try ChainReading.seq(of: third.text, $0) }
        #expect(try #require(next) == #require(number) + 1)
        try await chains.wait(third, for: .succeeded)
        #expect(try await chains.output(of: "0-a", by: Say.self, in: id)?.utf8.count == 100_001)
        await expectError(.noSuchChain) { try await chains.delete(other) }
        await fixture.close()
    }

    @Test("A damaged number of removed chains does not end a process that reads the ledger")
    func damagedCount() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let input = Script(steps: [[.init(line: "a")]])
        let (gone, left) = (
            try await chains.start(chain, input: input), try await chains.start(chain, input: input)
        )
        for one in [gone, left] { try await chains.wait(one, for: .succeeded) }
        try await chains.delete(gone)
        let journal = try #require(fixture.journal)
        try await journal.write { db in
            try db.execute(sql: "UPDATE chainRetired SET count = 9223372036854775807")
        }
        #expect(try await journal.ledger().accepted > 1)
        await fixture.close()
    }

    @Test("The files of a chain's outputs leave with it after its retention, without a restart")
    func retention() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain]) { $0.retention = .seconds(86_400) }
        let large = Script(steps: [[.init(line: "a", bytes: 100_000)]])
        let id = try await chains.start(chain, input: large)
        try await chains.wait(id, for: .succeeded)
        #expect(files(fixture).count == 1)
        try await eventually("it has left") {
            fixture.time?.advance(by: .seconds(3_600))
            return try await chains.status(id) == nil
        }
        try await eventually("its file, too") { files(fixture).isEmpty }
        await fixture.close()
    }

    @Test("A chain that has not ended is not deleted, and goes on")
    func open() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: Script(steps: [[.init(line: "a", hangs: true)]]))
        try await eventually("a runs") { fixture.checker.all == ["a 1"] }
        await expectError(.chainNotEnded) { try await chains.delete(id) }
        #expect(try await chains.clear(olderThan: .zero) == 0)
        try await chains.cancel(id)
        try await chains.wait(id, for: .cancelled)
        try await chains.delete(id)
        #expect(try await chains.list().isEmpty)
        await fixture.close()
    }

    @Test("Clearing removes chains that ended longer ago than asked, and nothing else")
    func clear() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        func ended(_ line: String) async throws -> ChainID {
            let id = try await chains.start(chain, input: Script(steps: [[.init(line: line)]]))
            try await chains.wait(id, for: .succeeded)
            return id
        }
        // More than a page of them.
        for number in 0..<ChainRemoval.page + 3 { _ = try await ended("old-\(number)") }
        let open = try await chains.start(
            chain, input: Script(steps: [[.init(line: "open", hangs: true)]]))
        fixture.time?.advance(by: .seconds(100))
        let new = try await ended("new")
        #expect(try await chains.clear(olderThan: .seconds(101)) == 0)
        #expect(try await chains.clear(olderThan: .seconds(100)) == ChainRemoval.page + 3)
        #expect(try await chains.list().map(\.id) == [new, open])
        #expect(try await chains.clear(olderThan: .zero) == 1)
        #expect(try await chains.list().map(\.id) == [open])
        await fixture.close()
    }

    @Test("A decision about a chain that has since been removed is not written")
    func left() async throws {
        let fixture = try EngineFixture()
        _ = try await fixture.open([], runs: false)
        let journal = try #require(fixture.journal)
        var writes = ChainWrites(chain: 1, id: "00", name: nil)
        writes.state = .running
        writes.commands.append((ChainCommand(.look, chain: "00"), id: "00/look", delay: nil))
        let late = writes
        let isWritten = try await journal.write { db in
            try late.perform(in: db, journal, retention: .zero)
        }
        #expect(!isWritten)
        let entries = try await journal.read { db in
            try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM entry")
        }
        #expect(entries == 0)
        await fixture.close()
    }

    @Test(
        "A tool's commands in the spool delete a chain and clear ended ones",
        arguments: [
            ("{\"command\":\"delete\",\"chain\":\"ID\"}", true),
            ("{\"command\":\"clear\",\"chain\":\"\",\"seconds\":0}", true),
            ("{\"command\":\"clear\",\"chain\":\"\",\"seconds\":-5}", false),
            ("{\"command\":\"clear\",\"chain\":\"\"}", false),
        ])
    func spool(command: String, isRemoved: Bool) async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let id = try await chains.start(chain, input: Script(steps: [[.init(line: "a")]]))
        try await chains.wait(id, for: .succeeded)
        let journal = try #require(fixture.journal)
        let payload = command.replacing("ID", with: id.text)
        try await journal.record(
            NewEntry(kind: Chains.commandKind, payload: Array(payload.utf8)))
        try await eventually("it is done") { try await journal.ledger().pending == 0 }
        #expect((try await chains.status(id) == nil) == isRemoved)
        await fixture.close()
    }

    @Test(
        "A list is filtered by state, name, definition and age, in pages of at most 1,000",
        .limit("chains.list"))
    func list() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let (chain, other) = (EngineTests.script(), EngineTests.script("other"))
        let chains = try await fixture.open([chain, other])
        let input = Script(steps: [[.init(line: "a")]])
        let ended = try await chains.start(chain, input: input)
        try await chains.wait(ended, for: .succeeded)
        let named = try await chains.start(
            other, input: Script(steps: [[.init(line: "b", hangs: true)]]), name: "n")
        try await chains.wait(named, for: .running)
        fixture.time?.advance(by: .seconds(60))
        let new = try await chains.start(
            chain, input: Script(steps: [[.init(line: "c", hangs: true)]]))
        try await chains.wait(new, for: .running)
        func ids(_ filter: ChainFilter, before: ChainID? = nil) async throws -> [ChainID] {
            try await chains.list(filter, before: before).map(\.id)
        }
        #expect(try await ids(.init()) == [new, named, ended])
        #expect(try await ids(.init(states: [.running])) == [new, named])
        #expect(try await ids(.init(states: [.running, .succeeded])) == [new, named, ended])
        #expect(try await ids(.init(states: [])) == [])
        #expect(try await ids(.init(name: "n")) == [named])
        #expect(try await ids(.init(definition: "script")) == [new, ended])
        #expect(try await ids(.init(olderThan: .seconds(60))) == [named, ended])
        #expect(try await ids(.init(states: [.running], olderThan: .seconds(60))) == [named])
        #expect(try await ids(.init(states: [.running]), before: new) == [named])
        await fixture.close()
        try fixture.sqlite(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
            INSERT INTO chain (id, definition, version, hash, state, input, tasks, needs,
                needsBytes, startedAt)
            SELECT printf('%032x', i), 'script', version, hash, 2, input, tasks, needs,
                needsBytes, startedAt FROM n, (SELECT * FROM chain LIMIT 1);
            """)
        let again = try await fixture.open([chain, other], runs: false)
        let page = try await again.list(limit: 5_000)
        #expect(page.count == 1_000)
        #expect(try await again.list(before: page.last?.id, limit: 5_000).count == 3)
        await fixture.close()
    }
}
