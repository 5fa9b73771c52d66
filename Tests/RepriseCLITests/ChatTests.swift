import Foundation
import GRDB
import RepriseChannels
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

    @Test("on a server with presence the status line and /who show the users who are online")
    func presence() async throws {
        let scene = try await ChatScene(options: ["--dev", "--presence"])
        for arguments in [
            ["channels", "general", "--visibility", "private"],
            ["members", "general", "--add", "ada"], ["members", "general", "--add", "bob"],
            ["members", "general", "--remove", "root"],
        ] {
            let done = try await Tool.run(
                arguments + ["--as", "root", "--server", scene.server.url])
            #expect(done.status == 0, "\(done.error)")
        }
        let ada = try PseudoTerminal(scene.arguments("ada"))
        try await ada.wait("bob is not there") { $0.contains { $0.contains("bob offline") } }
        let bob = try PseudoTerminal(scene.arguments("bob"))
        try await ada.wait("bob is there") { $0.contains { $0.contains("bob online") } }
        try await bob.wait("live") { $0.contains { $0.contains("· live") } }
        ada.type("/who\r")
        try await ada.wait("and so says /who") { $0.contains { $0.hasPrefix("bob: online") } }
        bob.type("\u{4}")
        #expect(await bob.end() == 0)
        try await ada.wait("bob is gone") { $0.contains { $0.contains("bob last seen just now") } }
        ada.type("\u{4}")
        #expect(await ada.end() == 0)
    }

    @Test(
        "a message that the server refuses is shown with the reason, and can be sent again or withdrawn"
    )
    func refused() async throws {
        let scene = try await ChatScene()
        try await scene.makePrivate()
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

    @Test("without a terminal a refused message is an error once, and says where it is kept")
    func refusedLine() async throws {
        let scene = try await ChatScene()
        try await scene.makePrivate()
        let first = try await Tool.run(scene.arguments("ada"), input: Data("let me in\n".utf8))
        #expect(first.status == 76, "\(first)")
        #expect(first.error.contains("not for this user"), "\(first.error)")
        #expect(first.error.contains("`reprise dead-letters --journal "), "\(first.error)")
        let second = try await Tool.run(scene.arguments("ada"), input: Data())
        #expect(second.status == 0, "\(second.error)")
    }

    @Test("without a terminal a channel that the server refuses is told on standard error")
    func refusedChannel() async throws {
        let scene = try await ChatScene()
        try await scene.makePrivate()
        let ada = try RunningTool(scene.arguments("ada"))
        try await eventually("it says so") {
            ada.error.contains("reprise: The server refuses general: ")
        }
        ada.closeInput()
        #expect(await ada.end() == 0)
    }

    @Test("without a terminal a token that the server does not take ends the wait for it, with 76")
    func refusedToken() async throws {
        let folder = try TemporaryFolder()
        func secret(_ byte: UInt8) throws -> String {
            try folder.write(
                Data(repeating: byte, count: 32).base64EncodedString(), to: "secret\(byte)")
        }
        let server = try await ToolServer(
            data: folder.path("data"), options: ["--keys", try secret(7)])
        let token = try await Tool.run("token", "--as", "ada", "--keys", try secret(8))
        let chat = try await Tool.run(
            [
                "chat", "general", "--token", try #require(token.lines.first), "--server",
                server.url, "--journal", folder.path("j"), "--patience", "40",
            ], input: Data("hello\n".utf8))
        #expect(chat.status == 76, "\(chat)")
        #expect(chat.error.contains("fresh --token"), "\(chat.error)")
        #expect(chat.error.contains("wait for the server: 1."), "\(chat.error)")
    }

    @Test("without a terminal a message that is too long is an error, and the others are sent")
    func tooLong() async throws {
        let scene = try await ChatScene()
        let long = String(repeating: "x", count: 70_000)
        let result = try await Tool.run(
            scene.arguments("ada"), input: Data("before\n\(long)\nafter\n".utf8))
        #expect(result.status == 65, "\(result)")
        #expect(result.error.hasPrefix("reprise: A message was not recorded. "), "\(result)")
        #expect(try await scene.said() == ["ada before", "ada after"])
    }

    @Test("without a terminal a line that is not UTF-8 is an error, and the others are sent")
    func notUTF8() async throws {
        let scene = try await ChatScene()
        let result = try await Tool.run(
            scene.arguments("ada"),
            input: Data("before\ncaf".utf8) + [0xe9] + Data("\nafter\n".utf8))
        #expect(result.status == 65, "\(result)")
        #expect(result.error.contains("Line 2 is not UTF-8."), "\(result)")
        #expect(try await scene.said() == ["ada before", "ada after"])
    }

    @Test("a message that is refused behind a thousand others is an error, also when sent again")
    func refusedBehindMany() async throws {
        let scene = try await ChatScene()
        try await scene.makePrivate()
        func chat(_ input: String) async throws -> Tool.Result {
            try await Tool.run(
                scene.arguments("ada") + ["--patience", "40"], input: Data(input.utf8))
        }
        let many = try await chat((1...OutboxLimits.listed + 1).map { "old \($0)\n" }.joined())
        #expect(many.status == 76, "\(many)")
        let next = try await chat("new\n")
        #expect(next.status == 76, "\(next)")
        #expect(try await chat("").status == 0)
        let dead = try await chat("/dead\n/withdraw\n")
        #expect(dead.status == 0 && dead.output.contains("  new: "), "\(dead)")
        let again = try await chat("/retry\n")
        #expect(again.status == 76, "\(again)")
    }

    @Test("a refused --with and /with say what the server said, and can be asked again or given up")
    func refusedConversation() async throws {
        let scene = try await ChatScene()
        func team(_ changes: String...) async throws {
            let done = try await Tool.run(
                changes + ["--as", "root", "--server", scene.server.url])
            #expect(done.status == 0, "\(done.error)")
        }
        try await team("channels", "team", "--visibility", "private")
        func chat(_ more: String...) -> [String] {
            ["chat", "team"] + scene.arguments("ada").dropFirst(2) + more
        }
        // Without a terminal: a line, though nothing was said.
        let lines = try await Tool.run(chat("--with", "bob"), input: Data())
        #expect(lines.status == 0, "\(lines.error)")
        #expect(lines.output.contains("* This conversation: The server has refused it (403): "))
        #expect(lines.output.contains("* /retry "), "\(lines.output)")

        let ada = try PseudoTerminal(chat())
        try await ada.wait("told at a later start, too") {
            $0.contains { $0.hasPrefix("This conversation: The server has refused it (403): ") }
        }
        try await ada.wait("counted") { $0.contains { $0.contains("1 not sent: /dead") } }
        ada.type("/dead\r")
        try await ada.wait("listed") { $0.contains { $0.contains("(conversation): The server") } }
        try await team("members", "team", "--add", "ada", "--role", "owner")
        ada.type("/retry\r")
        try await ada.wait("asked again") { $0.contains { $0.hasPrefix("Sent again: ") } }
        var members = ""
        try await eventually("bob is a member") {
            members = try await Tool.run(
                "members", "team", "--as", "ada", "--server", scene.server.url
            ).output
            return members.contains("bob")
        }
        try await ada.wait("nothing is refused") { !$0.contains { $0.contains("not sent") } }

        ada.type("/with ada\r")
        try await ada.wait("there is nobody else") {
            $0.contains { $0.hasPrefix("This conversation: The server has refused it (400): ") }
        }
        ada.type("/withdraw\r")
        try await ada.wait("given up") { $0.contains { $0.hasPrefix("Withdrawn: ") } }
        try await ada.wait("not counted") { !$0.contains { $0.contains("not sent") } }
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

    @Test("without a terminal a closed pipe ends it, and what was not printed comes next time")
    func brokenPipe() async throws {
        let scene = try await ChatScene()
        try await scene.post(#"{"body":{"text":"hello"}}"#, as: "bob")
        let pipe = Pipe()
        let ada = try RunningTool(scene.arguments("ada"), outputTo: pipe)
        try pipe.fileHandleForWriting.close()
        try pipe.fileHandleForReading.close()
        #expect(await ada.end() == 0)
        #expect(ada.error.isEmpty)
        let again = try RunningTool(scene.arguments("ada"))
        try await again.wait("it is printed") { $0.contains("bob: hello\n") }
        again.closeInput()
        #expect(await again.end() == 0)
    }

    @Test("without a terminal a message is printed at last, however often that has failed")
    func failedOutput() async throws {
        let scene = try await ChatScene()
        try await scene.post(#"{"body":{"text":"hello"}}"#, as: "bob")
        /// Fails, and leaves the message due at once, after so many failures.
        func fail(leaving failures: Int) async throws {
            let ada = try RunningTool(
                scene.arguments("ada"),
                outputTo: try FileHandle(forWritingTo: URL(filePath: "/dev/full")))
            #expect(await ada.end() == 74, "\(ada.error)")
            let path = scene.folder.path("state") + "/ada/journal.sqlite"
            let journal = try DatabaseQueue(path: path)
            try await journal.write { db in
                try db.execute(
                    sql: "UPDATE channelsException SET failures = ?, due = 0",
                    arguments: [failures])
            }
            try journal.close()
        }
        try await fail(leaving: 9)
        try await fail(leaving: 10)
        let ada = try RunningTool(scene.arguments("ada"))
        try await ada.wait("it is printed") { $0.contains("bob: hello\n") }
        ada.closeInput()
        #expect(await ada.end() == 0)
    }

    @Test(
        "messages written without a server are kept, shown as waiting, and sent by the next run",
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
        "a conversation that begins offline has its members and its title; no other user can read it"
    )
    func begins() async throws {
        let folder = try TemporaryFolder()
        func chat(_ channel: String, _ user: String, _ url: String) -> [String] {
            ["chat", channel, "--as", user, "--journal", folder.path("j"), "--server", url]
        }
        let first = try await Tool.run(
            chat("team", "ada", "http://127.0.0.1:1") + [
                "--with", "bob", "--title", "The team", "--patience", "0",
            ], input: Data("hello\n".utf8))
        #expect(first.status == 1, "\(first.error)")
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        let ada = try RunningTool(chat("team", "ada", server.url))
        try await ada.wait("it is sent, and comes back") { $0.contains("1 ada: hello\n") }
        let bob = try PseudoTerminal(chat("general", "bob", server.url))
        try await bob.wait("live") { $0.contains { $0.contains("· live") } }
        bob.type("/go team\r")
        try await bob.wait("it has a title, and what was said") { rows in
            rows.contains { $0.hasPrefix("The team · bob · live") } && rows.times("hello") == 1
        }
        let eve = try await Tool.run("history", "team", "--as", "eve", "--server", server.url)
        #expect(eve.status != 0 && eve.output.isEmpty)
        bob.type("\u{4}")
        #expect(await bob.end() == 0)
        ada.closeInput()
        #expect(await ada.end() == 0)
    }

    @Test(
        "/list shows the newest nine, /go leads to one by its title", .limit("tool.conversations"))
    func lists() async throws {
        let scene = try await ChatScene()
        let long = String(repeating: "x", count: 60)
        for number in 1...10 {
            let title = "Title \(number)" + (number == 8 ? long : "")
            let made = try await Tool.run(
                "channels", "c\(number)", "--title", title, "--as", "bob", "--server",
                scene.server.url)
            #expect(made.status == 0, "\(made.error)")
        }
        let said = try await Tool.run(
            "publish", "c9", long, "--as", "ada", "--server", scene.server.url)
        #expect(said.status == 0, "\(said.error)")
        let bob = try PseudoTerminal(["chat", "c10"] + scene.arguments("bob").dropFirst(2))
        try await bob.wait("the server has told the last one") {
            $0.contains { $0.hasPrefix("Title 10 · ") }
        }
        bob.type("/list\r")
        try await bob.wait("they are listed") {
            $0.contains { $0.contains("* Title 10 (c10): nothing yet") }
        }
        #expect(bob.text.contains("Title 2 (c2): ") && !bob.text.contains("Title 1 (c1): "))
        #expect(bob.text.contains("Title 8\(long.prefix(32))… (c8): "))
        try await eventually("the message has come", every: .milliseconds(200)) {
            bob.type("/list\r")
            return bob.text.contains("Title 9 (c9): ada: \(long.prefix(39))…, 1 unread")
        }
        bob.type("/go Title 1\r")
        try await bob.wait("it is there") { $0.contains { $0.hasPrefix("Title 1 · ") } }
        bob.type("\u{4}")
        #expect(await bob.end() == 0)
    }

    @Test("without a terminal a signal ends it, in good order")
    func interrupted() async throws {
        let scene = try await ChatScene()
        for signal in [SIGINT, SIGTERM] {
            let ada = try RunningTool(scene.arguments("ada"))
            ada.write(Data("signal \(signal)\n".utf8))
            try await ada.wait("it is said") { $0.contains("ada: signal \(signal)\n") }
            ada.signal(signal)
            #expect(await ada.end() == 0)
            #expect(ada.error.isEmpty, "\(ada.error)")
        }
    }

    @Test("what is typed behind /go is said in the other conversation")
    func typedAhead() async throws {
        let scene = try await ChatScene()
        let ada = try PseudoTerminal(scene.arguments("ada"))
        try await ada.wait("live") { $0.contains { $0.contains("· live") } }
        ada.type("/go team\rhello\r")
        try await ada.wait("it is said there") { rows in
            rows.contains { $0.hasPrefix("team · ada") } && rows.times("hello") == 1
        }
        ada.type("\u{4}")
        #expect(await ada.end() == 0)
    }

    @Test(
        "invalid arguments are refused in one line",
        arguments: [
            ["chat"], ["chat", "team", "--as", "ada", "--title", "x"],
            ["chat", "team", "--as", "ada", "--with", "a b"],
            [
                "chat", "team", "--as", "ada", "--with", "bob", "--title",
                String(repeating: "x", count: 257),
            ], ["chat", "general"], ["chat", "..", "--as", "ada"],
            ["chat", "general", "--as", "../ada"], ["chat", "general", "--as", "a b"],
            ["chat", "general", "--as", "a", "--token", "x"],
            ["chat", "general", "--token", "a.b.c"], ["chat", "general", "--as", ""],
            ["history"], ["history", "general", "--last", "0"],
            ["history", "general", "--last", "1", "--after", "1"],
            ["history", "general", "--after", "-1"],
            ["channels", "--title", "x"], ["channels", "general", "--keep-messages", "0"],
            ["channels", "general", "--visibility", "secret"], ["members"],
            ["channels", "general", "--title", "x", "--no-title"],
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
