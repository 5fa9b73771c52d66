import RepriseChains
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("The changes of all chains", .timeLimit(.minutes(1)))
struct ChainChangesTests {
    private func change(_ id: Int, done: Int = 0) -> ChainChange {
        ChainChange(
            id: ChainID("\(id)"), definition: "d",
            progress: ChainProgress(state: .running, done: done, total: 9))
    }

    @Test("The buffer keeps the newest unread change of each chain, in the place of the first")
    func newest() async {
        let buffer = ChangeBuffer()
        for (id, done) in [(1, 1), (2, 1), (1, 2), (3, 1), (2, 2), (1, 3)] {
            buffer.put(change(id, done: done))
        }
        #expect(await buffer.next() == change(1, done: 3))
        buffer.put(change(1, done: 4))
        #expect(await buffer.next() == change(2, done: 2))
        #expect(await buffer.next() == change(3, done: 1))
        #expect(await buffer.next() == change(1, done: 4))
    }

    @Test(
        "Beyond 1,024 chains the change unread for longest is dropped, and the reader is notified",
        .limit("chains.changes"))
    func missed() async {
        let buffer = ChangeBuffer()
        for id in 0..<1_027 { buffer.put(change(id)) }
        let first = await buffer.next()
        #expect(first?.id == ChainID("3") && first?.missed == 3)
        #expect(await buffer.next()?.missed == 0)
        var count = 2
        for id in 5..<1_027 {
            #expect(await buffer.next()?.id == ChainID("\(id)"))
            count += 1
        }
        #expect(count == 1_024)
    }

    @Test("A reader of all chains sees each of them end; one that is cancelled gets no more")
    func all() async throws {
        let fixture = try EngineFixture()
        let chain = EngineTests.script()
        let chains = try await fixture.open([chain])
        let (unread, changes) = (chains.changes(), chains.changes())
        let seen = Task {
            var ended: [ChainID: ChainChange] = [:]
            for await change in changes where change.progress.state.isEnd {
                ended[change.id] = change
                if ended.count == 3 { break }
            }
            return ended
        }
        var ids: [ChainID] = []
        for line in ["a", "b", "c"] {
            ids.append(
                try await chains.start(
                    chain,
                    input: .init(steps: (0..<20).map { [.init(line: "\(line)\($0)")] }),
                    name: line))
        }
        let ended = await seen.value
        #expect(Set(ended.keys) == Set(ids))
        #expect(ended[ids[1]]?.name == "b" && ended[ids[1]]?.definition == "script")
        #expect(ended[ids[1]]?.progress.done == 20)
        // One reads nothing meanwhile: of each chain its end is there, and nothing before it.
        var iterator = unread.makeAsyncIterator()
        for id in ids {
            let change = try #require(await iterator.next())
            #expect(change.id == id && change.progress.state == .succeeded && change.missed == 0)
        }
        let waiting = Task {
            var iterator = unread.makeAsyncIterator()
            return await iterator.next()
        }
        waiting.cancel()
        #expect(await waiting.value == nil)
        await fixture.close()
    }
}
