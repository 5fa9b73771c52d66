import Foundation
import GRDB
import RepriseCommandLine
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseCLI

@Suite("trace", .timeLimit(.minutes(2)))
struct TraceTests {
    /// The steps of a report in JSON.
    private static func steps(_ result: Tool.Result) throws -> [[String: Any]] {
        let report = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any],
            "\(result)")
        return try #require(report["steps"] as? [[String: Any]])
    }

    /// `where step`, in order.
    private static func names(_ result: Tool.Result) throws -> [String] {
        try steps(result).map { "\($0["where"] ?? "?") \($0["step"] ?? "?")" }
    }

    /// A journal with one message that no server has had, as an app leaves it; and the message.
    private static func waiting(_ folder: TemporaryFolder) async throws
        -> (journal: String, id: String)
    {
        _ = try await Tool.run(
            [
                "chat", "general", "--as", "ada", "--journal", folder.path("j"), "--server",
                "http://127.0.0.1:1", "--patience", "0",
            ], input: Data("a secret\n".utf8))
        let journal = folder.path("j") + "/ada"
        let id = try await change(journal) { db in
            try String.fetchOne(db, sql: "SELECT id FROM entry WHERE kind = 'channels.outbox'")
        }
        return (journal, try #require(id))
    }

    private static func change<T: Sendable>(
        _ journal: String, _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        let database = try DatabaseQueue(path: journal + "/journal.sqlite")
        let value = try await database.write(body)
        try database.close()
        return value
    }

    /// 2026-11-21 12:00 in Berlin.
    private static let now: Int64 = 1_795_258_800_000

    // MARK: With a server

    @Test("a message is followed through two devices and their server, also after kills")
    func way() async throws {
        let scene = try await ChatScene(options: ["--dev", "--log-level", "debug"])
        let said = try await Tool.run(scene.arguments("ada"), input: Data("a secret\n".utf8))
        #expect(said.status == 0, "\(said.error)")
        let line = try await Tool.run(
            "history", "general", "--as", "eve", "--json", "--server", scene.server.url)
        let id = try #require(try HTTPMembers(Array(line.output.utf8)).text("id"))
        let bob = scene.folder.path("bob")
        let listening = try RunningTool([
            "listen", "general", "--as", "bob", "--server", scene.server.url, "--journal", bob,
        ])
        try await listening.wait("it is printed") { $0.contains("a secret") }
        try await scene.read(through: 1, as: "eve")

        let ada = scene.folder.path("state") + "/ada"
        let sent = try await Tool.run("trace", id, "--journal", ada, "--json")
        #expect(try Self.names(sent).prefix(2) == ["device recorded", "device acknowledged"])
        #expect(try Self.steps(sent)[1]["attempts"] as? Int == 1)

        // What the device confirms is on its way while it lives; then it is killed.
        let ask = [
            "trace", id, "--journal", bob, "--as", "bob", "--server", scene.server.url,
        ]
        try await eventually("it is handled, and its receipt is at the server") {
            let result = try await Tool.run(ask + ["--json"])
            let isConfirmed = try Self.steps(result).contains {
                $0["step"] as? String == "device" && $0["delivered"] as? Bool == true
            }
            return try isConfirmed && Self.names(result).contains("device handled")
        }
        listening.signal(SIGKILL)
        _ = await listening.end()
        let whole = try await Tool.run(ask + ["--json"])
        #expect(whole.status == 0, "\(whole.error)")
        let names = try Self.names(whole)
        #expect(names.contains("device stored") && names.contains("device received"))
        #expect(names.contains("device handled") && names.contains("server stored"))
        #expect(names.contains("server receipts") && names.contains("server device"))
        let asked = try Self.steps(whole).filter { $0["where"] as? String == "server" }
        #expect(asked[0]["seq"] as? Int == 1 && asked[0]["from"] as? String == "ada")
        #expect(asked.contains { ($0["text"] as? String)?.contains("read by eve") == true })

        let shown = try await Tool.run(ask)
        #expect(shown.status == 0 && shown.output.contains("sequence 1"), "\(shown)")
        for line in shown.lines { #expect(line.columns <= 80, "\(line)") }
        for result in [sent, whole, shown] { #expect(!result.output.contains("secret")) }
        let logged = scene.server.tool.error
        #expect(logged.contains("message=\(id)") && logged.contains("A catch-up has ended."))
        #expect(!logged.contains("secret"))

        // The server dies: what the journal knows is shown all the same.
        scene.server.tool.signal(SIGKILL)
        _ = await scene.server.tool.end()
        let away = try await Tool.run(ask)
        #expect(away.status == 69 && away.error.split(separator: "\n").count == 1, "\(away)")
        #expect(away.output.contains("handled") && !away.output.contains("on the server"))
    }

    @Test("a message that only the server has is found by its channel; a wrong token is refused")
    func server() async throws {
        let folder = try TemporaryFolder()
        let (journal, kept) = try await Self.waiting(folder)
        let scene = try await ChatScene()
        try await scene.post(#"{"id":"m9","body":{"text":"a secret"}}"#, as: "eve")
        let trace = ["trace", "m9", "--journal", journal, "--server", scene.server.url]
        let unnamed = try await Tool.run(trace + ["--as", "ada"])
        #expect(unnamed.status == 65 && unnamed.error.contains("--channel"), "\(unnamed)")
        let found = try await Tool.run(trace + ["--as", "ada", "--channel", "general", "--json"])
        #expect(found.status == 0, "\(found.error)")
        #expect(try Self.names(found).prefix(2) == ["device not here", "server stored"])
        let other = try await Tool.run(
            ["trace", "m8"] + trace.dropFirst(2) + ["--as", "ada", "--channel", "general"])
        #expect(other.status == 65 && other.error.contains("Neither"), "\(other)")

        let forged = ["--token", "e30.e30.e30"]
        let refused = try await Tool.run(
            ["trace", kept] + trace.dropFirst(2) + forged)
        #expect(refused.status == 76, "\(refused)")
        #expect(refused.output.contains("recorded") && refused.error.contains("--token"))
        // What is not stored there yet is no error.
        let ahead = try await Tool.run(
            ["trace", kept] + trace.dropFirst(2) + ["--as", "ada", "--json"])
        #expect(ahead.status == 0, "\(ahead.error)")
        #expect(try Self.names(ahead).contains("server not found"))
    }

    @Test(
        "an id without a known sequence is looked for among the newest thousand of its channel",
        .limit("tool.trace"))
    func searched() async throws {
        try await withServer { server, folder in
            let (journal, _) = try await Self.waiting(folder)
            let file = try folder.write((0...1_000).map { "\($0)\n" }.joined(), to: "lines")
            let published = try await Tool.run(
                "publish", "a", "--file", file, "--server", server.url)
            try #require(published.status == 0, "\(published.error)")
            let lines = try await Tool.run(
                "history", "a", "--after", "0", "--limit", "2", "--json", "--server", server.url)
            let ids = try lines.lines.map {
                try #require(try HTTPMembers(Array($0.utf8)).text("id"))
            }
            func trace(_ id: String) async throws -> Tool.Result {
                try await Tool.run(
                    "trace", id, "--journal", journal, "--channel", "a", "--server", server.url)
            }
            #expect(try await trace(ids[0]).status == 65)
            let second = try await trace(ids[1])
            #expect(second.status == 0 && second.output.contains("sequence 2"), "\(second)")
        }
    }

    @Test("a server that answers nonsense is named as such, its words shown harmlessly")
    func nonsense() async throws {
        let folder = try TemporaryFolder()
        let (journal, id) = try await Self.waiting(folder)
        for (body, status) in [
            ("{", 76), (#"{"messages":7,"head":"x"}"#, 0), ("[]", 76),
            (#"{"messages":[7],"head":1}"#, 76),
        ] {
            let server = try OtherServer(
                answering: "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n"
                    + "Content-Type: application/json\r\nConnection: close\r\n\r\n\(body)")
            let result = try await Tool.run(
                "trace", id, "--journal", journal, "--server", server.url)
            #expect(result.status == Int32(status), "\(body): \(result)")
            #expect(result.output.contains("recorded"), "\(body): \(result)")
        }
        let hostile = #"{"error":{"code":"x","message":"no\u001b[2J\nreprise: fine"}}"#
        let server = try OtherServer(
            answering: "HTTP/1.1 403 No\r\nContent-Length: \(hostile.utf8.count)\r\n"
                + "Content-Type: application/json\r\nConnection: close\r\n\r\n\(hostile)")
        let result = try await Tool.run("trace", id, "--journal", journal, "--server", server.url)
        #expect(result.status == 76 && result.error.split(separator: "\n").count == 1)
        #expect(!result.error.contains("\u{1b}"))
    }

    // MARK: The journal alone

    @Test(
        "a message in the outbox is shown with the cause of its wait, or why it is a dead letter, escaped"
    )
    func outbox() async throws {
        let folder = try TemporaryFolder()
        let (journal, id) = try await Self.waiting(folder)
        func trace() async throws -> String {
            let result = try await Tool.run("trace", id, "--journal", journal)
            #expect(result.status == 0, "\(result.error)")
            for line in result.lines { #expect(line.columns <= 80, "\(line)") }
            // Words may be on two lines.
            return result.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        #expect(try await trace().contains("waiting for a connection that the server has welcomed"))
        let cases: [(change: String, words: String)] = [
            ("state = 1", "waiting behind 0 earlier of its channel"),
            ("state = 2, due = \(Self.now), reason = 'full'", "attempts: full"),
            ("state = 3, attempt = 2", "sent and not answered yet, or its process has died first"),
            ("state = 10", "acknowledged by the server; 2 attempts"),
            ("state = 12, reason = 'Withdrawn.'", "superseded Withdrawn. (2 attempts)"),
            ("state = 13, reason = 'old'", "dead letter after 2 attempts: old"),
        ]
        for one in cases {
            try await Self.change(journal) { db in
                try db.execute(
                    sql: "UPDATE entry SET \(one.change) WHERE kind = 'channels.outbox'")
            }
            let text = try await trace()
            #expect(text.contains(one.words), "\(one.change): \(text)")
        }
        try await Self.change(journal) { db in
            try db.execute(
                sql: "INSERT INTO channelsRefused VALUES (?, 'forbidden', ?, ?)",
                arguments: [id, "no\u{1b}[2J\nforged", Self.now])
        }
        let refused = try await trace()
        #expect(refused.contains(#"forbidden: no\u{1b}[2J\nforged"#), "\(refused)")
        #expect(!refused.contains("\u{1b}"))
    }

    /// A log with a hole, readers in each place, a decision and a tap.
    private static let rows = """
        INSERT INTO channelsLog (id, channel, epoch, coverage, head, version, accepted)
            VALUES (90, 'team', 'e1', '[[0,5],[7,9]]', 9, 1, 3);
        INSERT INTO channelsMessage (arrival, log, seq, id, time, body, sender, deleted) VALUES
            (90 << 40 | 1, 90, 4, 'm4', \(now), CAST('"a secret"' AS BLOB), 'bob', 0),
            (90 << 40 | 2, 90, 5, 'm5', \(now + 1), CAST('"a secret"' AS BLOB), 'bob', 0),
            (90 << 40 | 3, 90, 9, 'm9', \(now + 2), CAST('null' AS BLOB), 'bob', 1);
        INSERT INTO channelsReader (id, channel, name, cursor, handing, ordered) VALUES
            (91, 'team', 'main', 90 << 40 | 1, 90 << 40 | 2, 0),
            (92, 'team', 'other', 90 << 40 | 3, 90 << 40 | 3, 0);
        INSERT INTO channelsException (reader, arrival, attempts, failures, state, due, reason)
            VALUES (92, 90 << 40 | 1, 10, 10, 2, 0, 'no \u{1b}[31m'),
                (92, 90 << 40 | 2, 2, 2, 0, \(now), 'later');
        INSERT INTO channelsLost (log, after, through, reason) VALUES (90, 5, 6, 'retention');
        INSERT INTO channelsPosition VALUES
            ('team', 'bob', 'e1', 4, 9), ('team', 'eve', 'e1', 0, 2);
        INSERT INTO noticesMessage (id, channel, seq, time, standing, way, reason, presentation,
            decided, ended, alerts) VALUES
            ('m4', 'team', 4, \(now), 3, 'catchUp', 'onScreen', 0, \(now), NULL, 0),
            ('m5', 'team', 5, \(now), 2, 'push', 'found', 3, \(now + 1), 'open', 1),
            ('m1', 'team', 1, \(now), 2, 'live', 'onScreen', 0, \(now + 2), 'dismiss', 1);
        INSERT INTO quarantine (seq, due, why, id) VALUES (77, 0, 'the state is unknown', 'q1');
        INSERT INTO noticesTap (entry, at, action, channel, message, resolution, reason) VALUES
            ('t1', \(now + 9), 'open', 'team', 'm4', 'active', NULL),
            ('t2', \(now + 9), 'open', 'team', 'm5', 'missing', 'Nothing of the channel.');
        """

    @Test(
        "a received message is shown with each reader's state, its notice, its tap, and its readers"
    )
    func received() async throws {
        let folder = try TemporaryFolder()
        let (journal, _) = try await Self.waiting(folder)
        try await Self.change(journal) { db in try db.execute(sql: Self.rows) }
        func told(_ id: String) async throws -> [String] {
            let result = try await Tool.run("trace", id, "--journal", journal, "--json")
            #expect(result.status == 0 && !result.output.contains("secret"), "\(result)")
            return try Self.steps(result).map { "\($0["step"] ?? ""): \($0["text"] ?? "")" }
        }
        #expect(
            try await told("m4") == [
                "stored: by the server, by its clock: sequence 4 from bob",
                "received: first by the connection, in a catch-up",
                "handled: by the reader main",
                "dead letter: of other, after 10 attempts: no \u{1b}[31m",
                "notice: silent, by catchUp: onScreen, shown by a push all the same",
                "tap: open: active", "receipts: read by bob",
            ])
        let fifth = try await told("m5")
        #expect(
            fifth.contains(
                "dispatched: with the handler of main, or it was when its process died"))
        #expect(fifth.contains { $0.hasPrefix("waiting: for another attempt of other at ") })
        #expect(fifth.contains("receipts: delivered to bob"))
        #expect(
            fifth.contains(
                "notice: gone, by push: found (the system had shown it), then tapped"))
        #expect(fifth.contains("tap: open: missing (Nothing of the channel.)"))
        let last = try await told("m9")
        #expect(last.contains("deleted: its body is gone"))
        #expect(last.contains("waiting: the reader main has not come to it"))
        #expect(last.contains("handled: by the reader other"))
        #expect(last.contains("notice: none: notices are off, or do not watch this channel"))
        let notices = try await Tool.run("notices", "--journal", journal)
        #expect(notices.status == 0, "\(notices.error)")
        let words = notices.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(
            words.contains("gone team/5 by push: found (the system had shown it), then tapped"),
            "\(notices.output)")
        #expect(
            words.contains(
                "gone team/1 by live: onScreen, shown by a push all the same, then put away"))
        for line in notices.lines { #expect(line.columns <= 80, "\(line)") }
        let json = try await Tool.run("notices", "--journal", journal, "--json")
        #expect(json.output.contains(#""standing":"gone","way":"push","reason":"found""#))
        #expect(json.output.contains(#""ended":"open""#))
        #expect(
            try await told("q1")
                == ["damaged: its row in the outbox was put aside: the state is unknown"])
        let shown = try await Tool.run("trace", "m4", "--journal", journal)
        #expect(!shown.output.contains("\u{1b}") && shown.output.contains(#"no \u{1b}[31m"#))
        #expect(shown.output.contains("not known") && shown.output.contains("give --server"))
    }

    @Test("an unknown id, a damaged journal, none, and bad words each end with their own sentence")
    func errors() async throws {
        let folder = try TemporaryFolder()
        let (journal, id) = try await Self.waiting(folder)
        let unknown = try await Tool.run("trace", "nobody", "--journal", journal)
        #expect(unknown.status == 65 && unknown.output.isEmpty)
        #expect(unknown.error.contains("does not know the message"), "\(unknown.error)")
        let none = try await Tool.run("trace", id, "--journal", folder.path("none"))
        #expect(none.status == 65 && none.error.contains("no journal"), "\(none.error)")
        #expect(!FileManager.default.fileExists(atPath: folder.path("none")))
        for words in [["a b"], [id, "--channel", "-no good"], [""], []] {
            let result = try await Tool.run(["trace", "--journal", journal] + words)
            #expect(result.status == 64, "\(words): \(result)")
        }

        try await Self.change(journal) { db in
            try db.execute(sql: "UPDATE entry SET attempt = -1, state = 77")
        }
        let row = try await Tool.run("trace", id, "--journal", journal)
        #expect(row.status == 65 && row.error.contains("cannot be read"), "\(row)")

        let path = URL(fileURLWithPath: journal + "/journal.sqlite")
        var bytes = try Data(contentsOf: path)
        for index in 4_096..<bytes.count { bytes[index] = 0xff }
        try bytes.write(to: path)
        let damaged = try await Tool.run("trace", id, "--journal", journal)
        #expect(damaged.status == 65 && damaged.error.contains("damage"), "\(damaged)")
        #expect(damaged.error.split(separator: "\n").count == 1 && damaged.output.isEmpty)
    }

    @Test("a row that cannot be read is told with its journal, and what to do")
    func damagedRow() async throws {
        let folder = try TemporaryFolder()
        let (journal, _) = try await Self.waiting(folder)
        try await Self.change(journal) { db in
            try db.execute(sql: Self.rows)
            try db.execute(sql: "UPDATE channelsLog SET coverage = 'x'")
        }
        let trace = try await Tool.run("trace", "m4", "--journal", journal)
        try await Self.change(journal) { db in try db.execute(sql: "DELETE FROM channelsDevice") }
        let listen = try await Tool.run(
            "listen", "general", "--journal", journal, "--as", "ada", "--server",
            "http://127.0.0.1:1")
        for result in [trace, listen] {
            #expect(result.status == 65 && result.output.isEmpty, "\(result)")
            #expect(result.error.contains("A row of the journal \(journal) cannot"), "\(result)")
            #expect(result.error.contains("with its -wal and -shm"), "\(result)")
            #expect(result.error.split(separator: "\n").count == 1, "\(result)")
        }
    }
}
