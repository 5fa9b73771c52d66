import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import ServiceLifecycle
import Testing

@Suite("The end of a gateway", .timeLimit(.minutes(1)))
struct GatewayEndTests {
    @Test("A gateway whose journal is gone ends with that error, and logs none of the listener's")
    func journalLeft() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let lines = LoggedLines()
        let journal = MemoryJournal(
            seed: 1, readers: 2, stamps: SystemTimekeeper(), faults: .none)
        let server = Server(
            configuration: ServerConfiguration(port: 0, data: folder.path),
            logger: lines.logger(), onReady: { _ in journal.close() },
            openJournal: { SharedJournal(journal: journal) })
        let group = ServiceGroup(services: [server], logger: RunningServer.logger)
        let error = await #expect(throws: RepriseError.self) { try await group.run() }
        #expect(error?.code == .unavailable && error?.message.contains("followed") == true)
        // The texts of Hummingbird.
        let misleading = lines.all.filter {
            $0.contains("Waiting on child channel") || $0.contains("Server shutdown error")
        }
        #expect(misleading == [])
    }
}
