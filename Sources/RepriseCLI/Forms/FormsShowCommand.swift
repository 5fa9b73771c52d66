import ArgumentParser
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// `reprise forms show`: the catalogue that apps get.
struct FormsShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the apps' catalogue.",
        usage: "reprise forms show [--company KEY] [--server URL] [--json]",
        discussion: """
            Prints a table of the forms. With --json it prints the catalogue itself, byte
            for byte; to a terminal control characters are written out.

            EXAMPLES
              reprise forms show
              reprise forms show --json > forms.json

            EXIT CODES
              0 shown; 65 the company has no forms; 69 no server; 76 what is there is not
              a catalogue of this version, or the server refuses. All: reprise --help
            """)

    @OptionGroup var company: CompanyOption
    @OptionGroup var server: ServerOption
    @Flag(help: "Print the catalogue as it is.") var json = false

    func run() async throws {
        let caller = Caller(
            server: server.url, source: .nobody, authorities: server.authorities)
        let forms = ServerForms(
            api: ServerAPI(server: server.url, caller: caller), company: company.company)
        guard let current = try await forms.current() else {
            throw CommandFailure(
                .badInput,
                "The company \(company.company.printable) has no forms. `reprise forms push` gives it some."
            )
        }
        guard !json else {
            return Terminal.output.isInteractive
                ? try StandardOutput.write(current.bytes)
                : try StandardOutput.writeRaw(current.bytes)
        }
        guard let catalogue = current.catalogue else {
            throw CommandFailure(
                .protocol, "The catalogue there is not one of this version. --json prints it.")
        }
        try StandardOutput.write(
            "version \(catalogue.version), \(catalogue.forms.count.forms), all together "
                + Self.cap(catalogue.frequency))
        try Listing(
            isJSON: false, header: ["id", "events", "priority", "cap", "from", "until", "title"],
            cells: { _ in [] }
        ).print(catalogue.forms.map(Self.cells))
    }

    private static func cells(_ form: FormsCatalogue.Form) -> [String] {
        [
            form.id, form.events.joined(separator: " "), "\(form.priority)",
            cap(form.frequency), time(form.from), time(form.until), form.title,
        ]
    }

    private static func time(_ milliseconds: Int64?) -> String {
        milliseconds.map { WallTime(milliseconds: $0).dayAndTime } ?? "–"
    }

    private static func cap(_ frequency: FormsCatalogue.Frequency?) -> String {
        guard let frequency else { return "no cap" }
        return "\(frequency.most) in \(Self.length(frequency.seconds))"
    }

    /// In the largest unit that divides it.
    private static func length(_ seconds: Int64) -> String {
        for (unit, name) in [(86_400, "d"), (3_600, "h"), (60, "min")] as [(Int64, String)]
        where seconds.isMultiple(of: unit) {
            return "\(seconds / unit) \(name)"
        }
        return "\(seconds) s"
    }
}
