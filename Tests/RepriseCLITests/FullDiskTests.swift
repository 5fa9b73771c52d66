import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Full disk", .enabled(if: TemporaryDisk.canMount))
struct FullDiskTests {
    private static let lines = Data((1...20_000).map { "\($0)\n" }.joined().utf8)

    @Test(
        "a device whose disk fills says so with 74, accounts for what it has, and goes on when there is room"
    )
    func device() async throws {
        let disk = try TemporaryDisk(kibibytes: 2_048)
        try await withServer { server, folder in
            let published = try await Tool.run(
                ["publish", "a", "--server", server.url], input: Self.lines)
            #expect(published.status == 0)
            let listen = ["listen", "a", "--server", server.url, "--json", "--until-complete"]
            let full = try await Tool.run(listen + ["--journal", disk.folder.path + "/j"])
            #expect(full.status == 74)
            #expect(full.error.split(separator: "\n").count == 1, "\(full.error)")
            #expect(full.error.contains("disk is full"))
            // The same journal on a larger disk.
            try FileManager.default.copyItem(
                atPath: disk.folder.path + "/j", toPath: folder.path("j"))
            let rest = try await Tool.run(listen + ["--journal", folder.path("j")])
            #expect(rest.status == 0, "\(rest.error)")
            let lines = try ListenLine.all(full.output + rest.output)
            #expect(Set(lines.map(\.seq)) == Set(1...20_000))
            let ledger = try await Tool.run("ledger", "--journal", folder.path("j"))
            #expect(ledger.status == 0)
        }
    }

    @Test(
        "a server whose disk fills stores what it acknowledges; publish gives up with 69 and the reason"
    )
    func server() async throws {
        let disk = try TemporaryDisk(kibibytes: 2_048)
        let server = try await ToolServer(data: disk.folder.path + "/data")
        let result = try await Tool.run(
            ["publish", "a", "--server", server.url, "--patience", "6", "--json"],
            input: Self.lines)
        #expect(result.status == 69)
        #expect(result.error.contains("stores nothing"), "\(result.error)")
        let summary = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        let stored = try #require(summary["published"] as? Int)
        let folder = try TemporaryFolder()
        let listened = try await Tool.run(
            "listen", "a", "--journal", folder.path("j"), "--server", server.url, "--json",
            "--until-complete")
        let lines = try ListenLine.all(listened.output)
        #expect(lines.count >= stored)
        #expect(lines.map(\.seq) == Array(1...lines.count))
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    @Test("a chat whose disk fills says so at a key, and goes on when there is room")
    func chat() async throws {
        let disk = try TemporaryDisk(kibibytes: 8_192)
        let scene = try await ChatScene()
        let ada = try PseudoTerminal(scene.arguments("ada").dropLast() + [disk.folder.path])
        try await ada.wait("live") { $0.contains { $0.contains("· live") } }
        try await scene.post(#"{"body":{"text":"hello"}}"#, as: "bob")
        try await ada.wait("it came") { $0.contains { $0.contains("1 unread") } }
        disk.fillUp()
        ada.type("x")
        try await ada.wait("it says so") { $0.contains { $0.contains("disk is full") } }
        try disk.makeRoom()
        ada.type("y")
        try await ada.wait("it is read") { !$0.contains { $0.contains("unread") } }
        ada.type("\u{15}\u{4}")
        #expect(await ada.end() == 0)
        #expect(ada.isRestored)
    }

    @Test("neither a server nor a device starts on a full disk: 74, and the remedy")
    func start() async throws {
        let disk = try TemporaryDisk(kibibytes: 2_048)
        _ = FileManager.default.createFile(atPath: disk.folder.path + "/filler", contents: nil)
        let filler = try FileHandle(
            forWritingTo: URL(fileURLWithPath: disk.folder.path + "/filler"))
        while (try? filler.write(contentsOf: Data(count: 1_024))) != nil {}
        for arguments in [
            ["serve", "--port", "0", "--data", disk.folder.path + "/data"],
            [
                "listen", "a", "--journal", disk.folder.path + "/j", "--server",
                "http://127.0.0.1:1",
            ],
        ] {
            let result = try await Tool.run(arguments)
            #expect(result.status == 74, "\(result.error)")
            #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
        }
    }

    @Test("a server whose disk was filled while it did not run says so, and starts with room")
    func startAgain() async throws {
        let disk = try TemporaryDisk(kibibytes: 2_048)
        let arguments = ["serve", "--port", "0", "--data", disk.folder.path + "/data", "--json"]
        let server = try await ToolServer(data: disk.folder.path + "/data")
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
        disk.fillUp()
        let result = try await Tool.run(arguments)
        #expect(result.status == 74, "\(result.error)")
        #expect(result.error.contains("Free some space"), "\(result.error)")
        try disk.makeRoom()
        let again = try await ToolServer(data: disk.folder.path + "/data")
        again.tool.signal(SIGTERM)
        #expect(await again.tool.end() == 0)
    }
}
