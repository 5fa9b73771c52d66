import Foundation
import GRDB
import Reprise
import RepriseChains
import RepriseCommandLine
import RepriseCore
import RepriseJournal
import RepriseNIO
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseCLI

@Suite("chains")
struct ChainsTests {
    @Test(
        "chains are listed newest first, with what they wait for or why they ended, in 80 columns",
        .limit("tool.chains"))
    func list() async throws {
        let folder = try TemporaryFolder()
        let ids = try await Album.play(in: folder.url, ["trouble\u{1b}[2J", "good", "waits"])
        let shown = try await Tool.run("chains", "--journal", folder.url.path)
        #expect(shown.status == 0 && shown.error.isEmpty)
        for line in shown.lines { #expect(line.columns <= 80, "\(line)") }
        let rows = shown.lines.filter { $0.contains("album 3") }
        #expect(rows.map { String($0.prefix(8)) } == ids.reversed().map { String($0.prefix(8)) })
        #expect(rows[0].contains("running") && rows[0].contains("3/5"))
        #expect(rows[1].contains("succeeded") && rows[1].contains("5/5"))
        #expect(rows[2].contains("failed"))
        #expect(shown.output.contains("waits for the readiness session"))
        #expect(
            shown.output.contains("no good: trouble\\u{1b}[2J") && !shown.output.contains("\u{1b}"))
        #expect(shown.lines.last == "3 chains: 1 running, 1 succeeded, 1 failed")

        let failed = try await Tool.run(
            "chains", "list", "--journal", folder.url.path, "--state", "failed", "--json")
        let line = try object(failed.output)
        #expect(line["id"] as? String == ids[0] && line["state"] as? String == "failed")
        let two = try await Tool.run("chains", "--journal", folder.url.path, "--limit", "2")
        #expect(two.lines.last?.hasSuffix("; 2 shown") == true)
    }

    @Test(
        "a chain is shown with tasks, attempts, durations, errors, contents cut to width, and its log",
        .limit("chains.shown")
    )
    func show() async throws {
        let folder = try TemporaryFolder()
        let ids = try await Album.play(in: folder.url, ["trouble", "good"])
        let good = try await Tool.run(
            "chains", "show", String(ids[1].prefix(6)), "--journal", folder.url.path)
        #expect(good.status == 0)
        for line in good.lines { #expect(line.columns <= 80, "\(line)") }
        #expect(good.lines[0] == "album 3  succeeded  5/5")
        #expect(good.output.contains("step 2, 2 tasks") && good.output.contains("1 attempt"))
        #expect(good.output.contains("\"good good good") && good.output.contains("…"))
        #expect(good.output.contains("100,002 bytes in a file"))
        #expect(good.output.contains("list: working on good"))
        #expect(good.output.contains("100 %, nearly"))

        let failed = try await Tool.run("chains", "show", ids[0], "--journal", folder.url.path)
        #expect(failed.output.contains("no good: trouble") && failed.output.contains("error"))
        let json = try object(
            try await Tool.run("chains", "show", ids[0], "--journal", folder.url.path, "--json")
                .output)
        let tasks = try #require(json["tasks"] as? [[String: Any]])
        #expect(
            tasks.map { $0["name"] as? String } == [
                "list", "copy-1", "copy-2", "signed-in", "send",
            ])
        #expect(tasks[0]["state"] as? String == "failed" && tasks[0]["attempts"] as? Int == 1)
    }

    @Test("a compensated task is shown with its own input and that of its compensation")
    func takenBack() async throws {
        let folder = try TemporaryFolder()
        let ids = try await Album.play(in: folder.url, ["back"])
        let to = [ids[0], "--journal", folder.url.path]
        let text = try await Tool.run(["chains", "show"] + to)
        let lines = text.lines.map { $0.split(separator: " ").joined(separator: " ") }
        #expect(lines.contains(#"in "back""#) && lines.contains(#"undo in "not back""#))
        for words in [["show", "--json"], ["export"]] {
            let json = try object(try await Tool.run(["chains"] + words + to).output)
            let task = try #require((json["tasks"] as? [[String: Any]])?.first)
            #expect(task["input"] as? String == "back", "\(words)")
            #expect(task["undoInput"] as? String == "not back", "\(words)")
        }
    }

