import RepriseCommandLine
import RepriseTestSupport
import Testing

@testable import RepriseLab

@Suite("Help of reprise-lab")
struct LabHelpTests {
    @Test(
        "every command explains itself in 80 columns, with examples and exit codes",
        arguments: [[], ["demo"], ["simulate"], ["reach"], ["phone"]])
    func help(command: [String]) async throws {
        let result = try await LabTool.run(command + ["--help"])
        #expect(result.status == 0)
        #expect(result.error.isEmpty)
        #expect(result.output.contains("EXIT CODES"))
        #expect(result.output.contains(command.isEmpty ? "TRY IT" : "EXAMPLES"))
        for line in result.lines { #expect(line.count <= 80, "\(line)") }
    }

    @Test("every command of the phone explains itself in 80 columns, with examples and exit codes")
    func phone() async throws {
        for name in PhoneToolCommand.names {
            let result = try await LabTool.run("phone", name, "--help")
            #expect(result.status == 0)
            #expect(result.output.contains("EXIT CODES") && result.output.contains("EXAMPLES"))
            for line in result.lines { #expect(line.count <= 80, "\(name): \(line)") }
        }
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
