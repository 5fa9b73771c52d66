import Foundation
import GRDB
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

/// Says which key it was given, and fails where it is told to.
private struct Keyed: Worker {
    struct Input: Codable, Sendable {
        var line: String
        var isPermanent = false
    }

    static let identifier = "keyed"
    let checker: Seen<String>

    func run(_ input: Input, _ work: WorkContext) async throws -> String {
        let key = work.key.split(separator: "/").dropFirst().joined(separator: "/")
        checker.add("\(input.line): \(key)")
        if input.isPermanent { throw DispatchFailure.permanent("No.") }
        return ""
    }
}

@Suite("Compensation", .timeLimit(.minutes(1)))
struct CompensationTests {
    @Test(
        "A compensation's first attempt is 1, also after a restart, and the task keeps its own count"
    )
    func firstAttempt() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script(compensation: true)
        var chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain,
            input: .init(steps: [
                [.init(line: "a", failures: 1)], [.init(line: "b", hangs: true)],
            ]))
        try await eventually("b runs") { fixture.checker.all.last == "b 1" }
        await fixture.close()
        chains = try await fixture.open([chain])
        try await chains.cancel(id)
        try await chains.wait(id, for: .cancelled)
        #expect(fixture.checker.all.last == "undo-a 1")
        let task = try #require(try await chains.status(id)?.tasks[0])
        #expect(task.attempts == 2)
        #expect(task.error == nil, "what is taken back has no fault any more")
        let name = task.name
        #expect(try await chains.output(of: name, by: Say.self, in: id) == nil)
        await fixture.close()
    }

    @Test("A compensation that was held for the device counts its attempts, and no other")
    func heldCompensation() async throws {
        let fixture = try EngineFixture()
        let device = FakeDevice(DeviceConditions())
        let chain = Chain<Int>("online") { _ in
            Work("a", Say.self) { _ in .init(line: "a") }
                .compensation(with: Say.self) { _ in .init(line: "undo", hangs: true) }
            Work("b", Say.self) { _ in .init(line: "b", isPermanent: true) }
        }
        var chains = try await fixture.open([chain], conditions: device)
        let id = try await chains.start(
            chain, input: 1, constraints: ChainConstraints(network: true))
        try await eventually("it is taken back") { fixture.checker.all.last == "undo 1" }
        device.set(DeviceConditions(network: false))
        try await eventually("it waits") {
            try await chains.status(id)?.tasks[0].hold == "conditions"
        }
        await fixture.close()
        // It is handed over and held without an attempt, before the network comes.
        chains = try await fixture.open([chain], conditions: device)
        try await eventually("it waits") {
            try await chains.status(id)?.tasks[0].hold == "conditions"
        }
        device.set(DeviceConditions())
        try await eventually("it is tried again") { fixture.checker.all.count == 4 }
        #expect(fixture.checker.all == ["a 1", "b 1", "undo 1", "undo 2"])
        #expect(try await chains.status(id)?.tasks[0].attempts == 1)
        await fixture.close()
    }

    @Test(
        "A task that runs again after its compensation has a new key, and so has its compensation; a failed one keeps its own",
        arguments: [false, true])
    func keys(restarts: Bool) async throws {
        let fixture = try EngineFixture()
        let chain = Chain<Int>("keys") { _ in
            Work("a", Keyed.self) { _ in .init(line: "a") }
                .compensation(with: Keyed.self) { _ in .init(line: "undo") }
            Work("a/undo", Keyed.self) { _ in .init(line: "b", isPermanent: true) }
        }
        let workers = [Keyed(checker: fixture.checker)]
        var chains = try await fixture.open([chain], workers: workers)
        let id = try await chains.start(chain, input: 1)
        for count in 1...3 {
            try await eventually("it has failed \(count) times") {
                let isOver = try await chains.status(id)?.state == .failed
                return isOver && fixture.checker.all.count == 3 * count
            }
            guard count < 3 else { break }
            if restarts {
                await fixture.close()
                chains = try await fixture.open([chain], workers: workers)
            }
            try await chains.retry(id)
        }
        let b = "b: a%2Fundo"
        #expect(
            fixture.checker.all == [
                "a: a", b, "undo: a/undo", "a: a/2", b, "undo: a/2/undo", "a: a/3", b,
                "undo: a/3/undo",
            ])
        await fixture.close()
    }

    @Test("A journal of an earlier version of the tables goes on with its chains")
    func migrates() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script(compensation: true)
        var chains = try await fixture.open([chain])
        let id = try await chains.start(
            chain, input: .init(steps: [[.init(line: "a")], [.init(line: "b", hangs: true)]]))
        try await eventually("b runs") { fixture.checker.all.last == "b 1" }
        await fixture.close()
        try fixture.sqlite(
            """
            ALTER TABLE chainTask DROP COLUMN undoAttempts;
            ALTER TABLE chainTask DROP COLUMN takenBack;
            ALTER TABLE chainTask DROP COLUMN undoInput;
            DROP TABLE chainNumber;
            DROP INDEX chainTells;
            ALTER TABLE chain DROP COLUMN tells;
            DROP TABLE chainSchedule;
            DELETE FROM grdb_migrations WHERE identifier LIKE 'chains/%' AND identifier > 'chains/1';
            """)
        chains = try await fixture.open([chain])
        try await eventually("b runs again") { fixture.checker.all.last == "b 2" }
        try await chains.cancel(id)
        try await chains.wait(id, for: .cancelled)
        #expect(fixture.checker.all.last == "undo-a 1")
        let names = try await fixture.journal?.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT identifier FROM grdb_migrations WHERE identifier LIKE 'chains/%'")
        }
        #expect(
            names == (1...6).map { "chains/\($0)" }, "a new one adds its former version here")
        await fixture.close()
    }

    /// A chain whose first task is taken back, by an undo that does not end.
    private static let hanging = Chain<Int>("hanging") { _ in
        Work("a", Say.self) { _ in .init(line: "a") }
            .compensation(with: Say.self) { _ in .init(line: "undo", hangs: true) }
        Work("b", Say.self) { _ in .init(line: "b", isPermanent: true) }
    }

    private func shown(_ id: ChainID, of fixture: EngineFixture) throws -> (
        task: String?, compensation: String?
    ) {
        let viewer = ChainViewer(at: fixture.folder.url, schemas: [Chains.schema])
        let task = try #require(try viewer.show(id.text).tasks.first)
        func text(_ content: StoredContent) -> String? {
            content.bytes.map { String(decoding: $0, as: UTF8.self) }
        }
        return (text(task.input), text(task.compensationInput))
    }

    @Test("The input of a task is shown beside that of its compensation, after a restart too")
    func bothInputs() async throws {
        let fixture = try EngineFixture()
        let chains = try await fixture.open([Self.hanging])
        let id = try await chains.start(Self.hanging, input: 1)
        try await eventually("it is taken back") { fixture.checker.all.last == "undo 1" }
        await fixture.close()
        let given = try shown(id, of: fixture)
        #expect(given.task?.contains(#""line":"a""#) == true)
        #expect(given.compensation?.contains(#""line":"undo""#) == true)
        try await fixture.open([Self.hanging])
        try await eventually("it is tried again") { fixture.checker.all.last == "undo 2" }
        await fixture.close()
    }

    @Test(
        "A compensation that was under way before its input had a column of its own goes on with its input"
    )
    func migratesCompensation() async throws {
        let fixture = try EngineFixture()
        let chains = try await fixture.open([Self.hanging])
        let id = try await chains.start(Self.hanging, input: 1)
        try await eventually("it is taken back") { fixture.checker.all.last == "undo 1" }
        await fixture.close()
        try fixture.sqlite(
            """
            UPDATE chainTask SET input = undoInput WHERE undoInput IS NOT NULL;
            ALTER TABLE chainTask DROP COLUMN undoInput;
            DELETE FROM grdb_migrations WHERE identifier = 'chains/3';
            """)
        let given = try shown(id, of: fixture)
        #expect(given.task == nil, "nobody knows it any more")
        #expect(given.compensation?.contains(#""line":"undo""#) == true)
        try await fixture.open([Self.hanging])
        try await eventually("it is tried again") { fixture.checker.all.last == "undo 2" }
        await fixture.close()
    }
}