    @Test(
        "an export has all data with files; a damaged file is reported, and the rest is there"
    )
    func export() async throws {
        let folder = try TemporaryFolder()
        let ids = try await Album.play(in: folder.url, ["good"])
        let arguments = ["chains", "export", ids[0], "--journal", folder.url.path]
        let whole = try object(try await Tool.run(arguments).output)
        #expect((whole["input"] as? [String: Any])?["word"] as? String == "good")
        let tasks = try #require(whole["tasks"] as? [[String: Any]])
        #expect(tasks.count == 5)
        #expect(tasks[4]["output"] as? String == String(repeating: "x", count: 100_000))

        let outputs = folder.url.appendingPathComponent("outputs")
        let file = try #require(tasks[4]["outputFile"] as? String)
        try Data("\"something else\"".utf8).write(to: outputs.appendingPathComponent(file))
        let damaged = try object(try await Tool.run(arguments).output)
        let last = try #require((damaged["tasks"] as? [[String: Any]])?.last)
        #expect(
            (last["outputFault"] as? String)?.contains("checksum") == true && last["output"] == nil)
    }

    @Test(
        "a command is left for the app, which does it when it reads its spool",
        arguments: ["cancel", "pause", "retry"])
    func commands(command: String) async throws {
        let folder = try TemporaryFolder()
        let ids = try await Album.play(in: folder.url, ["trouble", "waits"])
        let id = command == "retry" ? ids[0] : ids[1]
        let left = try await Tool.run("chains", command, id, "--journal", folder.url.path)
        #expect(left.status == 0 && left.output.hasPrefix("left for the app: \(command) album"))
        let expected: ChainState =
            switch command {
            case "cancel": .cancelled
            case "pause": .paused
            default: .succeeded
            }
        // Another version of the worker, which can do it now.
        try await Album.open(folder.url, isMended: true) { reprise, chains in
            let status = try await Album.reaches(expected, id, chains)
            #expect(status.state == expected)
            guard command == "pause" else { return }
            let resume = try await Tool.run("chains", "resume", id, "--journal", folder.url.path)
            #expect(resume.status == 0)
            _ = try await reprise.journal.mergeSpool()
            _ = try await Album.reaches(.running, id, chains)
        }
    }

    @Test(
        "deleting and clearing ended chains is left to the app; a list is filtered, and paged"
    )
    func removal() async throws {
        let folder = try TemporaryFolder()
        let ids = try await Album.play(in: folder.url, ["good", "trouble", "good", "waits"])
        let to = ["--journal", folder.url.path, "--json"]
        func listed(_ words: String...) async throws -> [String] {
            let result = try await Tool.run(["chains"] + words + to)
            #expect(result.status == 0, "\(result.error)")
            return try result.lines.map { try #require(try object($0)["id"] as? String) }
        }
        #expect(try await listed("--older-than", "1d") == [])
        #expect(try await listed("--definition", "none") == [])
        #expect(try await listed("--name", "none") == [])
        #expect(
            try await listed("--definition", "album", "--before", ids[3], "--limit", "1") == [
                ids[2]
            ])
        try await edit(folder) { db in
            try db.execute(sql: "UPDATE chain SET endedAt = endedAt - 86400000 WHERE seq < 3")
        }
        #expect(try await listed("--older-than", "8h") == [ids[1], ids[0]])

        let open = try await Tool.run(["chains", "delete", ids[3]] + to)
        #expect(open.status == 65 && open.error.contains("it is running"))
        let deleted = try await Tool.run(["chains", "delete", ids[2]] + to)
        #expect(try object(deleted.output)["left"] as? String == "delete")
        let cleared = try await Tool.run(["chains", "clear", "--older-than", "8h"] + to)
        #expect(try object(cleared.output)["chains"] as? Int == 2)
        #expect(
            try object(cleared.output)["states"] as? [String: Int] == ["succeeded": 1, "failed": 1])
        let told = try await Tool.run(["chains", "clear", "--older-than", "8h"] + to.dropLast())
        #expect(
            told.output
                == "left for the app: clear 2 chains that ended 8h ago or before\n"
                + "  1 succeeded, 1 failed\n")
        let nothing = try await Tool.run(["chains", "clear", "--older-than", "9d"] + to.dropLast())
        #expect(
            nothing.output
                == "left for the app: clear chains that ended 9d ago or before; so far none has\n")
        try await Album.open(folder.url) { _, chains in
            try await eventually("the app has done both") {
                try await chains.list().map(\.id.text) == [ids[3]]
            }
        }
        #expect(try await listed() == [ids[3]])
        let none = try await Tool.run("chains", "clear", "--journal", folder.url.path)
        #expect(none.status == 64)
    }

    @Test("schedules are listed with their rule, the next time and the last run, in 80 columns")
    func schedules() async throws {
        let folder = try TemporaryFolder()
        let words = ["chains", "schedules", "--journal", folder.url.path]
        try await Album.open(folder.url) { _, chains in
            let none = try await Tool.run(words)
            #expect(none.status == 0 && none.output == "no schedules\n")
            let night = Schedule(.daily, at: [TimeOfDay(3, 0)])
            for (name, rule) in [
                ("nightly", ChainSchedule.calendar(night)),
                ("often", ChainSchedule.every(.seconds(21_600))),
            ] {
                try await chains.schedule(
                    Album.chain(), input: .init(word: "good"), name: name, runs: rule)
            }
        }
        try await edit(folder) { db in
            try db.execute(
                sql: """
                    UPDATE chainSchedule SET run = '0a57', runState = 11, skipped = 1234
                    WHERE name = 'often';
                    UPDATE chainSchedule SET entry = NULL, reason = 'no\u{1b}[2J chain'
                    WHERE name = 'nightly'
                    """)
        }
        let shown = try await Tool.run(words)
        #expect(shown.status == 0 && shown.error.isEmpty)
        for line in shown.lines { #expect(line.columns <= 80, "\(line)") }
        let nightly = try #require(shown.lines.first { $0.hasPrefix("nightly") })
        #expect(nightly.contains("daily 03:00") && nightly.contains("parked"))
        let often = try #require(shown.lines.first { $0.hasPrefix("often") })
        #expect(often.contains("every 6 h") && often.hasSuffix("failed"))
        #expect(shown.output.contains("skipped 1,234 times"))
        #expect(shown.output.contains("no\\u{1b}[2J chain") && !shown.output.contains("\u{1b}"))

        let lines = try await Tool.run(words + ["--json"]).lines
        let json = try lines.map { try object($0) }
        #expect(json.map { $0["name"] as? String } == ["nightly", "often"])
        #expect(json[0]["next"] == nil && json[1]["next"] as? Int != nil)
        #expect((json[1]["schedule"] as? [String: Any])?["every"] as? Int == 21_600_000)
        #expect(json[1]["lastRun"] as? String == "0a57" && json[1]["skipped"] as? Int == 1_234)
    }

    @Test("a schedule is left to the app to remove; of an unknown name the nearest is said")
    func unschedule() async throws {
        let folder = try TemporaryFolder()
        let to = ["--journal", folder.url.path]
        try await Album.open(folder.url) { _, chains in
            for name in ["tidy-up", "other"] {
                try await chains.schedule(
                    Album.chain(), input: .init(word: "good"), name: name,
                    runs: .every(.seconds(21_600)))
            }
        }
        let typo = try await Tool.run(["chains", "unschedule", "tidy-pu"] + to)
        #expect(typo.status == 65 && typo.error.contains("Did you mean 'tidy-up'?"))
        let unknown = try await Tool.run(["chains", "unschedule", "a\u{1b}[2Jnother"] + to)
        #expect(unknown.status == 65 && !unknown.error.contains("Did you mean"))
        for result in [typo, unknown] {
            #expect(result.error.contains("reprise chains schedules") && result.output.isEmpty)
            #expect(result.error.split(separator: "\n").count == 1)
            #expect(!result.error.contains("\u{1b}"))
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path("spool")))

        let left = try await Tool.run(["chains", "unschedule", "tidy-up"] + to)
        #expect(left.status == 0 && left.output == "left for the app: unschedule tidy-up\n")
        let again = try await Tool.run(["chains", "unschedule", "tidy-up", "--json"] + to)
        let json = try object(again.output)
        #expect(json["left"] as? String == "unschedule" && json["schedule"] as? String == "tidy-up")
        try await Album.open(folder.url) { reprise, chains in
            try await eventually("the app has removed it") {
                try await chains.schedules().map(\.name) == ["other"]
            }
            // Both commands, and the wait for its next time.
            try await eventually("all of that has ended") {
                let ended = try await reprise.journal.ledger().outcomes
                return ended[.applied, default: 0] + ended[.superseded, default: 0] == 3
            }
            #expect(try await reprise.journal.ledger().outcomes[.dead, default: 0] == 0)
        }
    }

    @Test(
        "useless options, unknown or ambiguous ids and a folder without a journal are bad input, in one line, and leave no file"
    )
    func badInput() async throws {
        let folder = try TemporaryFolder()
        let ids = try await Album.play(in: folder.url, ["good"])
        try await edit(folder) { db in
            try db.execute(
                sql: """
                    INSERT INTO chain SELECT seq + 1, '\(ids[0].prefix(5))zz', definition, version,
                        hash, name, state, reason, input, tasks, needs, needsBytes, startedAt, due,
                        deadline, endedAt, leaves, tells FROM chain
                    """)
        }
        for words in [
            ["cancel", ids[0]], ["pause", ids[0]], ["resume", ids[0]], ["retry", ids[0]],
            ["show", "nothing"], ["show", String(ids[0].prefix(5))], ["export", ""],
        ] {
            let result = try await Tool.run(["chains"] + words + ["--journal", folder.url.path])
            #expect(result.status == 65 && result.output.isEmpty, "\(words)")
            #expect(result.error.split(separator: "\n").count == 1, "\(words)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path("spool")))
        let none = try await Tool.run("chains", "--journal", folder.path("none"))
        #expect(none.status == 65 && none.error.split(separator: "\n").count == 1)
        #expect(!FileManager.default.fileExists(atPath: folder.path("none")))
        let typo = try await Tool.run("chains", "--journal", folder.url.path, "--state", "sunny")
        #expect(typo.status == 64)
    }

    @Test("rows that are damaged are shown as far as they can be read")
    func damaged() async throws {
        let folder = try TemporaryFolder()
        let ids = try await Album.play(in: folder.url, ["good"])
        try await edit(folder) { db in
            try db.execute(sql: "UPDATE chain SET state = 77, input = x'ff00', startedAt = -1")
            try db.execute(
                sql: """
                    UPDATE chainTask SET state = 99, undo = 99, name = 'a' || char(10) || 'b',
                        output = x'fe', progress = 9e999, startedAt = 9223372036854775807
                    """)
        }
        for words in [
            ["list"], ["show", ids[0]], ["show", ids[0], "--json"], ["export", ids[0]],
        ] {
            let result = try await Tool.run(["chains"] + words + ["--journal", folder.url.path])
            #expect(
                result.status == 0 && result.output.contains("unknown"), "\(words) \(result.error)")
        }
    }

    @Test(
        "content that is almost JSON is a text",
        arguments: [#"{"a":1,}"#, "[1,]"])
    func almostJSON(content: String) async throws {
        let folder = try TemporaryFolder()
        let ids = try await Album.play(in: folder.url, ["good"])
        try await edit(folder) { db in
            try db.execute(sql: "UPDATE chain SET input = ?", arguments: [Data(content.utf8)])
        }
        for words in [["show", "--json"], ["export"]] {
            let result = try await Tool.run(
                ["chains"] + words + [ids[0], "--journal", folder.url.path])
            let json = try object(result.output)
            #expect(json["inputText"] as? String == content, "\(words): \(result)")
            #expect(json["input"] == nil, "\(words): \(result)")
        }
    }

    @Test(
        "a journal without chains has none; the list goes on in its place until it is interrupted")
    func watch() async throws {
        let folder = try TemporaryFolder()
        try await Album.open(folder.url) { _, chains in
            let none = try await Tool.run("chains", "--journal", folder.url.path)
            #expect(none.status == 0 && none.output == "no chains\n")
            let terminal = try PseudoTerminal(
                ["chains", "--journal", folder.url.path, "--watch"], environment: ["NO_COLOR": "1"],
                width: 40)
            try await terminal.wait("it begins") { $0[0] == "no chains" }
            let id = try await chains.start(Album.chain(), input: .init(word: "waits"))
            try await terminal.wait("it sees the chain") { rows in
                rows.contains { $0.contains("waits for the readiness session") }
            }
            try await chains.cancel(id)
            try await terminal.wait("it sees the end") { rows in
                rows.contains("1 chain: 1 cancelled")
            }
            #expect(!terminal.hasColours && !terminal.hasWrapped)
            terminal.signal(SIGINT)
            #expect(await terminal.end() == 0)
        }
    }

    private func object(_ text: String) throws -> [String: Any] {
        try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
    }

    private func edit(
        _ folder: TemporaryFolder, _ body: @escaping @Sendable (Database) throws -> Void
    )
        async throws
    {
        let database = try DatabaseQueue(path: folder.path("journal.sqlite"))
        try await database.write(body)
        try database.close()
    }
}

/// A chain whose course depends on a word.
private enum Album {
    struct Input: Codable, Sendable { var word: String }

    struct Echo: Worker {
        static let identifier = "echo"
        let isMended: Bool

        func run(_ input: String, _ work: WorkContext) async throws -> String {
            await work.log("working on \(input)")
            await work.progress(1, "nearly")
            if input.hasPrefix("trouble"), !isMended {
                throw DispatchFailure.permanent("no good: \(input)")
            }
            return Array(repeating: input, count: 50).joined(separator: " ")
        }
    }

    struct Large: Worker {
        static let identifier = "large"
        func run(_ input: Int, _ work: WorkContext) async throws -> String {
            String(repeating: "x", count: input)
        }
    }

    static func chain() -> Chain<Input> {
        Chain<Input>("album", version: 3) { input in
            Work("list", Echo.self) { _ in input.word }
                .compensation(with: Echo.self) { _ in "not \(input.word)" }
            Parallel {
                Work("copy-1", Echo.self) { _ in input.word == "back" ? "trouble" : "one" }
                Work("copy-2", Echo.self) { _ in "two" }
            }
            WaitFor(for: input.word == "waits" ? .session : .journal, name: "signed-in")
            Work("send", Large.self) { _ in 100_000 }
        }
    }

    /// Opens the journal with this chain running.
    static func open(
        _ folder: URL, isMended: Bool = false, _ body: (AccountClient, Chains) async throws -> Void
    ) async throws {
        var configuration = AccountClient.Configuration()
        configuration.chains = Chains.Configuration()
        configuration.chains?.chains = [chain()]
        configuration.chains?.workers = [Echo(isMended: isMended), Large()]
        let reprise = try await AccountClient.open(
            at: folder, server: "http://127.0.0.1:1", dialer: NIODialer(),
            configuration: configuration)
        let chains = try #require(reprise.chains)
        await reprise.setReady(.journal)
        let running = Task { try await chains.run() }
        do {
            try await body(reprise, chains)
        } catch {
            running.cancel()
            await reprise.close()
            throw error
        }
        running.cancel()
        _ = try await running.value
        await reprise.close()
    }

    /// Starts a chain of each word, and waits until it goes no further.
    ///
    /// - Returns: their ids.
    static func play(in folder: URL, _ words: [String]) async throws -> [String] {
        var ids: [String] = []
        try await open(folder) { _, chains in
            for word in words {
                let id = try await chains.start(chain(), input: Input(word: word))
                ids.append(id.text)
                let end: ChainState =
                    word.hasPrefix("trouble") || word == "back"
                    ? .failed : word == "waits" ? .running : .succeeded
                _ = try await reaches(end, id.text, chains, done: word == "waits" ? 3 : 0)
            }
        }
        return ids
    }

    static func reaches(
        _ state: ChainState, _ id: String, _ chains: Chains, done: Int = 0
    ) async throws -> ChainStatus {
        var status: ChainStatus?
        try await eventually("\(String(describing: status))") {
            status = try await chains.status(ChainID(id))
            return status?.state == state && (status?.done ?? 0) >= done
        }
        return try #require(status)
    }
}
