import Foundation
import GRDB
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("backup and restore")
struct BackupCommandTests {
    private func epoch(_ data: String) async throws -> String? {
        let log = try DatabaseQueue(path: data + "/messages.sqlite")
        defer { try? log.close() }
        return try await log.read { try String.fetchOne($0, sql: "SELECT epoch FROM log") }
    }

    @Test(
        "a server is backed up while it stores; restored, it has a new epoch and every message of before",
        .timeLimit(.minutes(2)))
    func underLoad() async throws {
        let folder = try TemporaryFolder()
        let (data, copy, restored) = (
            folder.path("data"), folder.path("copy"), folder.path("restored")
        )
        var server = try await ToolServer(data: data)
        let lines = { (range: ClosedRange<Int>) in
            Data(range.map { "\($0)\n" }.joined().utf8)
        }
        let first = try await Tool.run(
            ["publish", "a", "--server", server.url], input: lines(1...500))
        #expect(first.status == 0)
        let journal = folder.path("journal")
        let listen = ["listen", "a", "--journal", journal, "--until-complete", "--json"]
        _ = try await Tool.run(listen + ["--server", server.url], limit: 60)

        let more = try folder.write((501...20_000).map { "\($0)\n" }.joined(), to: "more")
        let publishing = try RunningTool([
            "publish", "a", "--file", more, "--server", server.url,
        ])
        let backup = try await Tool.run("backup", "--data", data, "--to", copy)
        #expect(backup.status == 0, "\(backup.error)")
        #expect(backup.output.hasPrefix("backed up "))
        #expect(await publishing.end(within: 60) == 0)
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()

        let put = try await Tool.run("restore", "--from", copy, "--data", restored)
        #expect(put.status == 0, "\(put.error)")
        #expect(try await epoch(restored) != epoch(data))
        server = try await ToolServer(data: restored)
        // A device of before the backup: the new epoch is no loss and no repetition to it.
        let before = try await Tool.run(listen + ["--server", server.url], limit: 60)
        #expect(before.status == 0, "\(before.error)")
        let all = try await Tool.run(
            [
                "listen", "a", "--journal", folder.path("fresh"), "--until-complete", "--json",
                "--server", server.url,
            ], limit: 60)
        let bodies = try ListenLine.all(all.output).map(\.body)
        #expect(bodies.count >= 500)
        #expect(bodies == (1...max(bodies.count, 1)).map { "\($0)" })
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    @Test("a backup overwrites nothing, and a folder that is no backup is not restored")
    func refusals() async throws {
        let folder = try TemporaryFolder()
        let nothing = try await Tool.run(
            "backup", "--data", folder.path("none"), "--to", folder.path("copy"))
        #expect(nothing.status == 65)
        #expect(nothing.error.contains("There is no message log"))
        _ = try folder.write("mine", to: "file")
        let server = try await ToolServer(data: folder.path("data"))
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
        let full = try await Tool.run("backup", "--data", server.data, "--to", folder.url.path)
        #expect(full.status == 78)
        #expect(full.error.contains("nothing is overwritten"))
        let restore = try await Tool.run("restore", "--from", server.data, "--data", server.data)
        #expect(restore.status == 78)
        #expect(folder.text("file") == "mine")
    }
}
