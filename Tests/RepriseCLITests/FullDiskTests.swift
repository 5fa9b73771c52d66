import Foundation
import Testing

/// A file system of 2 MiB, where the machine lets us make one.
///
/// Only root may mount, and not in every container; elsewhere these tests do not run.
private final class ToolSmallDisk: Sendable {
    static let isPossible = (try? ToolSmallDisk()) != nil

    let path: String
    private let folder: Folder

    init() throws {
        folder = try Folder()
        path = folder.url.path
        guard Self.run("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", path) else {
            throw CocoaError(.featureUnsupported)
        }
    }

    deinit { _ = Self.run("umount", "-l", path) }

    private static func run(_ arguments: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

@Suite("Full disk", .enabled(if: ToolSmallDisk.isPossible))
struct FullDiskTests {
    private static let lines = Data((1...20_000).map { "\($0)\n" }.joined().utf8)

    @Test(
        "a device whose disk fills says so with 74, accounts for what it has, and goes on when there is room"
    )
    func device() async throws {
        let disk = try ToolSmallDisk()
        try await withServer { server, folder in
            let published = try await Tool.run(
                ["publish", "a", "--server", server.url], input: Self.lines)
            #expect(published.status == 0)
            let listen = ["listen", "a", "--server", server.url, "--json", "--until-complete"]
            let full = try await Tool.run(listen + ["--journal", disk.path + "/j"])
            #expect(full.status == 74)
            #expect(full.error.split(separator: "\n").count == 1, "\(full.error)")
            #expect(full.error.contains("disk is full"))
            // The same journal on a larger disk.
            try FileManager.default.copyItem(atPath: disk.path + "/j", toPath: folder.path("j"))
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
        let disk = try ToolSmallDisk()
        let server = try await ToolServer(data: disk.path + "/data")
        let result = try await Tool.run(
            ["publish", "a", "--server", server.url, "--patience", "2", "--json"],
            input: Self.lines)
        #expect(result.status == 69)
        #expect(result.error.contains("stores nothing"), "\(result.error)")
        let summary = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        let stored = try #require(summary["published"] as? Int)
        let folder = try Folder()
        let listened = try await Tool.run(
            "listen", "a", "--journal", folder.path("j"), "--server", server.url, "--json",
            "--until-complete")
        let lines = try ListenLine.all(listened.output)
        #expect(lines.count >= stored)
        #expect(lines.map(\.seq) == Array(1...lines.count))
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    @Test("neither a server nor a device starts on a full disk: 74, and the remedy")
    func start() async throws {
        let disk = try ToolSmallDisk()
        _ = FileManager.default.createFile(atPath: disk.path + "/filler", contents: nil)
        let filler = try FileHandle(forWritingTo: URL(fileURLWithPath: disk.path + "/filler"))
        while (try? filler.write(contentsOf: Data(count: 1_024))) != nil {}
        for arguments in [
            ["serve", "--port", "0", "--data", disk.path + "/data"],
            ["listen", "a", "--journal", disk.path + "/j", "--server", "http://127.0.0.1:1"],
        ] {
            let result = try await Tool.run(arguments)
            #expect(result.status == 74, "\(result.error)")
            #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
        }
    }
}
