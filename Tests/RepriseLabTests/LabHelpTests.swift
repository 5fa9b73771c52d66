import RepriseCommandLine
import RepriseTestSupport
import Testing

@testable import RepriseLab

@Suite("Help of reprise-lab")
struct LabHelpTests {
    @Test("every command explains itself in 80 columns, with examples and exit codes")
    func help() async throws {
        let screens = try await HelpScreen.all(of: .lab)
        #expect(screens.contains { $0.words == ["app", "notices"] })
        for screen in screens { #expect(screen.faults == [], "\(screen.words)") }
        let root = try #require(screens.first { $0.words.isEmpty }).text
        #expect(root.contains("TRY IT") && root.contains("EXIT CODES"))
    }

    @Test(
        "a value that cannot be read is answered with the accepted form and an example",
        arguments: [
            (["phone", "slow", "--latency", "x"], "such as 300ms, 90s or 8h."),
            (["phone", "slow", "--rate", "x"], "a whole number of bytes, such as 16000."),
            (["phone", "run", "--port", "x"], "a number from 0 to 65535, such as 8080."),
            (["demo", "--seed", "x"], "a whole number, such as 20."),
            (["demo", "--minutes", "x"], "a number of minutes, such as 5 or 0.5."),
        ])
    func unreadable(words: [String], form: String) async throws {
        let result = try await LabTool.run(words)
        #expect(result.status == 64 && result.output.isEmpty)
        #expect(result.error.contains(form), "\(result.error)")
    }

    @Test("crash is the program that stands beside it, with its arguments and exit status")
    func crash() async throws {
        let help = try await LabTool.run("crash", "--help")
        #expect(help.status == 0)
        #expect(help.output.contains("kills") && help.output.contains("powerloss"))
        #expect(try await LabTool.run("crash", "dance").status == 64)
    }

    @Test("the version is printed")
    func version() async throws {
        #expect(try await LabTool.run("--version").output == ToolVersion.text + "\n")
    }

    @Test(
        "a command line that cannot be understood is a matter of usage",
        arguments: [["demo", "dance"], ["demo", "--seed", "-1"], ["fly"], ["serve"]])
    func usage(arguments: [String]) async throws {
        let result = try await LabTool.run(arguments)
        #expect(result.status == 64)
        #expect(result.output.isEmpty)
        #expect(result.error.hasPrefix("reprise-lab: ") && result.error.contains("--help"))
    }

    @Test("no colours and no progress go into a pipe")
    func plain() async throws {
        let result = try await LabTool.run("demo", "kill", "--messages", "5", "--kills", "9")
        #expect(result.status == 64)
        #expect(!result.error.contains("\u{1b}"))
    }
}
