import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

/// What docs/start.md lets a reader do, with the programs that it names.
@Suite("start")
struct StartTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private let program = Tool.Program.reprise.url.deletingLastPathComponent()
        .appending(path: "hello")

    private func hello(_ words: [String] = [], at server: String) throws -> PseudoTerminal {
        try PseudoTerminal(
            words, of: program, in: folder.url, environment: ["REPRISE_SERVER": server])
    }

    @Test(
        "the device of the first page prints what came while it was dead, and says once what it was told while the server was"
    )
    func page() async throws {
        var server = try await ToolServer(data: folder.path("data"))
        func publish(_ text: String) async throws {
            let result = try await Tool.run(["publish", "general", text, "--server", server.url])
            #expect(result.status == 0, "\(result.error)")
        }

        let first = try hello(at: server.url)
        try await publish("Are you there?")
        try await first.wait("the first is printed") {
            $0.joined().contains(#"1 "Are you there?""#)
        }
        first.signal(SIGKILL)
        #expect(await first.end() == -SIGKILL)

        try await publish("Still?")
        let second = try hello(at: server.url)
        try await second.wait("the second is printed") { $0.joined().contains(#"2 "Still?""#) }
        #expect(
            !second.text.contains("Are you there?") || second.text.contains("(was this printed?"))

        second.signal(SIGKILL)
        _ = await second.end()
        server.tool.signal(SIGKILL)
        _ = await server.tool.end()
        let third = try hello(["Good", "morning"], at: server.url)
        try await recorded()
        third.signal(SIGKILL)
        _ = await third.end()
        server = try await ToolServer(data: server.data, url: server.url)
        let fourth = try hello(at: server.url)
        try await fourth.wait("its own word is printed") {
            $0.joined().contains(#"3 "Good morning""#)
        }
        let history = try await Tool.run("history", "general", "--server", server.url)
        #expect(history.output.components(separatedBy: "Good morning").count == 2)
        fourth.signal(SIGKILL)
        _ = await fourth.end()

        let ledger = try await Tool.run("ledger", "--journal", folder.path("hello.journal"))
        #expect(ledger.status == 0, "\(ledger.output)")
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    @Test("the device of the first page writes each line at once, also into a file")
    func file() async throws {
        let server = try await ToolServer(data: folder.path("data"))
        let device = try PseudoTerminal(
            ["-c", "exec '\(program.path)' > printed"], of: URL(filePath: "/bin/sh"),
            in: folder.url, environment: ["REPRISE_SERVER": server.url])
        let sent = try await Tool.run([
            "publish", "general", "Are you there?", "--server", server.url,
        ])
        #expect(sent.status == 0, "\(sent.error)")
        try await eventually("the line is in the file") {
            (try? String(contentsOf: folder.appending("printed"), encoding: .utf8))
                == "1 \"Are you there?\"\n"
        }
        device.signal(SIGKILL)
        _ = await device.end()
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    @Test("the device of the first page says what is wrong and what to do, and ends with 1")
    func errors() async throws {
        let server = try await ToolServer(data: folder.path("data"))
        let first = try hello(at: server.url)
        try await first.wait("it has its journal") { _ in
            FileManager.default.fileExists(atPath: self.folder.path("hello.journal/owner.lock"))
        }
        let second = try hello(["Good", "morning"], at: server.url)
        #expect(await second.end() == 1)
        #expect(second.text.contains("hello: The journal is in use by the process "))
        #expect(second.text.contains("End that process first."))
        first.signal(SIGKILL)
        _ = await first.end()
        for address in ["chat.example.org", "http://"] {
            let third = try hello(at: address)
            #expect(await third.end() == 1)
            #expect(third.text.contains("hello: “\(address)”"))
            #expect(third.text.contains("Name it with scheme and host"))
        }
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    /// Waits until the journal has a third entry, its own word.
    ///
    /// A pending entry proves nothing: the message that the second process was killed over may be.
    private func recorded() async throws {
        var said = ""
        try await eventually("\(said)") {
            said = try await Tool.run(
                "ledger", "--journal", folder.path("hello.journal"), "--json"
            ).output
            return said.contains(#""accepted":3"#)
        }
    }
}
