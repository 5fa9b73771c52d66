import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

/// Operators' commands that are killed half way and run again: by the real tool, on a real
/// nats-server.
@Suite("reprise cluster, killed")
struct ClusterToolKillTests {
    private func gateway(_ nats: NatsServer, _ view: String) async throws -> ToolServer {
        try await ToolServer(
            data: view, options: ["--log", nats.url, "--publishes-per-second", "100000"])
    }

    private func end(_ servers: [ToolServer]) async {
        for server in servers { server.tool.signal(SIGTERM) }
        for server in servers { #expect(await server.tool.end() == 0) }
    }

    /// Publishes so many messages of some bytes.
    private func fill(_ server: ToolServer, _ count: Int, bytes: Int) async throws {
        let text = String(repeating: "x", count: bytes)
        let lines = (0..<count).map { "\($0) \(text)" }.joined(separator: "\n")
        let published = try await Tool.run(
            ["publish", "general", "--server", server.url, "--quiet"], input: Data(lines.utf8))
        #expect(published.status == 0, "\(published.error)")
    }

    private func history(of server: ToolServer) async throws -> [String] {
        try await Tool.run("history", "general", "--server", server.url, "--limit", "1000").lines
    }

    /// Starts it again and again, and kills it after longer and longer.
    ///
    /// - Returns: how often it was killed before it had ended.
    private func kill(
        _ arguments: [String], after waits: [Int], environment: [String: String] = [:],
        once began: (RunningTool) -> Bool = { _ in true },
        then check: (_ status: Int32) async throws -> Void
    ) async throws -> Int {
        var kills = 0
        for wait in waits {
            let tool = try RunningTool(["cluster"] + arguments, environment: environment)
            try await eventually("it has begun, or is done") { began(tool) || !tool.isRunning }
            try await Task.sleep(for: .milliseconds(wait))
            tool.signal(SIGKILL)
            let status = await tool.end()
            if status == -SIGKILL { kills += 1 }
            try await check(status)
        }
        return kills
    }

    @Test("An export is made again: as a copy, and as a move that had sealed the journal")
    func export() async throws {
        try await NatsServer.run { nats, folder in
            let server = try await gateway(nats, folder.path("view"))
            try await fill(server, 900, bytes: 4_000)
            let before = try await history(of: server)
            #expect(before.count == 900)
            await end([server])
            for isMove in [false, true] {
                let data = folder.path(isMove ? "moved" : "copied")
                let place =
                    ["export", "--log", nats.url, "--data", data] + (isMove ? ["--move"] : [])
                let kills = try await kill(
                    place, after: [0, 40, 120],
                    once: { $0.error.contains("entries are applied") }
                ) { status in
                    // Nothing that a server would take for a log, unless it is all of it.
                    let log = FileManager.default.fileExists(atPath: data + "/messages.sqlite")
                    #expect(status != 0 || log)
                    if log {
                        let single = try await ToolServer(data: data)
                        #expect(try await history(of: single) == before)
                        await end([single])
                        try FileManager.default.removeItem(atPath: data)
                    }
                }
                #expect(kills > 0)
                let made = try await Tool.run(["cluster"] + place)
                #expect(made.status == 0, "\(made.error)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: data).count == 2)
                #expect(!FileManager.default.fileExists(atPath: data + ".view"))
                let single = try await ToolServer(data: data)
                #expect(try await history(of: single) == before)
                await end([single])
            }
        }
    }

    @Test("A skip is ordered again: gateways wait, or go on, and have the same")
    func skip() async throws {
        try await NatsServer.run { nats, folder in
            let data = folder.path("data")
            let single = try await ToolServer(data: data)
            let first = try await Tool.run("publish", "broken", "1", "--server", single.url)
            #expect(first.status == 0, "\(first.error)")
            await end([single])
            // A message stands behind the head: storing many there violates a key.
            let change = try await Command.run(
                Command.python.path,
                [
                    "-c",
                    "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute('UPDATE heads SET head = 0'); d.commit()",
                    data + "/messages.sqlite",
                ])
            #expect(change.status == 0, "\(change.words)")
            let seed = try await Tool.run(
                "cluster", "seed", "--data", data, "--log", nats.url, "--open")
            #expect(seed.status == 0, "\(seed.error)")
            var all: [ToolServer] = []
            for name in ["1", "2"] { all.append(try await gateway(nats, folder.path(name))) }
            try await fill(all[0], 20, bytes: 10)
            let lines = (0..<10).map { #"{"id":"bad\#($0)","body":1}"# }.joined(separator: "\n")
            _ = try await Command.run(
                "curl",
                [
                    "-s", "-m", "25", "-H", "content-type: application/x-ndjson", "--data-binary",
                    lines, all[1].url + "/v1/channels/broken/messages",
                ])
            func ready(_ server: ToolServer) async throws -> String {
                try await Command.run("curl", ["-s", server.url + "/readyz"]).words
            }
            var entry = ""
            try await eventually("a gateway says what it waits for") {
                let found = try await ready(all[0]).firstMatch(of: /Entry (\d+) of the journal/)
                entry = found.map { String($0.1) } ?? ""
                return !entry.isEmpty
            }
            try await eventually("check names it") {
                let check = try await Tool.run("cluster", "check", "--log", nats.url)
                return check.output.contains("stands before entry \(entry)")
            }
            let place = ["skip", entry, "--log", nats.url, "--yes"]
            let work = folder.path("work")
            try FileManager.default.createDirectory(
                atPath: work, withIntermediateDirectories: true)
            let kills = try await kill(
                place, after: [50, 200, 400, 600, 800], environment: ["TMPDIR": work]
            ) { status in
                let check = try await Tool.run("cluster", "check", "--log", nats.url)
                let isSkipped = check.output.contains("skipped   entry \(entry)")
                #expect(isSkipped || check.output.contains("stands before entry \(entry)"))
                #expect(status != 0 || isSkipped)
            }
            #expect(kills > 0)
            try await becomes("what a trial has left, which ends with its command", []) {
                try FileManager.default.subpathsOfDirectory(atPath: work)
            }
            let done = try await Tool.run(["cluster"] + place)
            #expect(done.status == 0 || done.error.contains("is skipped already"), "\(done.error)")
            try await eventually("they go on") {
                let words = [try await ready(all[0]), try await ready(all[1])]
                return words.allSatisfy { $0 == #"{"status":"ready"}"# }
            }
            try await fill(all[1], 20, bytes: 10)
            all.append(try await gateway(nats, folder.path("3")))
            var histories: [[String]] = []
            for server in all { histories.append(try await history(of: server)) }
            #expect(histories[0].count == 40 && Set(histories).count == 1, "\(histories)")
            await end(all)
        }
    }

    @Test("A new epoch is given again to a restored journal: no message is lost")
    func restored() async throws {
        try await NatsServer.run { nats, folder in
            // With a base, of the first epoch.
            let data = folder.path("data")
            let single = try await ToolServer(
                data: data, options: ["--publishes-per-second", "100000"])
            try await fill(single, 20, bytes: 10)
            let before = try await history(of: single)
            await end([single])
            let seed = try await Tool.run(
                "cluster", "seed", "--data", data, "--log", nats.url, "--open")
            #expect(seed.status == 0, "\(seed.error)")
            func epoch() async throws -> String {
                let check = try await Tool.run("cluster", "check", "--log", nats.url, "--json")
                return String(try #require(check.output.firstMatch(of: /"epoch":"([^"]+)"/)).1)
            }
            var epochs = [try await epoch()]
            let place = ["restored", "--log", nats.url, "--yes"]
            let kills = try await kill(place, after: [20, 60, 120, 200, 300]) { status in
                let now = try await epoch()
                #expect(status != 0 || now != epochs.last)
                epochs.append(now)
            }
            #expect(kills > 0)
            let done = try await Tool.run(["cluster"] + place)
            #expect(done.status == 0, "\(done.error)")
            let last = try await epoch()
            #expect(!epochs.contains(last))
            let server = try await gateway(nats, folder.path("view"))
            #expect(try await history(of: server) == before)
            try await fill(server, 5, bytes: 10)
            #expect(try await history(of: server).count == 25)
            await end([server])
        }
    }
}
