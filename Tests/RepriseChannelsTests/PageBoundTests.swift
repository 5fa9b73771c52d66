import RepriseChannels
import RepriseTestSupport
import Synchronization
import Testing

@Suite("Pages of messages", .timeLimit(.minutes(1)))
struct PageBoundTests {
    @Test(
        "a reader in the transaction gets 500 messages at a time, and a list has 500 at most",
        .limit("channels.readerPage", "channels.listPage"))
    func pages() async throws {
        let bench = try await ReaderTests.stocked(1_200)
        let batches = Observer()
        let largest = Largest()
        try await bench.general.read(
            "inside",
            inTransaction: { _, messages in
                largest.saw(messages.count)
                for message in messages { batches.see(message) }
            })
        try await bench.general.caughtUp()
        #expect(batches.sequences == Array(1...1_200))
        #expect(largest.value == 500)
        #expect(try await bench.general.messages(limit: 1_000).count == 500)
        try await bench.finish()
    }
}

private final class Largest: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }
    func saw(_ number: Int) { count.withLock { $0 = max($0, number) } }
}
