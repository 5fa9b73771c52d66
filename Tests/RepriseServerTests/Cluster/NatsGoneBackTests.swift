import Foundation
import RepriseCluster
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// A real nats-server whose files are replaced by an older copy, under a gateway that runs.
@Suite("A journal in NATS that goes back", .timeLimit(.minutes(1)))
struct NatsGoneBackTests {
    /// A gateway whose clock stands still: nothing is compared because time has passed.
    private struct Gateway {
        let clock = ManualClock()
        let journal: NatsJournal
        let view: ClusterView
        let log: ClusterLog
        let running: Task<Void, any Error>

        init(in folder: String, at url: String) async throws {
            let journal = try await NatsStore.journal(url)
            self.journal = journal
            view = try ClusterView.open(
                at: folder, epoch: journal.epoch, ClusterStore.configuration)
            let replica = ClusterReplica(view: view, journal: journal, clock: clock)
            log = ClusterLog(view, by: replica)
            running = Task { try await replica.run() }
        }

        func store(_ count: Int64, in room: ChannelName) async throws {
            for _ in 0..<count {
                let wanted = try log.head(of: room) + 1
                let stored = Task { try await log.append([message(room)]) }
                try await clock.advance(by: .milliseconds(100)) { try log.head(of: room) == wanted }
                _ = try await stored.value
            }
        }

        func isReached() async throws {
            try await eventually("it is connected, and the stream is there") {
                guard journal.isConnected else { return false }
                return (try? await journal.status()) != nil
            }
        }

        func close() async {
            running.cancel()
            _ = await running.result
            await view.close()
            await journal.close()
        }
    }

    @Test("No write is acknowledged behind entries that an older copy of the journal has lost")
    func olderCopy() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let (place, other) = (folder.url.appending(path: "a"), folder.url.appending(path: "b"))
        let (store, copy) = (place.appending(path: "store"), other.appending(path: "store"))
        let files = FileManager.default
        let server = try await NatsServer.start(in: place)
        defer { server.kill() }
        let room = try ChannelName("room")
        let gateway = try await Gateway(in: folder.path + "/view", at: server.url)
        try await gateway.store(5, in: room)

        server.kill()
        try files.createDirectory(at: other, withIntermediateDirectories: true)
        try files.copyItem(at: store, to: copy)
        try server.restart()
        try await gateway.isReached()
        try await gateway.store(3, in: room)
        let last = gateway.view.position.sequence

        // Others store on the older copy, where this gateway does not reach it.
        server.kill()
        let second = try await NatsServer.start(in: other)
        defer { second.kill() }
        let theirs = try await NatsStore.journal(second.url)
        let kept = try await theirs.status().last
        try #require(kept < last)
        for _ in kept..<last { await theirs.send(ClusterEntryTests.entry([.nop]).bytes) }
        try await eventually("it is as long as the lost one") {
            try await theirs.status().last == last
        }
        await theirs.close()
        second.kill()
        try files.removeItem(at: store)
        try files.moveItem(at: copy, to: store)
        try server.restart()

        // It is back within no time by the gateway's clock.
        try await gateway.isReached()
        let refused = await expectError(.corrupt) {
            _ = try await gateway.log.append([message(room)])
        }
        // Who has acknowledged it goes on.
        if refused != nil { await expectError(.corrupt) { try await gateway.running.value } }
        #expect(gateway.view.position.sequence == last)
        await gateway.close()
    }
}
