import Foundation
import GRDB
import RepriseCore
import RepriseNIO
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Files, commands and figures that were there before")
struct RecordedFilesTests {
    /// Tables with their columns, and indices, of a database.
    private static func tables(_ path: String) throws -> [String] {
        let database = try DatabaseQueue(path: path)
        defer { try? database.close() }
        return try database.read { db in
            let made = try Row.fetchAll(
                db,
                sql: "SELECT type, name, tbl_name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
            )
            return try made.map { row in
                let (type, name): (String, String) = (row["type"], row["name"])
                let table: String = row["tbl_name"]
                guard type == "table" else { return "\(type) \(name) on \(table)" }
                let columns = try Row.fetchAll(db, sql: "PRAGMA table_info('\(name)')").map {
                    let (column, type, key): (String, String, Int) = (
                        $0["name"], $0["type"], $0["pk"]
                    )
                    return "\(column) \(type)\(key > 0 ? " key" : "")"
                }
                return "table \(name): \(columns.joined(separator: ", "))"
            }.sorted()
        }
    }

    /// The same JSON, whatever the order of its members was.
    private static func sorted(_ line: String) throws -> String {
        let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
        let data = try JSONSerialization.data(
            withJSONObject: value, options: [.sortedKeys, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self)
    }

    @Test("every command, option and value")
    func commands() async throws {
        try Recording(name: "commands.txt").check(try await Tool.commands())
    }

    @Test("the journal's tables, with those of all features")
    func journal() async throws {
        let folder = try TemporaryFolder()
        _ = try await Tool.run(
            [
                "chat", "general", "--as", "ada", "--journal", folder.path("j"), "--server",
                "http://127.0.0.1:1", "--patience", "0",
            ], input: Data("kept\n".utf8))
        try Recording(name: "journal-tables.txt").check(
            try Self.tables(folder.path("j") + "/ada/journal.sqlite"))
    }

    @Test("the server's tables, and its metrics with their labels")
    func server() async throws {
        try await withServer { server, folder in
            let data = URL(fileURLWithPath: server.data)
            let files = try FileManager.default.contentsOfDirectory(atPath: server.data)
                .filter { $0.hasSuffix(".sqlite") }.sorted()
            try Recording(name: "server-tables.txt").check(
                try files.flatMap { file in
                    try Self.tables(data.appendingPathComponent(file).path)
                        .map { "\(file) \($0)" }
                })
            let answer = try await NIOTransport().fetch(
                HTTPCall(url: server.url + "/metrics"), limit: 1_000_000)
            let text = String(decoding: answer.body, as: UTF8.self)
            let series = text.split(separator: "\n").filter { !$0.hasPrefix("# HELP") }.map {
                $0.hasPrefix("#") ? String($0) : String($0.prefix { $0 != " " })
            }
            try Recording(name: "metrics.txt").check(series.filter { !$0.contains("version=") })
        }
    }

    /// What a build of 2026-11-23 left, and what is read of it now.
    @Test(
        "a journal of before opens, and its commands print the same members and values",
        arguments: ["channels", "forms", "reminders", "chains", "notices"])
    func opened(name: String) async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path("journal"), withIntermediateDirectories: true)
        let database = try DatabaseQueue(path: folder.path("journal/journal.sqlite"))
        let sql = try Recording(name: "journal-\(name).sql").text()
        try await database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
        var lines: [String] = []
        var commands = ["ledger", "dead-letters", "reminders", "routes", "notices", "chains"]
            .map { [$0] }
        let chains = try await Tool.run(
            "chains", "--journal", folder.path("journal"), "--json")
        if let first = chains.lines.first {
            let chain = try JSONSerialization.jsonObject(with: Data(first.utf8)) as? [String: Any]
            commands.append(["chains", "show", try #require(chain?["id"] as? String)])
        }
        for command in commands {
            let shown = try await Tool.run(
                command + ["--journal", folder.path("journal"), "--json"])
            let name = command.prefix(2).joined(separator: " ")
            lines.append("\(name) ends with \(shown.status)")
            for line in shown.lines {
                let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
                lines += Recording.paths(value).map { "\(name) \($0)" }
                // The others say how things stand now.
                if !["reminders", "notices"].contains(name) { lines.append(try Self.sorted(line)) }
            }
        }
        try Recording(name: "journal-\(name).txt").check(Array(Set(lines)).sorted())
    }

    @Test("a data folder of before is served, with its messages, accounts and positions")
    func served() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path("data"), withIntermediateDirectories: true)
        for name in ["messages", "accounts"] {
            let database = try DatabaseQueue(path: folder.path("data/\(name).sqlite"))
            let sql = try Recording(name: "server-\(name).sql").text()
            try await database.writeWithoutTransaction { try $0.execute(sql: sql) }
            try database.close()
        }
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        var lines: [String] = []
        for command in [["history", "club1"], ["channels"], ["members", "club1"]] {
            let shown = try await Tool.run(
                command + ["--server", server.url, "--as", "ada", "--json"])
            lines.append("\(command[0]) ends with \(shown.status)")
            lines += try shown.lines.map(Self.sorted)
        }
        server.tool.signal(SIGTERM)
        #expect(await server.tool.end() == 0)
        try Recording(name: "server.txt").check(lines)
    }
}
