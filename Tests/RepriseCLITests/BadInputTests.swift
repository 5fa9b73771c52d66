import Foundation
import GRDB
import RepriseTestSupport
import RepriseTesting
import Testing

/// The rows of the issue's list that can be met on the command line: an exit code, and one line
/// with what to do.
@Suite("Bad input")
struct BadInputTests {
    /// Runs and checks the form of the complaint.
    private func refused(
        _ arguments: [String], input: Data = Data(), environment: [String: String] = [:],
        status: Int32, saying words: String...
    ) async throws {
        let result = try await Tool.run(arguments, input: input, environment: environment)
        #expect(result.status == status, "\(arguments): \(result.error)")
        let lines = result.error.split(separator: "\n")
        #expect(lines.count == 1, "\(result.error)")
        #expect(result.error.hasPrefix("reprise: "))
        for word in words { #expect(result.error.contains(word), "\(result.error)") }
        // Neither a stack trace nor the names of our types.
        #expect(!result.error.contains("Error("))
        #expect(!result.error.contains("Fatal"))
    }

    @Test(
        "a command line that cannot be understood is a matter of usage",
        arguments: [
            ["publish"], ["publish", "general", "--file", "a", "b"], ["publish", "no good", "x"],
            ["publish", "-general", "x"], ["publish", "general", "x", "--mention", "a b"],
            ["publish", "general", "x", "--server", "127.0.0.1:8080"],
            ["publish", "general", "x", "--server", "ftp://127.0.0.1:8080"],
            ["publish", "general", "x", "--patience", "-1"], ["listen", "general"],
            ["listen", "--journal", "j"], ["listen", "ge neral", "--journal", "j"], ["ledger"],
            ["serve", "--port", "many"], ["serve", "--prot", "80"], ["fly"],
        ])
    func usage(arguments: [String]) async throws {
        try await refused(arguments, status: 64, saying: "--help")
    }

    @Test(
        "a misspelled command gets a suggestion, an unknown one an error",
        arguments: [
            ("lisen", "Did you mean 'listen'?"), ("channel", "Did you mean 'channels'?"),
            ("chta", "Did you mean 'chat'?"), ("dance", "There is no command 'dance'."),
            (String(repeating: "x", count: 5_000), "There is no command 'xxx"),
        ])
    func slips(word: String, words: String) async throws {
        try await refused([word], status: 64, saying: words, "reprise --help")
    }

    @Test(
        "so does a misspelled or an unknown command of a group",
        arguments: [
            (["chains", "frob"], "There is no command 'chains frob'."),
            (["chains", "shwo", "a1"], "Did you mean 'chains show'?"),
            (["forms", "frob"], "There is no command 'forms frob'."),
            (["cluster", "chek"], "Did you mean 'cluster check'?"),
        ])
    func slips(arguments: [String], words: String) async throws {
        try await refused(
            arguments, status: 64, saying: words, "reprise \(arguments[0]) --help")
    }

    @Test(
        "a command that moved names its new place",
        arguments: [
            ["demo", "kill"], ["simulate", "--list"], ["reach"], ["phone", "run", "--help"],
        ])
    func moved(arguments: [String]) async throws {
        try await refused(
            arguments, status: 64, saying: "moved: reprise-lab \(arguments[0]).",
            "reprise-lab \(arguments[0]) --help")
    }

    @Test("no server there: 69, and how to start one")
    func noServer() async throws {
        let url = "http://127.0.0.1:1"
        let folder = try TemporaryFolder()
        try await refused(
            ["publish", "general", "x", "--server", url], status: 69,
            saying: url, "reprise serve")
        try await refused(
            ["listen", "general", "--journal", folder.path("j"), "--server", url], status: 69,
            saying: url, "reprise serve")
        try await refused(
            ["publish", "general", "x"], environment: ["REPRISE_SERVER": url], status: 69,
            saying: url)
    }

    @Test("an empty $REPRISE_SERVER is none")
    func noAddress() async throws {
        let folder = try TemporaryFolder()
        try await refused(
            ["trace", "a", "--journal", folder.path("none")], environment: ["REPRISE_SERVER": ""],
            status: 65)
    }

    @Test("a retention of more than 100 years is refused with the most that there is")
    func longRetention() async throws {
        try await refused(
            ["channels", "general", "--keep-days", "36501"], status: 64, saying: "1 to 36500")
    }

    @Test("a server that is not Reprise: 76")
    func notReprise() async throws {
        let folder = try TemporaryFolder()
        let other = try OtherServer(
            answering: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        let ssh = try OtherServer(answering: "SSH-2.0-Other\r\n")
        for url in [other.url, ssh.url] {
            try await refused(
                ["publish", "general", "x", "--server", url], status: 76,
                saying: "not a Reprise server")
        }
        try await refused(
            ["listen", "general", "--journal", folder.path("j"), "--server", other.url],
            status: 76, saying: "not a Reprise server")
    }

    @Test("a connection that ends before the server's welcome: 69, the address, and where to look")
    func unwelcome() async throws {
        let folder = try TemporaryFolder()
        try await OddServer.run(OddServer.webSocket(hangsUp: true)) { url, _, _ in
            try await refused(
                ["publish", "general", "x", "--server", url], status: 69, saying: url, " log")
            try await refused(
                ["listen", "general", "--journal", folder.path("j"), "--server", url], status: 69,
                saying: url, " log", "--wait")
        }
    }

    @Test("a server that answers nonsense is not Reprise, and the caller's input not at fault: 76")
    func nonsense() async throws {
        for (command, list) in [
            (["channels"], "channels"), (["members", "general"], "members"),
            (["history", "general"], "messages"),
        ] {
            let body = #"{"\#(list)":[7]}"#
            let server = try OtherServer(
                answering: "HTTP/1.1 200 X\r\nContent-Type: application/json\r\n"
                    + "Connection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            try await refused(
                command + ["--server", server.url], status: 76, saying: server.url, "Check host")
        }
        // A list whose pages never end.
        let page = #"{"channels":[],"next":"a"}"#
        let pages = try OtherServer(
            answering: "HTTP/1.1 200 X\r\nContent-Type: application/json\r\n"
                + "Connection: close\r\nContent-Length: \(page.utf8.count)\r\n\r\n\(page)")
        try await refused(
            ["channels", "--server", pages.url], status: 76, saying: pages.url, "Check host")
        let token = #"{"token":"nonsense"}"#
        let tokens = try OtherServer(
            answering: "HTTP/1.1 200 X\r\nContent-Type: application/json\r\n"
                + "Connection: close\r\nContent-Length: \(token.utf8.count)\r\n\r\n\(token)")
        try await refused(
            ["token", "--as", "ada", "--server", tokens.url], status: 76, saying: tokens.url)
        try await OddServer.run(OddServer.webSocket("nonsense")) { url, _, _ in
            try await refused(
                ["publish", "general", "x", "--server", url], status: 76, saying: url,
                "Check host")
        }
    }

    @Test("an answer of more than 80 MiB is none of a Reprise server: 76", .limit("tool.answer"))
    func largeAnswer() async throws {
        let other = try OtherServer(
            answering: "HTTP/1.1 200 OK\r\nContent-Length: 83886081\r\n\r\n{}")
        try await refused(
            ["channels", "--server", other.url], status: 76,
            saying: "answers with more than")
    }

    @Test("a port that is taken, and data that another server owns: 75")
    func taken() async throws {
        try await withServer { server, folder in
            let port = server.url.split(separator: ":").last.map(String.init) ?? ""
            try await refused(
                ["serve", "--port", port, "--data", folder.path("other")], status: 75, saying: port)
            try await refused(
                ["serve", "--port", "0", "--data", server.data], status: 75)
        }
    }

    @Test("data that is a file, or not SQLite: 65")
    func badData() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("hello", to: "file")
        try await refused(["serve", "--port", "0", "--data", file], status: 65)
        try FileManager.default.createDirectory(
            at: folder.url.appendingPathComponent("data"), withIntermediateDirectories: true)
        _ = try folder.write(
            String(repeating: "not SQLite ", count: 1_000), to: "data/messages.sqlite")
        try await refused(["serve", "--port", "0", "--data", folder.path("data")], status: 65)
    }

    @Test("a journal that is a file, or whose database is a folder, or not there: 65")
    func badJournal() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("hello", to: "file")
        let url = "http://127.0.0.1:1"
        for journal in [file, file + "/below"] {
            try await refused(
                ["listen", "general", "--journal", journal, "--server", url], status: 65,
                saying: "\(file) is a file, and a folder belongs there.")
        }
        try await refused(
            ["ledger", "--journal", file], status: 65, saying: "\(file) is a file")
        try FileManager.default.createDirectory(
            at: folder.url.appendingPathComponent("j/journal.sqlite"),
            withIntermediateDirectories: true)
        try await refused(
            ["listen", "general", "--journal", folder.path("j"), "--server", url], status: 65,
            saying: "\(folder.path("j/journal.sqlite")) is a folder")
        try await refused(
            ["ledger", "--journal", folder.path("j")], status: 65,
            saying: "\(folder.path("j/journal.sqlite")) is a folder")
        try await refused(
            ["ledger", "--journal", folder.path("nowhere")], status: 65,
            saying: "\(folder.path("nowhere")) does not exist")
    }

