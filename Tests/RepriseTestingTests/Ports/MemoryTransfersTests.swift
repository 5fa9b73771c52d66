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

    @Test("A transfer that the app has cancelled ends with nothing else, and the app is told")
    func cancelled() async throws {
        let transfers = try MemoryTransfers()
        try await transfers.start(
            TransferRequest(id: "a", direction: .download, url: "http://memory/file"))
        var changes = transfers.changes.makeAsyncIterator()
        try await transfers.cancel("a")
        expectError(.noSuchEntry) { try transfers.finish("a") }
        #expect(await changes.next()?.state == .cancelled)
        #expect(try await transfers.transfers().map(\.state) == [.cancelled])
    }
}
