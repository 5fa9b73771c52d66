import Foundation
import GRDB
import RepriseCommandLine
import RepriseCore
import RepriseTestSupport
import Testing

@testable import RepriseCLI

/// What somebody else has written, on its way to a terminal.
@Suite("foreign text")
struct ForeignTextTests {
    /// C0, DEL, C1, separators of lines, and what turns the direction.
    private static let hostile =
        "a\u{1b}[2J\u{7f}\u{9b}31m\u{85}\u{202e}b\u{2066}\u{200f}\u{2028}漢👍\u{fe0f}"

    /// Whether a terminal would obey anything in it; line breaks are ours.
    private static func obeyed(_ output: String) -> [Unicode.Scalar] {
        output.unicodeScalars.filter { $0.isControl && $0 != "\n" && $0 != "\t" }
    }

    @Test(
        "a message, its text and its JSON, reach no terminal raw, and JSON says the same as before")
    func messages() async throws {
        let scene = try await ChatScene()
        let server = ["--server", scene.server.url]
        let published = try await Tool.run(
            ["publish", "general", Self.hostile, "--as", "ada"] + server)
        #expect(published.status == 0, "\(published.error)")
        let listen =
            ["listen", "general", "--as", "eve", "--until-complete", "--journal"]
            + [scene.folder.path("j")]
        for command in [
            listen + ["--json"], ["history", "general", "--as", "eve", "--json"],
            ["history", "general", "--as", "eve"],
        ] {
            let result = try await Tool.run(command + server)
            #expect(result.lines.count == 1, "\(command): \(result.output)")
            #expect(Self.obeyed(result.output).isEmpty, "\(command): \(result.output)")
            #expect(result.output.contains("漢👍\u{fe0f}"), "\(command)")
            guard command.contains("--json") else { continue }
            #expect(result.output.contains(#"\u009b31m\u0085\u202eb\u2066\u200f\u2028"#))
            let line = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
            #expect((line as? [String: Any])?["body"] as? String == Self.hostile)
        }
    }

    @Test("neither does a channel's title, in a table or as JSON")
    func titles() async throws {
        let scene = try await ChatScene()
        let options = ["--as", "ada", "--server", scene.server.url]
        let refused = try await Tool.run(["channels", "team", "--title", Self.hostile] + options)
        #expect(refused.status == 65, "\(refused)")
        // Marks, which Hebrew and Arabic need, are taken.
        let marked = "漢א\u{200f}\u{200e}\u{61c}!"
        let made = try await Tool.run(["channels", "team", "--title", marked] + options)
        #expect(made.status == 0, "\(made.error)")
        let table = try await Tool.run(["channels"] + options)
        #expect(table.output.contains("漢א"), "\(table.output)")
        #expect(Self.obeyed(table.output).isEmpty, "\(table.output)")
        let json = try await Tool.run(["channels", "--json"] + options)
        #expect(json.output.contains(#""漢א\u200f\u200e\u061c!""#), "\(json.output)")
        // One that a former version has stored.
        var settings = Configuration()
        settings.busyMode = .timeout(20)
        let accounts = try DatabaseQueue(
            path: scene.folder.path("data") + "/accounts.sqlite", configuration: settings)
        try await accounts.write { db in
            try db.execute(sql: "UPDATE channels SET title = ?", arguments: [Self.hostile])
        }
        try accounts.close()
        for command in [
            ["channels"], ["channels", "--json"], ["channels", "team"],
            ["channels", "team", "--json"],
        ] {
            let result = try await Tool.run(command + options)
            #expect(result.output.contains("漢"), "\(command): \(result.output)")
            #expect(Self.obeyed(result.output).isEmpty, "\(command): \(result.output)")
        }
    }

    @Test("a server's error text reaches no terminal raw either")
    func errors() async throws {
        let body = #"{"error":{"code":"x","message":"no\u001b[2J\u009b1m\u202e\nreprise: fine"}}"#
        let raw = body.replacing(#"\u009b"#, with: "\u{9b}").replacing(#"\u202e"#, with: "\u{202e}")
        let server = try OtherServer(
            answering:
                "HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\nContent-Length: \(raw.utf8.count)\r\n\r\n\(raw)"
        )
        let result = try await Tool.run(["channels", "--server", server.url])
        #expect(result.status == 65, "\(result)")
        #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
        #expect(Self.obeyed(result.error).isEmpty, "\(result.error)")
    }

    @Test("an error that repeats an argument is one line, and without its colours")
    func arguments() async throws {
        let result = try await Tool.run("forms", "check", "nope\u{1b}[31m\nx")
        #expect(result.status == 66, "\(result)")
        #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
        #expect(!result.error.contains("\u{1b}"), "\(result.error)")
    }

    @Test(
        "text on the chat's screen has no control characters, and a tab has the width that it is counted with"
    )
    func chat() async throws {
        let scene = try await ChatScene()
        let published = try await Tool.run(
            "publish", "general", Self.hostile + "\tx", "--as", "ada", "--server",
            scene.server.url)
        #expect(published.status == 0, "\(published.error)")
        let bob = try PseudoTerminal(scene.arguments("bob"))
        try await bob.wait("it is there") { $0.contains { $0.contains("漢") } }
        // What is left after the screen has taken our own sequences.
        #expect(Self.obeyed(bob.text).isEmpty, "\(bob.text)")
        #expect(!bob.text.contains("\t"))
        bob.type("\u{4}")
        #expect(await bob.end() == 0)
    }

    @Test(
        "our own colours and line breaks stay; everything else is written as JSON writes it",
        arguments: [
            ("plain\n\t", "plain\n\t"), ("\u{1b}[2mdim\u{1b}[0m", "\u{1b}[2mdim\u{1b}[0m"),
            ("\u{1b}[2J", "\\u001b[2J"), ("\u{1b}[38;5;1m", "\\u001b[38;5;1m"),
            ("\u{1b}", "\\u001b"), ("\u{1b}[m", "\\u001b[m"), ("\r\u{0}", "\\u000d\\u0000"),
            ("ü\u{7f}\u{80}\u{9f}\u{a0}", "ü\\u007f\\u0080\\u009f\u{a0}"),
            ("\u{61c}\u{200d}\u{2029}\u{2069}", "\\u061c\u{200d}\\u2029\\u2069"),
        ])
    func harmless(text: String, expected: String) {
        #expect(HarmlessText.text(text) == expected)
        #expect(HarmlessText.bytes(Array(text.utf8)) == Array(expected.utf8))
    }

    @Test("a byte that is no UTF-8 is not taken for a control character of one byte")
    func invalid() {
        #expect(HarmlessText.bytes([0x61, 0x9b, 0x62]) == Array("a\u{fffd}b".utf8))
    }
}
