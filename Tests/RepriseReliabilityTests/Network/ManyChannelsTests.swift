import Reprise
import RepriseNIO
import RepriseServer
import RepriseTesting
import Testing

@Suite("Many channels on one connection", .timeLimit(.minutes(1)))
struct ManyChannelsTests {
    @Test("A thousand channels that each missed ten messages are complete, all of them together")
    func thousand() async throws {
        try await NetworkServer.with(ServerLimits()) { server in
            let names = (0..<1_000).map { "many-\($0)" }
            for start in stride(from: 0, to: names.count, by: 100) {
                let messages = try names[start..<start + 100].flatMap { name in
                    let channel = try ChannelName(name)
                    return (0..<10).map {
                        NewMessage(channel: channel, id: .random(), body: Array("\($0)".utf8))
                    }
                }
                _ = try await server.store(messages)
            }
            let folder = try TemporaryFolder()
            let reprise = try await AccountClient.open(
                at: folder.appending("journal"), server: "http://127.0.0.1:\(server.port)",
                dialer: NIODialer())
            let running = Task { try await reprise.run() }
            for await state in reprise.channels.connectionStates where state == .connected { break }
            let channels = try names.map { try reprise.channel($0) }
            let began = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for channel in channels {
                    group.addTask {
                        try await channel.subscribe()
                        try await channel.caughtUp()
                    }
                }
                try await group.waitForAll()
            }
            let time = ContinuousClock.now - began
            print("1,000 channels that each missed 10 messages, real server: complete in \(time)")
            #expect(try await reprise.ledger().accepted == 10_000)
            // The target is a second on a machine that does nothing else.
            #expect(time < .seconds(40))
            running.cancel()
            try await running.value
            await reprise.close()
        }
    }
}
