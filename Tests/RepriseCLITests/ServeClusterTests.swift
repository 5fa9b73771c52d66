import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

/// Gateways as processes, over a real nats-server.
@Suite("serve --log")
struct ServeClusterTests {
    private func publish(_ text: String, to server: ToolServer) async throws {
        let result = try await Tool.run(["publish", "general", text, "--server", server.url])
        #expect(result.status == 0, "\(result.error)")
    }

    private func history(of server: ToolServer) async throws -> String {
        try await Tool.run(["history", "general", "--server", server.url]).output
    }

    @Test(
        "Messages published at one server can be read at the other, also after its view is removed")
    func two() async throws {
        try await NatsServer.run { nats, folder in
            let views = ["1", "2"].map { folder.url.path + "/view" + $0 }
            let options = ["--log", nats.url]
            let first = try await ToolServer(data: views[0], options: options)
            let second = try await ToolServer(data: views[1], options: options)
            try await publish("one", to: first)
            try await publish("two", to: second)
            for server in [first, second] {
                let found = try await history(of: server)
                #expect(found.contains("one") && found.contains("two"), "\(found)")
            }
            second.tool.signal(SIGKILL)
            #expect(await second.tool.end() == -SIGKILL)
            try FileManager.default.removeItem(atPath: views[1])
            try await publish("three", to: first)
            let again = try await ToolServer(data: views[1], options: options)
            let found = try await history(of: again)
            #expect(found.contains("three"))
            #expect(try await history(of: first) == found)
        }
    }

    @Test("SIGTERM ends the server within 5 s, although its accepted messages cannot be stored")
    func ending() async throws {
        try await NatsServer.run { nats, folder in
            let server = try await ToolServer(
                data: folder.url.path + "/view", options: ["--log", nats.url])
            nats.kill()
            let waiting = try RunningTool(["publish", "general", "hello", "--server", server.url])
            try await eventually("it is known that nobody is there") {
                server.tool.error.contains("connecting again")
            }
            // It may still be on its way: then it is refused.
            try await Task.sleep(for: .milliseconds(200))
            server.tool.signal(SIGTERM)
            #expect(await server.tool.end() == 0, "\(server.tool.error)")
            waiting.signal(SIGKILL)
        }
    }

    @Test("A gateway of another cluster, or with other flags, is refused, and makes no journal")
    func misspelt() async throws {
        try await NatsServer.run { nats, folder in
            let (view, other) = (folder.path("view"), folder.path("other"))
            let place = ["--log", nats.url, "--cluster"]
            let server = try await ToolServer(data: view, options: place + ["chat"])
            #expect(server.tool.error.contains("There was no journal of the cluster chat"))
            server.tool.signal(SIGTERM)
            #expect(await server.tool.end() == 0)
            for (data, options, words) in [
                (view, ["caht"], "is of the cluster chat, and --cluster is caht."),
                (other, ["chat", "--dev"], "with --dev, and those of the cluster chat without"),
            ] {
                let refused = try await Tool.run(
                    ["serve", "--port", "0", "--data", data] + place + options)
                #expect(refused.status == 78 && refused.error.contains(words), "\(refused)")
            }
            let check = try await Tool.run(["cluster", "check"] + place + ["caht"])
            #expect(check.status == 78 && check.error.contains("Others here: chat."), "\(check)")
        }
    }

    @Test("A nats-server that is too old is refused with 78; after its upgrade all goes on")
    func oldServer() async throws {
        let folder = try TemporaryFolder()
        let place = folder.url.appending(path: "nats")
        let nats = try await NatsServer.start(in: place, program: NatsServer.oldProgram)
        defer { nats.kill() }
        let view = folder.path("view")
        let serve = ["serve", "--port", "0", "--data", view, "--log", nats.url]
        for arguments in [serve, ["cluster", "check", "--log", nats.url]] {
            let result = try await Tool.run(arguments)
            #expect(result.status == 78, "\(arguments): \(result)")
            let words = "nats-server is too old: it is 2.12.2. Use 2.12.3 or newer"
            #expect(result.error.contains(words), "\(result.error)")
            // It is a journal: nobody is told to remove it.
            let error = result.error.split(separator: "\n").last { $0.hasPrefix("reprise:") }
            #expect(error?.contains("remove") == false, "\(result.error)")
        }
        #expect(!FileManager.default.fileExists(atPath: view))

        // Beside a newer one, as a node that does not lead.
        let other = try await NatsServer.start(in: folder.url.appending(path: "other"))
        defer { other.kill() }
        let gateway = try await ToolServer(
            data: folder.path("other-view"), options: ["--log", other.url])
        let check = ["cluster", "check", "--json", "--log", other.url, "--monitor"]
        let found = try await Tool.run(check + ["\(other.monitor),\(nats.monitor)"])
        #expect(found.status == 1)
        let address = nats.monitor.replacing("http://", with: "")
        let problem = "\(address) is nats-server 2.12.2: too old."
        #expect(found.output.contains(problem), "\(found)")
        let alone = try await Tool.run(check + [other.monitor])
        #expect(!alone.output.contains("too old"), "\(alone)")
        gateway.tool.signal(SIGTERM)
        #expect(await gateway.tool.end() == 0)

        nats.kill()
        try nats.restart()
        let server = try await ToolServer(data: view, options: ["--log", nats.url])
        try await publish("one", to: server)
        #expect(try await history(of: server).contains("one"))
    }

