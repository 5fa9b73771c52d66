import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@Suite("One message for many connections", .timeLimit(.minutes(2)))
struct FanOutTests {
    @Test("all subscribers get it, also when a loop needs more than one turn to flush them")
    func turns() async throws {
        try await RunningServer.with { server in
            let count = 3 * FlushTurns<Int>.most
            var readers: [TestClient] = []
            for _ in 0..<count {
                let client = try await server.client()
                try await client.send(FairnessTests.request([channel()]))
                _ = try await FairnessTests.completions(client, 1)
                readers.append(client)
            }
            let publisher = try await server.client()
            for name in ["first", "second"] {
                try await publisher.send(
                    .publish(.init(channel: channel(), id: try EntryID(name), body: [0x31])))
                for reader in readers {
                    guard case .event(let event) = try await reader.nextFrame() else {
                        Issue.record("not an event")
                        return
                    }
                    #expect(event.id.text == name)
                }
            }
        }
    }
}
