import Foundation
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import ServiceLifecycle
import Testing

@Suite("Guarantee 1 at the server: recorded before handled")
struct DurabilityTests {
    @Test("acknowledged messages are there after a restart, with the same epoch and sequences")
    func restart() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let ids = (0..<100).map { _ in EntryID.random() }
        var first = ReceivedFrame()
        try await Self.with(folder.path) { port in
            let client = try await TestClient.connect(port: port)
            try await client.send(
                ids.map { .publish(.init(channel: channel(), id: $0, body: json(bytes: 50))) })
            var acknowledged = 0
            while acknowledged < ids.count {
                if case .published = try await client.nextFrame() { acknowledged += 1 }
            }
            try await CatchUpTests.subscribe(client, epoch: nil)
            try await CatchUpTests.receive(client, into: &first)
        }
        var second = ReceivedFrame()
        try await Self.with(folder.path) { port in
            let client = try await TestClient.connect(port: port)
            try await CatchUpTests.subscribe(client, epoch: nil)
            try await CatchUpTests.receive(client, into: &second)
        }
        #expect(second.events == first.events)
        #expect(Set(second.events.map(\.id)) == Set(ids))
        #expect(second.subscribed.map(\.epoch) == first.subscribed.map(\.epoch))
    }

    /// A server as an embedder makes it, with the log on disk.
    static func with(_ folder: String, _ body: (Int) async throws -> Void) async throws {
        let (ready, isReady) = AsyncStream<Int>.makeStream()
        let server = Server(
            configuration: ServerConfiguration(port: 0, data: folder),
            logger: RunningServer.logger
        ) { isReady.yield($0.port) }
        let group = ServiceGroup(services: [server], logger: RunningServer.logger)
        async let running: Void = {
            defer { isReady.finish() }
            try await group.run()
        }()
        var ports = ready.makeAsyncIterator()
        if let port = await ports.next() {
            do { try await body(port) } catch { Issue.record(error) }
            await group.triggerGracefulShutdown()
        }
        try await running
    }
}
