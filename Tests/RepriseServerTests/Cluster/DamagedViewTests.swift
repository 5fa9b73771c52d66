import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("A view with a value that cannot be read", .timeLimit(.minutes(1)))
struct DamagedViewTests {
    @Test(
        "does not open, and says that it is to be removed",
        arguments: [
            "UPDATE applied SET digest = 7", "UPDATE applied SET time = x'ff'",
            "UPDATE sessions SET next = x'ff'", "UPDATE entries SET time = x'ff'",
            "INSERT INTO leases VALUES (1, x'ff', 1, 1)",
        ])
    func opening(sql: String) async throws {
        let store = try ClusterStore(clock: ManualClock(), faults: .none)
        try await store.reopen()
        try await store.fill(try ChannelName("a"), 1)
        let (path, epoch) = (store.folder.path + "/damaged", store.journal.epoch)
        let view = try ClusterView.open(at: path, epoch: epoch, ClusterStore.configuration)
        _ = try view.apply(store.journal.entries)
        await view.close()
        let queue = try DatabaseQueue(path: path + "/view.sqlite")
        try await queue.write { db in
            try db.execute(sql: sql)
            #expect(db.changesCount > 0)
        }
        try queue.close()
        #expect(refusal(at: path, of: epoch)?.remedy?.contains("Remove it") == true)
        await store.remove()
    }

    private func refusal(at path: String, of epoch: Epoch) -> RepriseError? {
        expectError(.corrupt) {
            try ClusterView.open(at: path, epoch: epoch, ClusterStore.configuration)
        }
    }
}
