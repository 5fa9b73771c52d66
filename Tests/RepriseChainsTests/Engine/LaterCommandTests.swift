import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import Testing

/// What the simulation of chains has found.
@Suite("Commands to chains that have ended")
struct LaterCommandTests {
    private let waiting = Chain<String>("waiting") { line in
        WaitFor(for: .session)
        Work("after", Say.self) { _ in .init(line: line) }
    }

    @Test("A retry does not let two chains of one name go on")
    func names() async throws {
        let fixture = try EngineFixture()
        let chains = try await fixture.open([waiting])
        let first = try await chains.start(waiting, input: "a", name: "one")
        try await chains.cancel(first)
        try await chains.wait(first, for: .cancelled)
        let second = try await chains.start(waiting, input: "b", name: "one")
        try await chains.wait(second, for: .running)
        try await chains.retry(first)
        try await chains.pause(second)
        try await chains.wait(second, for: .paused)
        #expect(try await chains.status(first)?.state == .cancelled)
        await fixture.close()
    }

    @Test(
        "A chain that is cancelled before it begins leaves no command, and one that comes late ends"
    )
    func gone() async throws {
        let fixture = try EngineFixture()
        let chains = try await fixture.open([waiting])
        let id = try await chains.start(
            waiting, input: "a", after: .seconds(3_600), deadline: .seconds(7_200))
        try await chains.cancel(id)
        try await chains.wait(id, for: .cancelled)
        let journal = try #require(fixture.journal)
        try await eventually("nothing is left to do") { try await journal.ledger().pending == 0 }
        try await chains.delete(id)
        let late = EntryID.random()
        try await journal.record(
            NewEntry(
                id: late, kind: Chains.commandKind,
                payload: ChainCommand(.late, chain: id.text, task: "after").bytes))
        try await eventually("it ends") {
            if case .finished = try await journal.entry(late)?.state { true } else { false }
        }
        #expect(try await journal.deadLetters().isEmpty)
        await fixture.close()
    }

    @Test("A chain that has succeeded is not made anew by a later version of its definition")
    func versions() async throws {
        let fixture = try EngineFixture()
        let small = Chain<Int>("grows") { _ in Work("a", Say.self) { _ in .init(line: "a") } }
        let large = Chain<Int>("grows", version: 2, compatibleWith: [1]) { _ in
            Work("a", Say.self) { _ in .init(line: "a") }
            Work("b", Say.self) { _ in .init(line: "b") }
        }
        var chains = try await fixture.open([small])
        let first = try await chains.start(small, input: 1)
        try await chains.wait(first, for: .succeeded)
        await fixture.close()
        chains = try await fixture.open([large])
        try await chains.resume(first)
        let second = try await chains.start(large, input: 2)
        try await chains.wait(second, for: .succeeded)
        #expect(try await chains.status(first)?.tasks.count == 1)
        await fixture.close()
    }
}
