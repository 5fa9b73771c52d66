import Foundation
import GRDB
import RepriseCommandLine
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("listen")
struct ListenTests {
    private func publish(_ range: ClosedRange<Int>, to channel: String = "a", _ server: ToolServer)
        async throws
    {
        let input = Data(range.map { "\($0)\n" }.joined().utf8)
        let result = try await Tool.run(["publish", channel, "--server", server.url], input: input)
        #expect(result.status == 0, "\(result.error)")
    }

    @Test("listen goes on where it stopped, and prints no message twice")
    func continues() async throws {
        try await withServer { server, folder in
            let arguments = [
                "listen", "a", "--journal", folder.path("j"), "--server", server.url, "--json",
                "--until-complete",
            ]
            try await publish(1...500, server)
            let first = try ListenLine.all(try await Tool.run(arguments).output)
            try await publish(501...700, server)
            let second = try ListenLine.all(try await Tool.run(arguments).output)
            #expect((first + second).map(\.body) == (1...700).map(String.init))
            #expect((first + second).allSatisfy { $0.attempt == 1 && $0.channel == "a" })
            #expect(Set((first + second).map(\.id)).count == 700)
            #expect(try await Tool.run(arguments).output.isEmpty)
        }
    }

    @Test(
        "guarantees 1 and 3: SIGKILL to it again and again; every message is printed, and a second time only with attempt above 1"
    )
    func killed() async throws {
        try await withServer { server, folder in
            let rounds = 6
            let each = 1_000
            let arguments = [
                "listen", "a", "--journal", folder.path("j"), "--server", server.url, "--json",
            ]
            var printed = ""
            for round in 0..<rounds {
                let listener = try RunningTool(arguments)
                let publishing = Task {
                    try await publish((round * each + 1)...((round + 1) * each), server)
                }
                // Somewhere in the middle of what is new in this round.
                let moment = Int.random(in: 1...800)
                try await listener.wait("\(moment) lines are printed") { text in
                    text.utf8.count { $0 == 0x0a } >= moment
                }
                listener.signal(SIGKILL)
                _ = await listener.end()
                // A line that was cut was not finished; it comes again.
                printed += listener.output.wholeLines
                try await publishing.value
            }
            let count = rounds * each
            printed += try await Tool.run(arguments + ["--until-complete"], limit: 60).output
            let lines = try ListenLine.all(printed)
            #expect(Set(lines.map(\.seq)) == Set(1...count))
            var seen: Set<Int> = []
            for line in lines where !seen.insert(line.seq).inserted { #expect(line.attempt > 1) }
            let ledger = try await Tool.run("ledger", "--journal", folder.path("j"), "--json")
            #expect(
                ledger.output.contains(
                    #""accepted":\#(count),"pending":0,"outcomes":{"applied":\#(count),"#))
        }
    }

    @Test("a server that is killed and comes back is listened to again")
    func serverKilled() async throws {
        let folder = try TemporaryFolder()
        var server = try await ToolServer(data: folder.path("data"))
        let listener = try RunningTool([
            "listen", "a", "--journal", folder.path("j"), "--server", server.url,
        ])
        try await publish(1...2, server)
        try await listener.wait("two are printed") { $0.contains("2 2\n") }
        server.tool.signal(SIGKILL)
        server = try await server.restarted()
        try await publish(3...4, server)
        try await listener.wait("four are printed") { $0.contains("4 4\n") }
        #expect(listener.output == "1 1\n2 2\n3 3\n4 4\n")
        listener.signal(SIGINT)
        #expect(await listener.end() == 0)
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    @Test(
        "with --wait it comes before the server; without, --until-complete says that it is not complete"
    )
    func waits() async throws {
        let folder = try TemporaryFolder()
        let url = "http://127.0.0.1:1"
        let listener = try RunningTool([
            "listen", "a", "--journal", folder.path("j"), "--server", url, "--wait",
            "--until-complete",
        ])
        // From its reader on, it is ended by a signal in good order.
        let journal = folder.path("j/journal.sqlite")
        try await eventually("it reads") {
            guard FileManager.default.fileExists(atPath: journal) else { return false }
            // Locked while it is made.
            guard let queue = try? DatabaseQueue(path: journal) else { return false }
            defer { try? queue.close() }
            let sql = "SELECT count(*) FROM channelsReader"
            return (try? await queue.read { try Int.fetchOne($0, sql: sql) }) == 1
        }
        #expect(listener.isRunning)
        listener.signal(SIGINT)
        #expect(await listener.end() == 1)
        #expect(listener.error.hasPrefix("reprise: "))
    }

    @Test("a closed pipe ends it without an error, and unprinted messages are printed next time")
    func brokenPipe() async throws {
        try await withServer { server, folder in
            try await publish(1...2_000, server)
            let arguments = [
                "listen", "a", "--journal", folder.path("j"), "--server", server.url, "--json",
            ]
            let pipe = Pipe()
            let listener = try RunningTool(arguments, outputTo: pipe)
            try pipe.fileHandleForWriting.close()
            let head = try #require(try pipe.fileHandleForReading.read(upToCount: 1_000))
            try pipe.fileHandleForReading.close()
            #expect(await listener.end() == 0)
            #expect(listener.error.isEmpty)
            let rest = try await Tool.run(arguments + ["--until-complete"])
            let first = try ListenLine.all(String(decoding: head, as: UTF8.self).wholeLines)
            let all = try ListenLine.all(rest.output) + first
            // What fell into the pipe's buffer was written; it is accounted for in the ledger, not
            // here.
            #expect(first.map(\.seq) == Array(1...first.count))
            #expect(all.map(\.seq).max() == 2_000)
        }
    }

    @Test("a full disk behind the output is an error, and no closed pipe")
    func fullOutput() async throws {
        try await withServer { server, folder in
            try await publish(1...1, server)
            let listener = try RunningTool(
                ["listen", "a", "--journal", folder.path("j"), "--server", server.url],
                outputTo: try FileHandle(forWritingTo: URL(filePath: "/dev/full")))
            #expect(await listener.end() == 74)
            #expect(listener.error.hasPrefix("reprise: The output cannot be written: "))
            let message = try await Tool.run("history", "a", "--json", "--server", server.url)
            let id = try #require(try HTTPMembers(Array(message.output.utf8)).text("id"))
            let trace = try await Tool.run("trace", id, "--journal", folder.path("j"), "--json")
            #expect(trace.output.contains(": The output cannot be written: "), "\(trace)")
            #expect(!trace.output.contains("CommandFailure"), "\(trace)")
        }
    }

    @Test("what could not be printed is printed by the next run, which is not complete before")
    func printedLater() async throws {
        try await withServer { server, folder in
            try await publish(1...3, server)
            let arguments = [
                "listen", "a", "--journal", folder.path("j"), "--server", server.url,
                "--until-complete",
            ]
            // More often than a reader's default limit of attempts.
            for _ in 1...11 {
                let full = try RunningTool(
                    arguments, outputTo: try FileHandle(forWritingTo: URL(filePath: "/dev/full")))
                #expect(await full.end() == 74, "\(full.error)")
            }
            let printed = try await Tool.run(arguments)
            #expect(printed.status == 0, "\(printed.error)")
            #expect(printed.lines.map { $0.suffix(1) }.sorted() == ["1", "2", "3"], "\(printed)")
            #expect(try await Tool.run(arguments).output.isEmpty)
        }
    }

    @Test(
        "a channel that the server refuses is an error; with --wait it is told once, and read when the user is a member"
    )
    func refusedChannel() async throws {
        let scene = try await ChatScene()
        try await scene.makePrivate()
        let arguments = [
            "listen", "general", "--as", "bob", "--journal", scene.folder.path("j"), "--server",
            scene.server.url,
        ]
        for more in [[], ["--until-complete"]] {
            let refused = try await Tool.run(arguments + more)
            #expect(refused.status == 76, "\(refused)")
            #expect(refused.error.contains("The server refuses general: "), "\(refused.error)")
            #expect(refused.error.contains("--wait"), "\(refused.error)")
        }
        let waiting = try RunningTool(arguments + ["--wait", "--until-complete"])
        try await eventually("it says so") { waiting.error.contains("refuses general: ") }
        for words in [["members", "general", "--add", "bob"], ["publish", "general", "hello"]] {
            let done = try await Tool.run(
                words + ["--as", "root", "--server", scene.server.url])
            #expect(done.status == 0, "\(done.error)")
        }
        #expect(await waiting.end() == 0)
        #expect(waiting.output == "1 root: hello\n")
        #expect(waiting.error.split(separator: "\n").count == 1, "\(waiting.error)")
    }

    @Test("a member who is removed while it listens is told so")
    func removed() async throws {
        let scene = try await ChatScene()
        try await scene.makePrivate()
        func manage(_ words: String...) async throws {
            let done = try await Tool.run(
                words + ["--as", "root", "--server", scene.server.url])
            #expect(done.status == 0, "\(done.error)")
        }
        try await manage("members", "general", "--add", "bob")
        try await manage("publish", "general", "hello")
        let listening = try RunningTool([
            "listen", "general", "--as", "bob", "--journal", scene.folder.path("j"), "--server",
            scene.server.url,
        ])
        try await listening.wait("it is printed") { $0.contains("hello") }
        try await manage("members", "general", "--remove", "bob")
        #expect(await listening.end() == 76, "\(listening.error)")
        #expect(listening.error.contains("refuses general: "), "\(listening.error)")
    }

    @Test("messages that the server's retention has removed are told on standard error")
    func lost() async throws {
        let folder = try TemporaryFolder()
        var server = try await ToolServer(
            data: folder.path("data"), options: ["--keep-messages", "2"])
        let arguments = [
            "listen", "a", "--journal", folder.path("j"), "--server", server.url,
            "--until-complete",
        ]
        try await publish(1...1, server)
        #expect(try await Tool.run(arguments).output == "1 1\n")
        try await publish(2...6, server)
        // A server trims when it starts, and then once a minute.
        server.tool.signal(SIGTERM)
        server = try await server.restarted()
        try await eventually("it is trimmed") {
            try await Tool.run(
                "history", "a", "--after", "0", "--json", "--server", server.url
            ).lines.first?.contains("retention") == true
        }
        let rest = try await Tool.run(arguments)
        #expect(rest.status == 0 && rest.output == "5 5\n6 6\n", "\(rest)")
        #expect(rest.error.hasPrefix("reprise: 3 messages of a are lost: "), "\(rest.error)")
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    @Test("a closed output is an error, and is not taken for the first file that is opened")
    func closedOutput() async throws {
        try await withServer { server, folder in
            try await publish(1...1, server)
            let arguments = [
                "listen", "a", "--journal", folder.path("j"), "--server", server.url,
            ]
            let (status, words) = try await Command.run(
                "sh", ["-c", #""$0" "$@" >&-"#, Tool.Program.reprise.url.path] + arguments)
            #expect(status == 74, "\(words)")
            let again = try RunningTool(arguments)
            try await again.wait("it is printed") { $0.hasSuffix(" 1\n") }
            again.signal(SIGINT)
            #expect(await again.end() == 0)
        }
    }

    @Test("control characters in a message do not reach the terminal")
    func harmless() async throws {
        try await withServer { server, folder in
            _ = try await Tool.run("publish", "a", "\u{1b}[31mred\nnext", "--server", server.url)
            let result = try await Tool.run(
                "listen", "a", "--journal", folder.path("j"), "--server", server.url,
                "--until-complete")
            #expect(result.output == "1 \\u{1b}[31mred\\nnext\n")
        }
    }

    @Test("messages of several channels are printed with their channel")
    func channels() async throws {
        try await withServer { server, folder in
            try await publish(1...1, to: "a", server)
            try await publish(2...2, to: "b", server)
            let result = try await Tool.run(
                "listen", "a", "b", "--journal", folder.path("j"), "--server", server.url,
                "--until-complete")
            #expect(Set(result.lines) == ["a 1 1", "b 1 2"])
        }
    }
}

extension String {
    /// Without what stands behind the last line break.
    fileprivate var wholeLines: String {
        lastIndex(of: "\n").map { String(self[...$0]) } ?? ""
    }
}
