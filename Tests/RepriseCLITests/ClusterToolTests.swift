import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

/// What an operator does with a cluster, by the real tool on a real nats-server.
@Suite("reprise cluster")
struct ClusterToolTests {
    @discardableResult
    private func tool(_ arguments: String..., input: String = "") async throws -> Tool.Result {
        try await Tool.run(arguments, input: Data(input.utf8))
    }

    /// Runs it with an output that its reader has closed.
    private func unread(_ arguments: [String]) async throws -> (status: Int32, error: String) {
        let pipe = Pipe()
        let tool = try RunningTool(arguments, outputTo: pipe)
        try pipe.fileHandleForWriting.close()
        try pipe.fileHandleForReading.close()
        return (await tool.end(), tool.error)
    }

    private func end(_ servers: ToolServer...) async {
        for server in servers { server.tool.signal(SIGTERM) }
        for server in servers { #expect(await server.tool.end() == 0) }
    }

    private func history(of server: ToolServer, _ channel: String = "general") async throws
        -> [String]
    {
        try await tool("history", channel, "--server", server.url).lines
    }

    private func gateway(_ nats: NatsServer, _ view: String) async throws -> ToolServer {
        try await ToolServer(data: view, options: ["--log", nats.url])
    }

    /// What comes for the first time until a message does; what was not settled comes again.
    private func listened(
        _ journal: String, _ server: ToolServer, until body: String
    ) async throws -> [Int] {
        let listening = try RunningTool([
            "listen", "general", "--journal", journal, "--server", server.url, "--json",
        ])
        try await listening.wait("it has \(body)") { $0.contains(#""body":"\#(body)""#) }
        listening.signal(SIGINT)
        _ = await listening.end()
        return try ListenLine.all(listening.output).filter { $0.attempt == 1 }.map(\.seq)
    }

    @discardableResult
    private func sqlite(_ file: String, _ sql: String) async throws -> String {
        let result = try await Command.run(
            Command.python.path,
            [
                "-c",
                "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); print(d.execute(sys.argv[2]).fetchone()); d.commit()",
                file, sql,
            ])
        #expect(result.status == 0, "\(result.words)")
        return result.words
    }

    private func epoch(in data: String) async throws -> String {
        try await sqlite(data + "/messages.sqlite", "SELECT epoch FROM log")
    }

    @Test("A server's data goes into a cluster, and back: a device goes on where it was")
    func thereAndBack() async throws {
        try await NatsServer.run { nats, folder in
            let (data, device) = (folder.path("data"), folder.path("device"))
            let single = try await ToolServer(data: data)
            try await tool("publish", "general", "one", "two", "--server", single.url)
            #expect(try await listened(device, single, until: "two") == [1, 2])
            // Nobody moves what a server uses.
            let place = ["--data", data, "--log", nats.url, "--open"]
            let inUse = try await Tool.run(["cluster", "seed"] + place)
            #expect(inUse.status == 75 && inUse.error.contains("Another server"))
            let before = try await history(of: single)
            await end(single)
            let epoch = try await epoch(in: data)
            // What is refused for certain leaves the folder to its server.
            let large = try await Tool.run(
                ["cluster", "seed", "--journal-bytes", "1125899906842624"] + place)
            #expect(large.status == 69, "\(large)")
            for words in ["1125899906842624 bytes on 1 server: insufficient", "--journal-bytes"] {
                #expect(large.error.contains(words), "\(large.error)")
            }
            await end(try await ToolServer(data: data))
            let moved = try await Tool.run(["cluster", "seed"] + place)
            #expect(moved.status == 0, "\(moved.error)")
            #expect(moved.output.contains("moved 2 messages of 1 channel"), "\(moved.output)")
            let again = try await Tool.run(["cluster", "seed", "--json"] + place)
            #expect(again.status == 0 && again.output.contains(#""wasThere":true"#))
            let split = try await Tool.run("serve", "--port", "0", "--data", data)
            #expect(split.status == 78 && split.error.contains("moved into a cluster"), "\(split)")
            #expect(split.error.contains("`reprise cluster export --move`"))

            let gateway = try await gateway(nats, folder.path("view"))
            #expect(try await history(of: gateway) == before)
            let check = try await tool("cluster", "check", "--log", nats.url, "--json")
            let found = try #require(check.output.firstMatch(of: /"epoch":"([^"]+)"/))
            #expect(epoch.contains(found.1), "\(epoch) \(found.1)")
            try await tool("publish", "general", "three", "--server", gateway.url)
            // Only what is new, in the same epoch: nothing comes again, and nothing is missing.
            #expect(try await listened(device, gateway, until: "three") == [3])
            // A journal that has begun takes no other data, nor the same after it has changed.
            let other = try await ToolServer(data: folder.path("other"))
            await end(other)
            let refused = try await tool(
                "cluster", "seed", "--data", folder.path("other"), "--log", nats.url, "--open")
            #expect(refused.status == 78 && refused.error.contains("There is a journal already"))

            let copied = try await tool(
                "cluster", "export", "--log", nats.url, "--data", folder.path("copy"), "--json")
            #expect(copied.status == 0, "\(copied.error)")
            #expect(copied.output.contains(#""isMoved":false,"messages":3"#), "\(copied.output)")
            let after = try await history(of: gateway)
            await end(gateway)
            let back = folder.path("back")
            let out = try await tool(
                "cluster", "export", "--log", nats.url, "--data", back, "--move")
            #expect(out.status == 0, "\(out.error)")
            #expect(out.output.contains("moved 3 messages"), "\(out.output)")
            #expect(
                try await tool("cluster", "export", "--log", nats.url, "--data", back).status == 78)
            // No gateway goes on with it.
            let late = try RunningTool(
                ["serve", "--port", "0", "--data", folder.path("view"), "--log", nats.url])
            #expect(await late.end() == 78 && late.error.contains("is sealed"))
            #expect(try await self.epoch(in: back) == epoch)
            #expect(try await self.epoch(in: folder.path("copy")) != epoch)
            let single2 = try await ToolServer(data: back)
            #expect(try await history(of: single2) == after)
            try await tool("publish", "general", "four", "--server", single2.url)
            #expect(try await listened(device, single2, until: "four") == [4])
            // The copy of before has another epoch: a device begins anew, and knows what it has.
            let copy = try await ToolServer(data: folder.path("copy"))
            #expect(try await history(of: copy) == after)
            // So has the folder that was moved, when an operator wants it again.
            let restored = try await ToolServer(data: data, options: ["--restored"])
            #expect(try await history(of: restored) == before)
            await end(single2, copy, restored)
            #expect(try await self.epoch(in: data) != epoch)
            await end(try await ToolServer(data: data))
        }
    }

    @Test("A seed that is killed at any time leaves nothing half moved, and is made again")
    func killedSeed() async throws {
        try await NatsServer.run { nats, folder in
            let data = folder.path("data")
            let single = try await ToolServer(
                data: data, options: ["--publishes-per-second", "100000"])
            let line = String(repeating: "x", count: 4_000)
            let lines = (0..<3_000).map { "\($0) \(line)" }.joined(separator: "\n")
            let published = try await tool(
                "publish", "general", "--server", single.url, "--quiet", input: lines)
            #expect(published.status == 0, "\(published.error)")
            await end(single)
            let place = ["cluster", "seed", "--data", data, "--log", nats.url, "--open"]
            var kills = 0
            for wait in [0, 30, 80, 150, 250, 400] {
                let seed = try RunningTool(place)
                try await eventually("it has begun, or is done") {
                    seed.error.contains("copying") || !seed.isRunning
                }
                try await Task.sleep(for: .milliseconds(wait))
                seed.signal(SIGKILL)
                if await seed.end() == -SIGKILL { kills += 1 }
                let check = try await tool("cluster", "check", "--log", nats.url)
                // There is no journal, or a whole one with its base.
                #expect(
                    check.status == 78 || check.output.contains("base      at entry 1"),
                    "\(check.output) \(check.error)")
                guard check.status != 78 else { continue }
                let mark = try await sqlite(data + "/messages.sqlite", "PRAGMA user_version")
                #expect(mark == "(1,)\n", "no server may start beside the journal")
            }
            #expect(kills > 0)
            let done = try await Tool.run(place)
            #expect(done.status == 0, "\(done.error)")
            let gateway = try await gateway(nats, folder.path("view"))
            let found = try await tool(
                "history", "general", "--server", gateway.url, "--limit", "1")
            #expect(found.output.contains("2999"), "\(found.output.prefix(300))")
            await end(gateway)
        }
    }

    @Test("An entry that no gateway can apply stops all; skipped, they go on, and new ones too")
    func poison() async throws {
        try await NatsServer.run { nats, folder in
            let data = folder.path("data")
            let single = try await ToolServer(data: data)
            for name in ["full", "broken"] {
                try await tool("publish", name, "one", "--server", single.url)
            }
            await end(single)
            // One has no sequences left; the log of the other has a message behind its head, so
            // that storing many there violates a key.
            try await sqlite(
                data + "/messages.sqlite",
                "UPDATE heads SET head = iif(name = 'full', 9007199254740991, 0)")
            let seed = try await tool(
                "cluster", "seed", "--data", data, "--log", nats.url, "--open")
            #expect(seed.status == 0, "\(seed.error)")
            let first = try await gateway(nats, folder.path("1"))
            let second = try await gateway(nats, folder.path("2"))
            for server in [first, second] {
                let full = try await tool("publish", "full", "more", "--server", server.url)
                #expect(full.status == 76 && full.error.contains("no sequences left"), "\(full)")
            }
            try await tool("publish", "general", "before", "--server", first.url)
            let lines = (0..<10).map { #"{"id":"bad\#($0)","body":1}"# }.joined(separator: "\n")
            let publish = { @Sendable (server: ToolServer) in
                try await Command.run(
                    "curl",
                    [
                        "-s", "-m", "25", "-H", "content-type: application/x-ndjson",
                        "--data-binary", lines, server.url + "/v1/channels/broken/messages",
                    ]
                ).words
            }
            let publishing = Task { try await publish(second) }
            let skip = { (arguments: String...) in
                try await Tool.run(["cluster", "skip", "--log", nats.url] + arguments)
            }
            var entry = ""
            for server in [first, second] {
                try await eventually("it says so") {
                    let ready = try await Command.run("curl", ["-s", server.url + "/readyz"])
                    let words = /Entry (\d+) of the journal cannot/
                    guard let found = ready.words.firstMatch(of: words) else { return false }
                    entry = String(found.1)
                    return ready.words.contains("reprise cluster skip \(entry)")
                }
            }
            try await eventually("check names it") {
                let check = try await tool("cluster", "check", "--log", nats.url)
                return check.status == 1 && check.output.contains("stands before entry \(entry)")
            }
            // Not without being sure, and not what was applied.
            let asked = try await skip(entry)
            #expect(asked.status == 1 && asked.output.contains("Nothing is changed"), "\(asked)")
            let unread = try await unread(["cluster", "skip", "--log", nats.url, entry])
            #expect(unread.status == 1, "\(unread)")
            let applied = try await skip("\(try #require(Int(entry)) - 1)", "--yes")
            #expect(applied.status == 76 && applied.error.contains("has applied"), "\(applied)")
            #expect(try await skip("999999", "--yes").status == 65)
            let done = try await skip(entry, "--yes", "--json")
            #expect(done.status == 0 && done.output.contains(#""isSkipped":true"#), "\(done)")
            let unknown = try await publishing.value
            #expect(unknown.contains("unavailable"), "\(unknown)")
            for server in [first, second] {
                try await eventually("it goes on") {
                    try await Command.run("curl", ["-s", server.url + "/readyz"]).words
                        == #"{"status":"ready"}"#
                }
            }
            let again = try await publish(second)
            #expect(
                again.split(separator: "\n").count { $0.contains("forbidden") } == 10, "\(again)")
            let after = try await tool("publish", "general", "after", "--server", second.url)
            #expect(after.status == 0, "\(after.error)")
            let new = try await gateway(nats, folder.path("3"))
            let histories = [
                try await history(of: first), try await history(of: second),
                try await history(of: new),
            ]
            #expect(histories[0].count == 2 && Set(histories).count == 1, "\(histories)")
            let better = try await tool("cluster", "check", "--log", nats.url)
            #expect(better.output.contains("skipped   entry \(entry)"), "\(better.output)")
            #expect(!better.output.contains("stands before"), "\(better.output)")
            await end(first, second, new)
        }
    }

    @Test("A restored journal gets a new epoch: gateways begin anew, those that run end")
    func restored() async throws {
        try await NatsServer.run { nats, folder in
            let view = folder.path("view")
            let gateway = try await gateway(nats, view)
            try await tool("publish", "general", "one", "--server", gateway.url)
            let asked = try await tool("cluster", "restored", "--log", nats.url)
            #expect(asked.status == 1 && asked.output.contains("Nothing is changed"))
            let unread = try await unread(["cluster", "restored", "--log", nats.url])
            #expect(unread.status == 1, "\(unread)")
            let done = try await tool("cluster", "restored", "--log", nats.url, "--yes")
            #expect(done.status == 0 && done.output.contains("Remove the --data"), "\(done.error)")
            #expect(await gateway.tool.end() != 0)
            let late = try RunningTool(["serve", "--port", "0", "--data", view, "--log", nats.url])
            #expect(await late.end() == 78 && late.error.contains("another journal"))
            try FileManager.default.removeItem(atPath: view)
            let again = try await self.gateway(nats, view)
            #expect(try await history(of: again).count == 1)
            await end(again)
        }
    }

    @Test("A cluster of a former version is upgraded by its operator: then it tells directories")
    func upgraded() async throws {
        try await NatsServer.run { nats, folder in
            let options = ["--log", nats.url, "--dev"]
            let gateway = try await ToolServer(data: folder.path("view"), options: options)
            try await eventually("it has the rules of this version") {
                try await tool("cluster", "check", "--log", nats.url).output
                    .contains("rules     3\n")
            }
            let newest = try await tool("cluster", "upgrade", "--log", nats.url)
            #expect(newest.status == 0 && newest.output.contains("as this version's"), "\(newest)")
            await end(gateway)

            // A stream's metadata as a former version has made it.
            let script = """
                import json, sys
                sys.path.insert(0, sys.argv[1])
                from peer import Peer
                peer = Peer(int(sys.argv[2]), tls=False, host="127.0.0.1")
                old = json.loads(peer.ask("$JS.API.STREAM.INFO.RP_reprise_JOURNAL", {}))["config"]
                old.update(name="RP_chat2_JOURNAL", subjects=["rp.chat2.j"],
                           republish={"src": "rp.chat2.j", "dest": "rp.chat2.live"})
                del old["metadata"]["reprise_rules"]
                made = json.loads(peer.ask("$JS.API.STREAM.CREATE.RP_chat2_JOURNAL", old))
                print(made.get("error"))
                """
            let support = Command.root.appending(path: "Tests/Support/cluster").path
            let made = try await Command.run(
                Command.python.path, ["-c", script, support, "\(nats.port)"])
            #expect(made.status == 0 && made.words == "None\n", "\(made)")
            let place = ["--log", nats.url, "--cluster", "chat2"]
            let former = try await ToolServer(
                data: folder.path("former"), options: place + ["--dev"])
            let token = try await tool("token", "--as", "ada", "--server", former.url).lines[0]
            let channel = try await Command.run(
                "curl",
                [
                    "-s", "-X", "PUT", "-H", "authorization: Bearer \(token)",
                    "-H", "content-type: application/json", "-d", #"{"visibility":"private"}"#,
                    former.url + "/v1/channels/team",
                ])
            #expect(channel.words.contains("team"), "\(channel)")
            let old = try await Tool.run(["cluster", "check"] + place)
            #expect(old.output.contains("rules     1; 'reprise cluster upgrade'"), "\(old.output)")
            let before = try await Tool.run(["cluster", "upgrade"] + place)
            #expect(before.status == 1 && before.output.contains("Nothing is changed"))
            let unread = try await unread(["cluster", "upgrade"] + place)
            #expect(unread.status == 1, "\(unread)")
            let done = try await Tool.run(["cluster", "upgrade", "--yes", "--json"] + place)
            #expect(done.status == 0, "\(done.error)")
            #expect(done.output == #"{"former":1,"newest":3,"rules":3}"# + "\n", "\(done.output)")
            // Its gateway follows, and tells what was made before.
            try await eventually("ada is told", within: .seconds(30)) {
                let view = folder.path("former") + "/view.sqlite"
                let heads = "SELECT count(*) FROM heads WHERE name LIKE 'directory:%' AND head = 3"
                return try await sqlite(view, heads).contains("1")
            }
            await end(former)
        }
    }

    @Test("Without a majority check shows what the monitoring ports say, and then the error")
    func noMajority() async throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let gone = try await NatsServer.start(in: folder.url.appending(path: "gone"))
        gone.kill()
        // Of three servers that its settings name, it alone is there.
        let alone = try await NatsServer.start(
            in: folder.url.appending(path: "alone"),
            """
            server_name: alone
            cluster {
                name: tests
                listen: "127.0.0.1:-1"
                routes: ["nats://127.0.0.1:1", "nats://127.0.0.1:2", "nats://127.0.0.1:3"]
            }
            """)
        defer { alone.kill() }
        let check = [
            "cluster", "check", "--log", alone.url, "--monitor",
            "\(alone.monitor),\(gone.monitor)",
        ]
        let found = try await Tool.run(check)
        #expect(found.status == 69 && found.error.contains("majority"), "\(found)")
        for line in found.lines { #expect(line.count <= 80, "\(line)") }
        let (here, there) = (
            alone.monitor.replacing("http://", with: ""),
            gone.monitor.replacing("http://", with: "")
        )
        let text = found.output.replacing("\n          ", with: " ")
        for words in [
            "server    alone at \(here): cluster of ",
            ", no leader; no copy of RP_reprise_JOURNAL\n",
            "server    \(there) does not answer\n", "PROBLEM   \(there) does not answer as",
        ] { #expect(text.contains(words), "\(words): \(text)") }
        let told = try await Tool.run(check + ["--json"])
        #expect(told.status == 69 && told.error.contains("majority"), "\(told)")
        for words in [#""name":"alone""#, #""answers":false"#, #""code":"unreachable""#] {
            #expect(told.output.contains(words), "\(told)")
        }
        let blind = try await Tool.run(Array(check.dropLast(2)))
        #expect(blind.status == 69 && blind.output.isEmpty, "\(blind)")
    }

    @Test("An error of check counts also where nobody reads what is printed before it")
    func closedOutput() async throws {
        let url = "127.0.0.1:1"
        let check = try await unread([
            "cluster", "check", "--log", "nats://\(url)", "--monitor", "http://\(url)",
        ])
        #expect(check.status == 69, "\(check)")
        #expect(check.error.hasPrefix("reprise: "), "\(check)")
    }

    @Test(
        "Every command explains itself in 80 columns, and says what is missing",
        arguments: ["check", "seed", "export", "skip", "restored", "upgrade"])
    func help(name: String) async throws {
        let help = try await tool("cluster", name, "--help")
        #expect(help.status == 0)
        #expect(help.output.contains("EXIT CODES") && help.output.contains("EXAMPLES"))
        for line in help.lines { #expect(line.count <= 80, "\(line)") }
        let more =
            name == "skip" ? ["7"] : ["seed", "export"].contains(name) ? ["--data", "x"] : []
        let result = try await Tool.run(["cluster", name] + more)
        #expect(result.status == 64 && result.error.contains("--log"), "\(result.error)")
    }
}