    @Test("A monitoring port that does not answer is named, and all else is told in 80 columns")
    func silentMonitor() async throws {
        try await NatsServer.run { nats, folder in
            let gone = try await NatsServer.start(in: folder.url.appending(path: "gone"))
            gone.kill()
            let gateway = try await ToolServer(
                data: folder.path("view"), options: ["--log", nats.url])
            let check = [
                "cluster", "check", "--log", "\(nats.url),\(nats.url),\(nats.url)", "--monitor",
                "\(gone.monitor),\(nats.monitor)",
            ]
            let found = try await Tool.run(check)
            #expect(found.status == 1, "\(found)")
            for line in found.lines { #expect(line.count <= 80, "\(line)") }
            let (here, there) = (
                nats.monitor.replacing("http://", with: ""),
                gone.monitor.replacing("http://", with: "")
            )
            let text = found.output.replacing("\n          ", with: " ")
            for words in [
                "PROBLEM   \(there) does not answer as the monitoring port of NATS.",
                "run this check with --monitor \(gone.monitor).",
                "\(here) now and then", "\(there) not known", ": heard ",
                "PROBLEM   The journal is on 1 server.", "PROBLEM   \(here) syncs every",
            ] { #expect(text.contains(words), "\(words): \(text)") }
            let told = try await Tool.run(check + ["--json"])
            #expect(told.status == 1)
            #expect(told.output.contains(#""silentMonitors":["\#(there)"]"#), "\(told)")
            #expect(told.output.contains(#""syncsAlways":{"\#(here)":false}"#), "\(told)")
            let wrong = try await Tool.run(Array(check.dropLast()) + ["n1:8222"])
            #expect(wrong.status == 78 && wrong.error.contains("http://n1:8222"), "\(wrong)")
            gateway.tool.signal(SIGTERM)
            #expect(await gateway.tool.end() == 0)
        }
    }

    @Test(
        "A monitoring port that never answers is named after 5 s, and all else is told",
        .limit("tool.monitor"))
    func hangingMonitor() async throws {
        try await NatsServer.run { nats, folder in
            let gateway = try await ToolServer(
                data: folder.path("view"), options: ["--log", nats.url])
            let hanging = try await OddServer { _, answer in try await answer.hold() }
            let clock = ContinuousClock()
            let start = clock.now
            let found = try await Tool.run([
                "cluster", "check", "--log", nats.url, "--monitor",
                "http://127.0.0.1:\(hanging.port),\(nats.monitor)",
            ])
            let took = clock.now - start
            #expect(took >= .seconds(4) && took < .seconds(30), "\(took): \(found)")
            #expect(found.output.contains("127.0.0.1:\(hanging.port) does not answer"), "\(found)")
            #expect(found.output.contains(" now and then"), "\(found)")
            gateway.tool.signal(SIGTERM)
            #expect(await gateway.tool.end() == 0)
        }
    }

    @Test(
        "Contradicting options are refused before a file is opened",
        arguments: [
            (["--log", "n1:4222"], "nats://HOST:PORT"), (["--cluster", "chat"], "Add --log"),
            (["--log", "nats://n1", "--cluster", "A b"], "A cluster's name"),
            (["--log", "nats://n1", "--log-user", "anna"], "--log-password-file"),
            (["--log", "nats://n1", "--log-token-file", "/nowhere"], "cannot be read"),
            (["--log", "nats://n1", "--log-nkey", "a", "--log-creds", "b"], "one kind"),
            (["--log", "nats://n1", "--log-cert", "a"], "--log-cert-key"),
            (["--log", "nats://n1", "--journal-bytes", "5"], "67108864"),
            (["--log", "nats://n1", "--backups", "a"], "--backups"),
            (["--log", "nats://n1", "--restored"], "--restored"),
        ])
    func settings(options: [String], words: String) async throws {
        let folder = try TemporaryFolder()
        let result = try await Tool.run(
            ["serve", "--port", "0", "--data", folder.path("view")] + options)
        #expect(result.status == 78)
        #expect(result.error.contains(words), "\(result.error)")
        #expect(result.error.split(separator: "\n").count == 1)
    }
}
