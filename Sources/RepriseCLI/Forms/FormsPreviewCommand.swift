import ArgumentParser
import RepriseCommandLine
import RepriseWire

/// `reprise forms preview`: shows a catalogue's forms in a browser, at phone size.
struct FormsPreviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Show a file's forms in a browser, at phone size.",
        usage: "reprise forms preview FILE [--port PORT] [--theme FILE] [--dark]",
        discussion: """
            Serves a page on this machine alone, prints its address, and goes on until
            SIGINT or SIGTERM. The page shows a form in a frame of the size of a phone,
            drawn by the code that an app's web view runs, and lists what it would tell
            the app: answers, links, how it was closed. Triggers, caps and windows are
            left out: the form that is chosen appears at once. Nothing is recorded or
            sent.
            After FILE has changed reload the page. --theme shows them in the colours,
            corners and size of a theme (docs/forms/themes.md), --dark in dark.

            EXAMPLES
              reprise forms preview forms.json
              reprise forms preview forms.json --port 8090
              reprise forms preview forms.json --theme brand.json --dark

            EXIT CODES
              0 ended by a signal; 65 FILE is no catalogue, or no theme; 66 it cannot be
              read; 75 the port is in use; 78 it is not for this user. All: reprise --help
            """)

    @Argument(help: ArgumentHelp("The catalogue.", valueName: "file")) var file: String
    @Option(help: "The port; 0 takes a free one.") var port = 0
    @Option(help: ArgumentHelp("A theme.", valueName: "file")) var theme: String?
    @Flag(help: "Show the dark palette.") var dark = false

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port is 0 to 65535.") }
        guard file != "-" else { throw ValidationError("A file is read again at each reload.") }
    }

    func run() async throws {
        let preview = FormsPreview(file: CatalogueFile(path: file), theme: theme, isDark: dark)
        do { _ = try preview.file.read() } catch let failure as FormsCatalogueFailure {
            for problem in failure.problems {
                Terminal.error.writeLine(preview.file.line(problem))
            }
            throw CommandFailure(.badInput, "\(file) is no catalogue; nothing is shown.")
        }
        _ = try preview.readTheme()
        try await preview.serve(port: port) { port in
            try? StandardOutput.write("http://127.0.0.1:\(port)/")
        }
    }
}
