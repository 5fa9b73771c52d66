#if os(Linux)
    import Foundation
    import RepriseCore
    import RepriseServer
    import RepriseWire
    import Testing

    /// A real full disk: a file system of a few megabytes in memory, which only root can mount.
    @Suite("On a full disk", .enabled(if: geteuid() == 0))
    struct FullDiskTests {
        private func run(_ tool: String, _ arguments: String...) throws -> Int32 {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: tool)
            process.arguments = arguments
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            return process.terminationStatus
        }

        @Test(
            "nothing is acknowledged, nothing is lost, and the log goes on by itself when space returns"
        )
        func recovers() async throws {
            let disk = TestFolder()
            try FileManager.default.createDirectory(
                atPath: disk.path, withIntermediateDirectories: true)
            let options = "size=4m"
            let status = try run("/bin/mount", "-t", "tmpfs", "-o", options, "tmpfs", disk.path)
            guard status == 0 else { return disk.remove() }
            defer {
                _ = try? run("/bin/umount", "-l", disk.path)
                disk.remove()
            }
            try await fillAndRecover(disk)
        }

        private func fillAndRecover(_ disk: TestFolder) async throws {
            let room = try ChannelName("room")
            let log = try SQLiteMessageLog.open(at: disk.path + "/data")
            let committer = Committer(log: log) { _ in }
            let running = Task { await committer.run() }
            let ballast = URL(fileURLWithPath: disk.path + "/ballast")
            try Data(count: 2 << 20).write(to: ballast)
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
            try FileManager.default.removeItem(at: ballast)
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
