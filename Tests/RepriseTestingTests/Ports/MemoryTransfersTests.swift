import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Transfers in memory", .timeLimit(.minutes(1)))
struct MemoryTransfersTests {
    @Test("A force-quit cancels what runs and nothing else, for good, and the app is told")
    func forceQuit() async throws {
        let transfers = try MemoryTransfers()
        for id in ["done", "runs"] {
            try await transfers.start(
                TransferRequest(id: id, direction: .download, url: "http://memory/file"))
        }
        try transfers.finish("done", body: [1])
        let told = Seen<String>()
        let changes = transfers.changes
        let listening = Task { for await change in changes { told.add(change.id) } }
        transfers.forceQuit()
        let known = try await transfers.transfers()
        #expect(known.map(\.id) == ["done", "runs"])
        #expect(known.last?.state == .cancelled)
        guard case .finished = known.first?.state else {
            Issue.record("\(known)")
            return
        }
        expectError(.noSuchEntry) { try transfers.finish("runs") }
        try await waitUntil("the app is told") { told.all == ["runs"] }
        listening.cancel()
    }
}
