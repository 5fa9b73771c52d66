import RepriseCommandLine
import RepriseTestSupport
import Testing

@testable import RepriseCLI

@Suite("Help")
struct HelpTests {
    /// A hundred processes, started once.
    private static let screens = Task { try await HelpScreen.all() }

    @Test("every command explains itself in 80 columns, with examples and exit codes")
    func help() async throws {
        let screens = try await Self.screens.value
        #expect(screens.contains { $0.words == ["chains", "clear"] })
        for screen in screens {
            #expect(screen.faults == [], "\(screen.words)")
            #expect(screen.text.contains("EXIT CODES"), "\(screen.words)")
        }
        let root = try #require(screens.first { $0.words.isEmpty }).text
        #expect(root.contains("TRY IT") && root.contains("EXIT CODES"))
    }

    /// Placeholders of values that are texts: none is of a wrong form.
    private static let texts: Set = [
        "channel", "dir", "file", "host", "id", "key", "level", "name", "text", "title", "token",
        "url", "urls", "user",
    ]

    @Test("the accepted form of every value that is not a text is known")
    func forms() async throws {
        for screen in try await Self.screens.value {
            for value in screen.values {
                let isText = Self.texts.contains { value.hasSuffix("<\($0)>") }
                let message = "Missing value for '\(value)'"
                let isUnknown = ValueForm.completed(message) == message
                #expect(isUnknown == isText, "\(screen.words) \(value)")
            }
        }
    }

    @Test(
        "a value that cannot be read is answered with the accepted form and an example",
        arguments: [
            (["serve", "--port", "abc"], "a number from 0 to 65535, such as 8080."),
            (["forms", "preview", "f", "--port", "x"], "a number from 0 to 65535, such as 8080."),
            (["chains", "clear", "--journal", "j", "--older-than", "x"], "15m, 8h or 30d."),
            (["chains", "clear", "--journal", "j"], "15m, 8h or 30d."),
            (["token", "--as", "a", "--expires", "1"], "such as 90s, 15m, 8h or 30d."),
            (["publish", "c", "t", "--patience", "x"], "a number of seconds, such as 30 or 0.5."),
            (["serve", "--keep-days", "-3"], "a whole number of days, such as 30."),
            (["history", "c", "--last", "x"], "a whole number, such as 20."),
            (["chains", "list", "--journal", "j", "--state", "x"], "following: queued, running,"),
        ])
    func unreadable(words: [String], form: String) async throws {
        let result = try await Tool.run(words)
        #expect(result.status == 64 && result.output.isEmpty)
        #expect(result.error.contains(form), "\(result.error)")
        #expect(result.error.split(separator: "\n").count == 1)
    }

    @Test("help of a command that is none is an error")
    func unknown() async throws {
        for (words, message) in [
            (["foo"], "There is no command 'foo'."),
            (["chains", "shwo"], "Did you mean 'chains show'?"),
        ] {
            let result = try await Tool.run(["help"] + words)
            #expect(result.status == 64 && result.output.isEmpty, "\(result)")
            #expect(result.error.contains(message), "\(result.error)")
        }
        let help = try await Tool.run("help", "chains", "show")
        #expect(help.status == 0 && help.output.contains("EXAMPLES"), "\(help)")
    }

    @Test("every exit code the tool knows is documented")
    func exitCodes() async throws {
        let help = try await Tool.run("--help").output
        for status in 0...255 {
            guard ExitStatus(rawValue: Int32(status)) != nil else { continue }
            #expect(help.contains(try Regex("(?m)^  \(status) ")), "\(status)")
        }
    }

    @Test("the version is printed")
    func version() async throws {
        #expect(try await Tool.run("--version").output == ToolVersion.text + "\n")
    }
}
