import Foundation
import Reprise
import RepriseNIO
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// The outbox against the real server: a journal on disk, a connection over loopback.
@Suite("Many messages in flight to the real server", .timeLimit(.minutes(2)))
struct PipelinedOutboxTests {
    private static let channel = "general"

    /// A device's journal as it stands, opened by a process that takes it over: what the former one
    /// does is refused from now on.
    private func open(_ folder: TemporaryFolder, _ server: NetworkServer, window: Int) async throws
        -> (Journal, Channels)
    {
        var configuration = Journal.Configuration()
        configuration.takeOver = true
        let kinds = Channels.kinds.map { kind in
            var kind = kind
            kind.partitionWindow = min(kind.partitionWindow, window)
            return kind
        }
        let journal = try await Journal.open(
            at: folder.appending("journal"), kinds: kinds, schemas: [Channels.schema],
            configuration: configuration)
        await journal.setReady(.journal)
        let channels = Channels(
            journal: journal, server: "http://127.0.0.1:\(server.port)",
            dialer: NIODialer(timeout: .seconds(2)))
        return (journal, channels)
    }

    private func bodies(_ server: NetworkServer) async throws -> [String] {
        let page = try await server.log.history(
            of: try ChannelName(Self.channel), after: 0, limit: 1_000)
        return page.events.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test(
        "a process that is killed again and again with many in flight loses, doubles and turns round nothing"
    )
    func kills() async throws {
        let folder = try TemporaryFolder()
        try await NetworkServer.with { server in
            for life in 0..<10 {
                let (journal, channels) = try await open(folder, server, window: 64)
                let general = try channels.channel(Self.channel)
                for index in 0..<60 { try await general.publish("\(life * 60 + index)") }
                let running = Task { try await channels.run() }
                try await eventually("some more are stored") {
                    try await bodies(server).count >= life * 60 + 20
                }
                // In hand stays in hand: the next opening finds it as a kill leaves it.
                if life == 9 {
                    try await eventually("nothing is left") {
                        try await journal.ledger().pending == 0
                    }
                }
                running.cancel()
                _ = try? await running.value
            }
            #expect(try await bodies(server) == (0..<600).map { "\($0)" })
        }
    }

    @Test("messages per second of one channel, one at a time and many", arguments: [1, 64])
    func rate(_ window: Int) async throws {
        let folder = try TemporaryFolder()
        try await NetworkServer.with { server in
            let (journal, channels) = try await open(folder, server, window: window)
            let general = try channels.channel(Self.channel)
            let count = 500
            for index in 0..<count { try await general.publish("\(index)") }
            let start = ContinuousClock.now
            let running = Task { try await channels.run() }
            try await eventually("all are stored") { try await bodies(server).count == count }
            let took = ContinuousClock.now - start
            let rate =
                Double(count)
                / (Double(took.components.attoseconds) / 1e18 + Double(took.components.seconds))
            print("one channel, \(window) in flight: \(Int(rate)) messages/s")
            #expect(try await bodies(server) == (0..<count).map { "\($0)" })
            running.cancel()
            _ = try? await running.value
            await journal.close()
        }
    }
}
