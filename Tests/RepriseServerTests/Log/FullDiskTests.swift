#if os(Linux)
    import Foundation
    import RepriseCore
    import RepriseServer
    import RepriseTestSupport
    import RepriseTesting
    import RepriseWire
    import Testing

    /// A real full disk: a file system of a few megabytes in memory, which only root can mount.
    @Suite("On a full disk", .enabled(if: TemporaryDisk.canMount))
    struct FullDiskTests {
        @Test(
            "nothing is acknowledged, nothing is lost, and the log goes on by itself when space returns"
        )
        func recovers() async throws {
            let disk = try TemporaryDisk(kibibytes: 4_096)
            let room = try ChannelName("room")
            let log = try SQLiteMessageLog.open(at: disk.folder.path + "/data")
            let committer = Committer(log: log) { _ in }
            let running = Task { await committer.run() }
            disk.fill(mebibytes: 2)
            let body = "\"" + String(repeating: "x", count: 20_000) + "\""
            var (stored, refused) = ([EntryID](), [EntryID]())
            while refused.count < 5 {
                let id = EntryID.random()
                do {
                    _ = try await committer.commit([message(room, id: id, body: body)])
                    stored.append(id)
                } catch {
                    #expect(error.code == .unavailable)
                    refused.append(id)
                }
            }
            try disk.makeRoom()
            #expect(await committer.isReady())
            for id in refused {
                // Unknown became known: whether it was stored after all or not, the same id stores
                // it once.
                _ = try await committer.commit([message(room, id: id, body: body)])
            }
            let page = try await log.history(of: room, after: 0, limit: .max)
            #expect(page.events.map(\.id) == stored + refused)
            #expect(page.events.map(\.seq) == Array(1...Int64(stored.count + refused.count)))
            committer.shutdown()
            await running.value
            await log.close()
        }
    }
#endif
