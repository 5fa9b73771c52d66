import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("publish")
struct PublishTests {
    private func listen(_ channel: String, _ server: ToolServer, _ folder: TemporaryFolder)
        async throws
        -> [ListenLine]
    {
        let result = try await Tool.run(
            [
                "listen", channel, "--journal", folder.path("j-\(channel)"), "--server", server.url,
                "--until-complete", "--json",
            ], limit: 60)
        #expect(result.status == 0, "\(result.error)")
        return try ListenLine.all(result.output)
    }

    @Test("texts, lines of a file and lines of standard input become messages, in order")
    func sources() async throws {
        try await withServer { server, folder in
            let options = ["--server", server.url]
            _ = try await Tool.run(["publish", "a", "one", "t\"w\\o\u{1b}", "drei ü"] + options)
            let file = try folder.write("one\r\ntwo\n\nfour", to: "lines")
            _ = try await Tool.run(["publish", "b", "--file", file] + options)
            let piped = try await Tool.run(["publish", "c"] + options, input: Data("x\ny\n".utf8))
            #expect(piped.output.hasPrefix("2 messages stored in c at 1–2, "))
            #expect(piped.error.isEmpty)
            #expect(
                try await listen("a", server, folder).map(\.body) == [
                    "one", "t\"w\\o\u{1b}", "drei ü",
                ])
            #expect(
                try await listen("b", server, folder).map(\.body) == ["one", "two", "", "four"])
            #expect(try await listen("c", server, folder).map(\.seq) == [1, 2])
        }
    }

    @Test("a line that is no message is an error also where nobody reads the summary")
    func closedOutput() async throws {
        try await withServer { server, _ in
            let pipe = Pipe()
            let tool = try RunningTool(
                ["publish", "a", "--json-lines", "--server", server.url], outputTo: pipe)
            try pipe.fileHandleForWriting.close()
            try pipe.fileHandleForReading.close()
            tool.write(Data("1\nno JSON\n".utf8))
            tool.closeInput()
            #expect(await tool.end() == 65)
            #expect(tool.error.contains("1 message is stored."), "\(tool.error)")
        }
    }

    @Test("in a narrow terminal the count stays in its line")
    func narrow() async throws {
        try await withServer { server, _ in
            let terminal = try PseudoTerminal(["publish", "a", "--server", server.url], width: 12)
            try await terminal.wait("it is shown") { $0.contains { $0.contains("0 stored, ") } }
            #expect(!terminal.rows.contains { $0.contains(" stored, ") && $0.count > 12 })
            terminal.type("\u{4}")
            #expect(await terminal.end() == 0)
        }
    }

    @Test("with --json-lines a line stays what it is, and empty lines are nothing")
    func jsonLines() async throws {
        try await withServer { server, folder in
            let result = try await Tool.run(
                ["publish", "a", "--json-lines", "--json", "--server", server.url],
                input: Data("{ \"a\" : [1, 2.0] }\n\n\"b\"\n".utf8))
            #expect(result.output.contains(#""published":2"#))
            let printed = try await Tool.run(
                "listen", "a", "--journal", folder.path("j"), "--server", server.url,
                "--until-complete", "--json")
            #expect(printed.output.contains(#""body":{ "a" : [1, 2.0] },"#))
        }
    }

    @Test("with --mention each message is an object that mentions the users")
    func mentions() async throws {
        try await withServer { server, folder in
            let options = ["--mention", "grace", "--mention", "ben", "--server", server.url]
            let text = try await Tool.run(["publish", "a", "look \"here\""] + options)
            #expect(text.status == 0, "\(text.error)")
            let json = try await Tool.run(
                ["publish", "a", "--json-lines"] + options, input: Data("{\"x\":1}\n".utf8))
            #expect(json.status == 0, "\(json.error)")
            let bad = try await Tool.run(
                ["publish", "a", "--json-lines"] + options, input: Data("[1]\n".utf8))
            #expect(bad.status == 65 && bad.error.contains("Line 1"), "\(bad.error)")
            let printed = try await Tool.run(
                "listen", "a", "--journal", folder.path("j"), "--server", server.url,
                "--until-complete", "--json")
            let notice = #""notice":{"mentions":["grace","ben"]}"#
            #expect(
                printed.output.contains(#""body":{\#(notice),"text":"look \"here\""}"#),
                "\(printed.output)")
            #expect(printed.output.contains(#""body":{\#(notice),"x":1}"#), "\(printed.output)")
        }
    }

    @Test("nothing to publish is not an error")
    func nothing() async throws {
        try await withServer { server, _ in
            let result = try await Tool.run(["publish", "a", "--json", "--server", server.url])
            #expect(result.status == 0)
            #expect(result.output.contains(#""published":0,"first":null"#))
        }
    }

    @Test(
        "guarantees 1 and 4: SIGKILL to the server again and again while publishing; every line is stored once, in order"
    )
    func serverKilled() async throws {
        let folder = try TemporaryFolder()
        var server = try await ToolServer(data: folder.path("data"))
        let count = 30_000
        let file = try folder.write((1...count).map { "\($0)\n" }.joined(), to: "lines")
        let publishing = try RunningTool([
            "publish", "a", "--file", file, "--server", server.url, "--json",
        ])
        // Who never reached a server is told so at once; this is about one that was there.
        try await begun(at: server)
        for _ in 0..<3 {
            try await Task.sleep(for: .milliseconds(Int.random(in: 50...250)))
            server.tool.signal(SIGKILL)
            server = try await server.restarted()
        }
        #expect(await publishing.end(within: 60) == 0, "\(publishing.error)")
        #expect(publishing.output.contains("\"published\":\(count),"))
        let lines = try await listen("a", server, folder)
        // Not compared as a whole: 30,000 lines would be told.
        #expect(lines.count == count)
        #expect(lines.indices.first { lines[$0].body != String($0 + 1) } == nil)
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    private func begun(at server: ToolServer) async throws {
        try await eventually("something is stored") {
            try await !Tool.run("history", "a", "--server", server.url).lines.isEmpty
        }
    }

    @Test("a server that goes away for good ends it with 69 and an honest count")
    func serverGone() async throws {
        let folder = try TemporaryFolder()
        let server = try await ToolServer(data: folder.path("data"))
        let publishing = try RunningTool([
            "publish", "a", "--server", server.url, "--patience", "1", "--json",
        ])
        publishing.write(Data("one\n".utf8))
        let watching = try RunningTool([
            "listen", "a", "--journal", folder.path("j"), "--server", server.url,
        ])
        try await watching.wait("the first is stored") { $0.contains("one") }
        server.tool.signal(SIGKILL)
        _ = await server.tool.end()
        #expect(await publishing.end() == 69)
        #expect(publishing.error.contains("1 message"), "\(publishing.error)")
        #expect(publishing.output.contains(#""published":1,"#))
    }

    @Test("Ctrl-C ends it with 1 and a count")
    func interrupted() async throws {
        try await withServer { server, _ in
            let publishing = try RunningTool(["publish", "a", "--server", server.url])
            publishing.write(Data("one\n".utf8))
            try await begun(at: server)
            publishing.signal(SIGINT)
            #expect(await publishing.end() == 1)
            #expect(publishing.error.contains("Interrupted"))
        }
    }
}
