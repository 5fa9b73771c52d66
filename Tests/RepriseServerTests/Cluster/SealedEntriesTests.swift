import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Known ids in a view", .timeLimit(.minutes(1)))
struct SealedEntriesTests {
    @Test("are sealed by the entries, however many of these a transaction applies")
    func transactions() async throws {
        var configuration = ClusterStore.configuration
        configuration.log.idsPerRun = 8
        let store = try ClusterStore(clock: ManualClock(), seed: 1, faults: .none, configuration)
        try await store.reopen()
        let room = try ChannelName("a")
        for _ in 0..<12 { try await store.fill(room, 3) }
        let entries = store.journal.entries
        let alone = try ClusterView.open(
            at: store.folder.path + "/alone", epoch: store.journal.epoch, configuration)
        for entry in entries { _ = try alone.apply([entry]) }
        let together = try ClusterView.open(
            at: store.folder.path + "/together", epoch: store.journal.epoch, configuration)
        #expect(try together.apply(entries).count == entries.count)
        let rows = try alone.dump()
        #expect(rows.contains { $0.hasPrefix("run ") }, "nothing was sealed")
        #expect(try together.dump() == rows)
        await alone.close()
        await together.close()
        await store.remove()
    }
}
