import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseCLI

@Suite("chat")
struct ChatTests {
    @Test(
        "two people chat through kills of either side and of the server; nothing is lost or there twice"
    )
    func kills() async throws {
        var scene = try await ChatScene()
        var ada = try PseudoTerminal(scene.arguments("ada"))
        var bob = try RunningTool(scene.arguments("bob"))
        var heard = ""
        try await ada.wait("ada is live") { $0.contains { $0.contains("· live") } }

        bob.write(Data("from bob 1\nfrom bob 2\n".utf8))
        try await ada.wait("ada sees bob") { $0.times("from bob 2") == 1 }
        try await ada.wait("counted") { $0.contains { $0.contains("2 unread") } }
        ada.type("from ada 1\r")
        try await ada.wait("stored") { $0.contains { $0.contains("from ada 1  ✓") } }
        try await ada.wait("a key was touched") { !$0.contains { $0.contains("unread") } }
        try await bob.wait("bob hears ada") { $0.contains("ada: from ada 1\n") }

        ada.signal(SIGKILL)
        _ = await ada.end()
        bob.write(Data("from bob 3\n".utf8))
        try await bob.wait("stored") { $0.contains("bob: from bob 3\n") }
        ada = try PseudoTerminal(scene.arguments("ada"))
        try await ada.wait("what came meanwhile") { $0.times("from bob 3") == 1 }
        try await ada.wait("the rest was read before") { $0.contains { $0.contains("1 unread") } }

        scene.server.tool.signal(SIGKILL)
        _ = await scene.server.tool.end()
        try await ada.wait("ada knows") { $0.contains { $0.contains("offline") } }
        ada.type("from ada 2\rfrom ada 3\r")
        try await ada.wait("kept") { $0.contains { $0.hasSuffix("from ada 3  …") } }
        try await ada.wait("counted") { $0.contains { $0.contains("2 to be sent") } }
        bob.write(Data("from bob 4\n".utf8))
        bob.signal(SIGKILL)
        _ = await bob.end()
        heard += bob.output
        bob = try RunningTool(scene.arguments("bob"))
        try await scene.restartServer()
        try await ada.wait("sent") { $0.contains { $0.contains("from ada 3  ✓") } }
        try await bob.wait("bob hears the rest") { $0.contains("ada: from ada 3\n") }
        bob.write(Data("from bob 5\n".utf8))
        try await ada.wait("the last") { $0.times("from bob 5") == 1 }

        // bob's fourth line may have been killed in the pipe: then it was never said. All else was.
        let said = try await scene.said()
        #expect(Set(said).count == said.count, "once each: \(said)")
        let must =
            [1, 2, 3, 5].map { "bob from bob \($0)" } + (1...3).map { "ada from ada \($0)" }
        #expect(Set(must).isSubset(of: said), "\(said)")
        let texts = said.map { String($0.dropFirst(4)) }
        try await ada.wait("all of it, once") { rows in texts.allSatisfy { rows.times($0) == 1 } }
        try await bob.wait("all of it") { output in
            texts.allSatisfy { (heard + output).contains(": \($0)\n") }
        }
        let lines = (heard + bob.output).split(separator: "\n").filter { !$0.contains("(again)") }
        for text in texts { #expect(lines.count { $0.hasSuffix(text) } == 1, "\(text) \(lines)") }

        ada.type("\u{4}")
        #expect(await ada.end() == 0)
        #expect(ada.isRestored)
        bob.closeInput()
        #expect(await bob.end() == 0)
    }

    @Test("each sees the other type, read, edit and delete")
    func seen() async throws {
        let scene = try await ChatScene()
        let ada = try PseudoTerminal(scene.arguments("ada"))
        let bob = try PseudoTerminal(scene.arguments("bob"))
        for person in [ada, bob] {
            try await person.wait("live") { $0.contains { $0.contains("· live") } }
        }
        ada.type("one")
        try await bob.wait("ada types") { $0.contains("ada is typing …") }
        ada.type("\rtwo\r")
        try await bob.wait("it came, below the divider") { rows in
            rows.contains { $0.contains("─ new ─") } && rows.times("two") == 1
        }
        try await bob.wait("ada has ended") { !$0.contains("ada is typing …") }
        try await ada.wait("it came to bob") { $0.contains { $0.hasSuffix("two  ✓✓") } }
        bob.type("x")
        try await ada.wait("bob has read it") { $0.contains { $0.hasSuffix("two  ✓✓ read") } }
        ada.type("/who\r")
        try await ada.wait("and types") { $0.contains("bob: is typing") }
        bob.type("\u{15}")
        try await ada.wait("not any more") { !$0.contains("bob is typing …") }
        ada.type("/who\r")
        try await ada.wait("has read") { $0.contains("bob: has read everything") }

        ada.type("/edit #2 ONE\r/delete\r")
        for person in [ada, bob] {
            try await person.wait("edited and deleted") { rows in
                rows.times("ONE (edited)") == 1 && rows.times("(deleted)") == 1
                    && rows.times("one") == 0 && rows.times("two") == 0
            }
        }
        // The log keeps what was said first; the edit is an event of its own.
        #expect(try await scene.said() == ["ada one", "ada (deleted)"])
        try await ada.wait("nothing waits") { !$0.contains { $0.contains("to be sent") } }
        ada.type("\u{4}")
        bob.type("\u{4}")
        #expect(await ada.end() == 0)
        #expect(await bob.end() == 0)
    }

    @Test("what the server refuses is shown with the reason, and can be sent again or withdrawn")
    func refused() async throws {
        let scene = try await ChatScene()
        let closed = try await Tool.run(
            "channels", "general", "--visibility", "private", "--as", "root", "--server",
            scene.server.url)
        #expect(closed.status == 0, "\(closed.error)")
        let ada = try PseudoTerminal(scene.arguments("ada"))
        try await ada.wait("refused") { $0.contains { $0.contains("refused") } }
        ada.type("let me in\r")
        try await ada.wait("refused for good") { $0.contains { $0.contains("let me in  ✗") } }
        try await ada.wait("counted") { $0.contains { $0.contains("1 not sent: /dead") } }
        let member = try await Tool.run(
            "members", "general", "--add", "ada", "--as", "root", "--server", scene.server.url)
        #expect(member.status == 0, "\(member.error)")
        ada.type("/retry\r")
        try await ada.wait("said so") { $0.contains { $0.hasPrefix("Sent again: ") } }
        var said: [String] = []
        try await eventually("it is stored") {
            said = try await Tool.run(
                "history", "general", "--as", "root", "--server", scene.server.url
            ).lines
            return !said.isEmpty
        }
        #expect(said.count == 1 && said.first?.contains("let me in") == true, "\(said)")
        ada.type("/quit\r")
        #expect(await ada.end() == 0)
    }

    @Test("SIGTERM gives the terminal back, and NO_COLOR is respected")
    func restored() async throws {
        try await withServer { server, folder in
            let ada = try PseudoTerminal(
                [
                    "chat", "general", "--as", "ada", "--server", server.url, "--journal",
                    folder.path("j"),
                ],
                environment: ["NO_COLOR": "1"])
            try await ada.wait("live") { $0.contains { $0.contains("· live") } }
            ada.signal(SIGTERM)
            #expect(await ada.end() == 0)
            #expect(ada.isRestored)
            #expect(!ada.hasColours)
        }
    }

    @Test(
        "without a server what is said is kept, said so, and sent by the next run",
        .limit("tool.patience"))
    func offline() async throws {
        let folder = try TemporaryFolder()
        let url = "http://127.0.0.1:1"
        let arguments = [
            "chat", "general", "--as", "ada", "--journal", folder.path("j"), "--server",
        ]
        let first = try await Tool.run(
            arguments + [url, "--patience", "0"], input: Data("kept\n".utf8))
        #expect(first.status == 1)
        #expect(first.error.contains("next start"), "\(first.error)")
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        let second = try RunningTool(arguments + [server.url])
        try await second.wait("it is sent, and comes back") { $0.contains("1 ada: kept\n") }
        second.closeInput()
        #expect(await second.end() == 0)
    }

    @Test(
        "what makes no sense is refused in one line",
        arguments: [
            ["chat"], ["chat", "general"], ["chat", "..", "--as", "ada"],
            ["chat", "general", "--as", "../ada"], ["chat", "general", "--as", "a b"],
            ["chat", "general", "--as", "a", "--token", "x"], ["chat", "general", "--as", ""],
            ["history"], ["history", "general", "--last", "0"],
            ["history", "general", "--last", "1", "--after", "1"],
            ["history", "general", "--after", "-1"],
            ["channels", "--title", "x"], ["channels", "general", "--keep-messages", "0"],
            ["channels", "general", "--visibility", "secret"], ["members"],
            ["members", "general", "--add", "a", "--remove", "b"],
            ["members", "general", "--role", "owner"],
            ["members", "general", "--add", "a b"], ["dead-letters"],
            ["dead-letters", "--journal", "j", "--retry", "a", "--discard", "b"],
            ["listen", "general", "--journal", "j", "--debug", "--until-complete"],
            ["publish", "general", "x", "--token", "nonsense"],
        ])
    func nonsense(arguments: [String]) async throws {
        let result = try await Tool.run(arguments)
        #expect(result.status == 64, "\(result)")
        #expect(result.output.isEmpty && result.error.split(separator: "\n").count == 1)
    }
}