    @Test("a ledger of a file that is not SQLite: 65, and nothing is touched")
    func notSQLite() async throws {
        let folder = try TemporaryFolder()
        let text = String(repeating: "not SQLite ", count: 1_000)
        let file = try folder.write(text, to: "journal.sqlite")
        try await refused(["ledger", "--journal", folder.url.path], status: 65)
        #expect(folder.text("journal.sqlite") == text)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [
                "journal.sqlite"
            ])
        _ = file
    }

    @Test("a journal of a newer version: 65, and nothing is touched")
    func newer() async throws {
        try await withServer { server, folder in
            let arguments = ["general", "--journal", folder.path("j"), "--server", server.url]
            #expect(try await Tool.run(["listen"] + arguments + ["--until-complete"]).status == 0)
            let database = try DatabaseQueue(path: folder.path("j/journal.sqlite"))
            try await database.write { db in
                try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('journal/999')")
            }
            try database.close()
            try await refused(["listen"] + arguments, status: 65, saying: "newer")
            try await refused(
                ["ledger", "--journal", folder.path("j")], status: 65, saying: "newer")
        }
    }

    @Test("a second owner of a journal: 75, while the ledger can be read")
    func secondOwner() async throws {
        try await withServer { server, folder in
            let arguments = [
                "listen", "general", "--journal", folder.path("j"), "--server", server.url,
            ]
            let first = try RunningTool(arguments)
            _ = try await Tool.run("publish", "general", "x", "--server", server.url)
            try await first.wait("the message is printed") { $0.contains("x") }
            try await refused(
                arguments, status: 75, saying: "The journal is in use by the process", "kill -9")
            #expect(try await Tool.run("ledger", "--journal", folder.path("j")).status == 0)
            first.signal(SIGTERM)
            #expect(await first.end() == 0)
        }
    }

    @Test("a folder in which nothing may be written: 77")
    func readOnly() async throws {
        // Even root cannot make a folder here.
        let url = "http://127.0.0.1:1"
        let folder = "/sys/kernel/reprise-test"
        guard FileManager.default.fileExists(atPath: "/sys/kernel") else { return }
        try await refused(
            ["listen", "general", "--journal", folder, "--server", url], status: 77)
        try await refused(["serve", "--port", "0", "--data", folder], status: 77)
    }

    @Test("a line that is no message: 65, its number, and the lines before it are stored")
    func badLines() async throws {
        let cases: [(Data, [String], String)] = [
            (
                Data("one\ntwo\n".utf8) + Data([0x66, 0xff, 0x0a]) + Data("four\n".utf8), [],
                "UTF-8"
            ),
            (Data("1\n[2]\n{three}\n4\n".utf8), ["--json-lines"], "JSON"),
            (Data("1\n2\n\"\n".utf8), ["--json-lines"], "JSON"),
            (
                Data("1\n2\n".utf8) + Data(String(repeating: "x", count: 65_535).utf8), [],
                "65,536"
            ),
            (
                Data("1\n2\n".utf8) + Data(String(repeating: "x", count: 1_200_000).utf8), [],
                "bytes"
            ),
        ]
        try await withServer { server, folder in
            for (index, (input, options, word)) in cases.enumerated() {
                let channel = "c\(index)"
                let result = try await Tool.run(
                    ["publish", channel, "--server", server.url, "--json"] + options, input: input)
                #expect(result.status == 65, "\(result.error)")
                #expect(result.error.contains("ine 3"), "\(result.error)")
                #expect(result.error.contains(word), "\(result.error)")
                #expect(result.output.contains(#""published":2"#), "\(result.output)")
            }
        }
    }

    @Test("an argument that is not UTF-8: 65, and nothing else is stored in its place")
    func badArgument() async throws {
        try await withServer { server, _ in
            let (status, words) = try await Command.run(
                "sh",
                [
                    "-c", #""$0" publish a one "$(printf 'caf\351')" --server "$1" 2>&1"#,
                    Tool.Program.reprise.url.path, server.url,
                ])
            #expect(status == 65, "\(words)")
            #expect(words.contains("Argument 4 is not UTF-8."), "\(words)")
            #expect(try await Tool.run("history", "a", "--server", server.url).lines.isEmpty)
        }
    }

    @Test("an input file that is not there, or a folder: 66")
    func noFile() async throws {
        let folder = try TemporaryFolder()
        for path in [folder.path("nothing"), folder.url.path] {
            try await withServer { server, _ in
                try await refused(
                    ["publish", "general", "--file", path, "--server", server.url], status: 66)
            }
        }
    }

    @Test("a configuration that cannot be used: 78, and which setting it is")
    func configuration() async throws {
        let folder = try TemporaryFolder()
        let broken = try folder.write("port = 80", to: "broken.json")
        let unknown = try folder.write(#"{"prot": 80}"#, to: "unknown.json")
        let wrong = try folder.write(#"{"port": "many"}"#, to: "wrong.json")
        try await refused(["serve", "--config", broken], status: 78, saying: "JSON")
        try await refused(["serve", "--config", unknown], status: 78, saying: "prot", "port")
        try await refused(["serve", "--config", wrong], status: 78, saying: "port")
        let origins = try folder.write(#"{"origins": "http://a"}"#, to: "origins.json")
        try await refused(
            ["serve", "--config", origins], status: 78, saying: "origins is not a list of texts.")
        for value in ["null", "{}", #"{"file": "keys.json"}"#] {
            let text = #"{"port": 0, "data": "\#(folder.path("data"))", "keys": \#(value)}"#
            let file = try folder.write(text, to: "unusable.json")
            try await refused(
                ["serve", "--config", file], status: 78, saying: "setting keys", file)
        }
        try await refused(
            ["serve"], environment: ["REPRISE_PORT": "many"], status: 78, saying: "port")
        try await refused(["serve", "--port", "70000"], status: 78, saying: "65535")
        try await refused(["serve", "--keep-days", "0"], status: 78, saying: "keepDays")
        try await refused(["serve", "--log-level", "loud"], status: 78, saying: "loud")
        try await refused(["serve", "--dev", "--host", "0.0.0.0"], status: 78, saying: "--dev")
        try await refused(["serve", "--config", folder.path("nothing")], status: 66)
    }
}
