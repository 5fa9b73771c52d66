import Foundation
import Testing

@testable import RepriseCLI

@Suite("chat")
struct ChatTests {
    @Test(
        "two people chat through kills of either side and of the server; nothing is lost or there twice"
    )
    func kills() async throws {
        let folder = try Folder()
        var server = try await TestServer(data: folder.path("data"))
        func arguments(_ user: String) -> [String] {
            [
                "chat", "general", "--as", user, "--server", server.url, "--journal",
                folder.path("state"),
            ]
        }
        var ada = try PseudoTerminal(arguments("ada"))
        var bob = try RunningTool(arguments("bob"))
        var heard = ""
        try await ada.wait("ada is live") { $0.contains { $0.contains("· live") } }

        bob.write(Data("from bob 1\nfrom bob 2\n".utf8))
        try await ada.wait("ada sees bob") { $0.times("from bob 2") == 1 }
        try await ada.wait("counted") { $0.contains { $0.contains("2 unread") } }
        ada.type("from ada 1\r")
        try await ada.wait("stored") { $0.contains { $0.hasSuffix("from ada 1  ✓") } }
        try await ada.wait("a key was touched") { !$0.contains { $0.contains("unread") } }
        try await bob.wait("bob hears ada") { $0.contains("ada: from ada 1\n") }

        ada.signal(SIGKILL)
        _ = await ada.end()
        bob.write(Data("from bob 3\n".utf8))
        try await bob.wait("stored") { $0.contains("bob: from bob 3\n") }
        ada = try PseudoTerminal(arguments("ada"))
        try await ada.wait("what came meanwhile") { $0.times("from bob 3") == 1 }

        server.tool.signal(SIGKILL)
        _ = await server.tool.end()
        try await ada.wait("ada knows") { $0.contains { $0.contains("offline") } }
        ada.type("from ada 2\rfrom ada 3\r")
        try await ada.wait("kept") { $0.contains { $0.hasSuffix("from ada 3  …") } }
        try await ada.wait("counted") { $0.contains { $0.contains("2 to be sent") } }
        bob.write(Data("from bob 4\n".utf8))
        heard += bob.output
        bob.signal(SIGKILL)
        _ = await bob.end()
        bob = try RunningTool(arguments("bob"))
        server = try await TestServer(data: folder.path("data"), url: server.url)
        try await ada.wait("sent") { $0.contains { $0.hasSuffix("from ada 3  ✓") } }
        try await bob.wait("bob hears the rest") { $0.contains("ada: from ada 3\n") }
        bob.write(Data("from bob 5\n".utf8))
        try await ada.wait("the last") { $0.times("from bob 5") == 1 }

        // bob's fourth line may have been killed in the pipe: then it was never said. All else was.
        let said = try await Tool.run(
            "history", "general", "--after", "0", "--json", "--server", server.url
        ).lines.map { String($0.split(separator: #""text":""#)[1].prefix(10)) }
        #expect(Set(said).count == said.count, "once each: \(said)")
        let must =
            ["from bob 1", "from bob 2", "from bob 3", "from bob 5"]
            + (1...3).map { "from ada \($0)" }
        #expect(Set(must).isSubset(of: said))
        try await ada.wait("all of it, once") { rows in said.allSatisfy { rows.times($0) == 1 } }
        try await bob.wait("all of it") { output in
            said.allSatisfy { (heard + output).contains(": \($0)\n") }
        }
        let lines = (heard + bob.output).split(separator: "\n").filter { !$0.contains("(again)") }
        for text in said { #expect(lines.count { $0.hasSuffix(text) } == 1, "\(text) \(lines)") }

        ada.type("\u{4}")
        #expect(await ada.end() == 0)
        #expect(ada.isRestored)
        bob.closeInput()
        #expect(await bob.end() == 0)
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

    @Test("without a server what is said is kept, said so, and sent by the next run")
    func offline() async throws {
        let folder = try Folder()
        let url = "http://127.0.0.1:\(try freePort())"
        let arguments = [
            "chat", "general", "--as", "ada", "--journal", folder.path("j"), "--server",
        ]
        let first = try await Tool.run(
            arguments + [url, "--patience", "0"], input: Data("kept\n".utf8))
        #expect(first.status == 1)
        #expect(first.error.contains("next start"), "\(first.error)")
        let server = try await TestServer(data: folder.path("data"))
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

extension [String] {
    /// How many of the messages on the screen say it.
    fileprivate func times(_ text: String) -> Int {
        dropLast(2).count { $0.contains("  " + text) }
    }
}
