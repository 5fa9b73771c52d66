import Foundation
import RepriseTestSupport
import Testing

@testable import RepriseCLI

@Suite("listen --debug")
struct ListenDebugTests {
    @Test("an object a second says where channels stand, through a server that goes and comes back")
    func json() async throws {
        try await withServer { server, folder in
            let listen = [
                "listen", "general", "news", "--journal", folder.path("j"), "--server", server.url,
            ]
            let debug = try RunningTool(listen + ["--debug", "--json"])
            func last() -> [String: Any]? {
                debug.output.split(separator: "\n").last.flatMap {
                    try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
                }
            }
            func modes() -> [String] {
                (last()?["channels"] as? [[String: Any]])?.compactMap { $0["mode"] as? String }
                    ?? []
            }
            try await debug.wait("both are live") { _ in modes() == ["live", "live"] }
            server.tool.signal(SIGKILL)
            let other = try await server.restarted()
            try await debug.wait("it is back, and says so") { _ in
                modes() == ["live", "live"] && last()?["reconnects"] as? Int == 1
                    && last()?["lastError"] is String
            }
            debug.signal(SIGINT)
            #expect(await debug.end() == 0)
            other.tool.signal(SIGTERM)
            _ = await other.tool.end()
        }
    }

    @Test("looking on reads nothing: the next run prints it")
    func keeps() async throws {
        try await withServer { server, folder in
            let listen = [
                "listen", "general", "--journal", folder.path("j"), "--server", server.url,
            ]
            let debug = try RunningTool(listen + ["--debug"])
            try await debug.wait("live") { $0.contains("live") }
            #expect(
                try await Tool.run("publish", "general", "x", "--server", server.url).status == 0)
            debug.signal(SIGTERM)
            #expect(await debug.end() == 0)
            for line in debug.output.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
            #expect(!debug.output.contains("\u{1b}"))
            let after = try await Tool.run(listen + ["--until-complete"])
            #expect(after.output == "1 x\n")
        }
    }

    @Test("beside a running listen it shows that one's state, and does not disturb it")
    func beside() async throws {
        try await withServer { server, folder in
            let listen = [
                "listen", "general", "--journal", folder.path("j"), "--server", server.url,
            ]
            let owner = try RunningTool(listen)
            for number in 1...3 {
                let text = "m\(number)"
                #expect(
                    try await Tool.run("publish", "general", text, "--server", server.url).status
                        == 0)
                try await owner.wait("it prints \(text)") { $0.contains(text) }
            }
            let debug = try RunningTool(listen + ["--debug", "--json"])
            try await debug.wait("what the journal has") {
                $0.contains(#""coverage":"1-3","head":3,"missing":0,"received":3"#)
            }
            #expect(debug.output.contains(#""ownedByAnotherProcess":true"#))
            debug.signal(SIGINT)
            #expect(await debug.end() == 0)
            let table = try RunningTool(listen + ["--debug"])
            try await table.wait("the table") {
                $0.contains("1-3") && $0.contains("another process has the journal")
            }
            table.signal(SIGTERM)
            #expect(await table.end() == 0)
            #expect(
                try await Tool.run("publish", "general", "m4", "--server", server.url).status == 0)
            try await owner.wait("it goes on") { $0.contains("m4") }
            owner.signal(SIGTERM)
            #expect(await owner.end() == 0)
        }
    }

    @Test("in a narrow terminal it is drawn in its place, without wrapped lines")
    func narrow() async throws {
        try await withServer { server, folder in
            let terminal = try PseudoTerminal(
                [
                    "listen", "general", "--journal", folder.path("j"), "--server", server.url,
                    "--debug",
                ], width: 40)
            try await terminal.wait("it is live") { $0.contains { $0.contains("live") } }
            terminal.signal(SIGINT)
            #expect(await terminal.end() == 0)
            #expect(!terminal.hasWrapped)
        }
    }
}
