import RepriseCommandLine
import RepriseTestSupport
import Testing

@testable import RepriseCLI

@Suite("Help")
struct HelpTests {
    @Test(
        "every command explains itself in 80 columns, with examples and exit codes",
        arguments: [
            [], ["serve"], ["publish"], ["listen"], ["ledger"], ["token"],
            ["channels"], ["members"], ["history"], ["trace"], ["chat"], ["backup"], ["restore"],
            ["dead-letters"], ["reminders"], ["routes"], ["chains"], ["forms"],
            ["forms", "preview"], ["forms", "log"],
        ])
    func help(command: [String]) async throws {
        let result = try await Tool.run(command + ["--help"])
        #expect(result.status == 0)
        #expect(result.error.isEmpty)
        #expect(result.output.contains("EXIT CODES"))
        #expect(result.output.contains(command.isEmpty ? "TRY IT" : "EXAMPLES"))
        for line in result.lines { #expect(line.count <= 80, "\(line)") }
    }

    @Test("every command for chains explains itself in 80 columns, with examples and exit codes")
    func chains() async throws {
        for name in ChainsCommand.names {
            let result = try await Tool.run("chains", name, "--help")
            #expect(result.status == 0)
            #expect(result.output.contains("EXIT CODES") && result.output.contains("EXAMPLES"))
            for line in result.lines { #expect(line.count <= 80, "\(name): \(line)") }
        }
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
