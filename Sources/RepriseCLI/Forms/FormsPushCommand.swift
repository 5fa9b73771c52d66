import ArgumentParser
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// `reprise forms push`: makes a file the current catalogue.
struct FormsPushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Push a file as the apps' catalogue.",
        usage: """
            reprise forms push FILE [--company KEY] [--server URL]
                               [--as USER | --token TOKEN]
            """,
        discussion: """
            Checks the file first, then says what it changes. Only an admin may push.
            Content that changes needs a new version; the 10 versions before are kept,
            and pushing one of them again goes back to it. If somebody else has pushed
            meanwhile nothing is changed.

            Apps take the new catalogue over when they next ask for it, never while a
            form is on the screen.

            EXAMPLES
              reprise forms push forms.json --as root
              reprise forms push forms.json --company acme --token "$ADMIN"

            EXIT CODES
              0 it is current; 65 it is no catalogue, or its version is taken; 66 it
              cannot be read; 69 no server; 76 refused. All: reprise --help
            """)

    @Argument(help: ArgumentHelp("The catalogue; - for the standard input.", valueName: "file"))
    var file: String
    @OptionGroup var company: CompanyOption
    @OptionGroup var server: ServerOption
    @OptionGroup var identity: IdentityOption
    @Flag(help: "Print what the server answers.") var json = false

    func run() async throws {
        let catalogue = try read()
        var caller = try identity.caller(at: server)
        caller.isAdmin = true
        let forms = ServerForms(
            api: ServerAPI(server: server.url, caller: caller), company: company.company)
        let former = try await forms.current()
        let answer = try await forms.replace(former, by: catalogue)
        guard !json else { return try StandardOutput.write(answer.line) }
        try StandardOutput.write(
            "version \(catalogue.version) is current: \(catalogue.forms.count.forms)")
        for line in FormsDifference.lines(from: former?.catalogue, to: catalogue) {
            try StandardOutput.write("  " + line.printable)
        }
    }

    private func read() throws -> FormsCatalogue {
        let file = CatalogueFile(path: file)
        do { return try file.read() } catch let failure as FormsCatalogueFailure {
            for problem in failure.problems { Terminal.error.writeLine(file.line(problem)) }
            throw CommandFailure(
                .badInput, "\(file.path) is no catalogue; nothing was pushed.")
        }
    }
}
