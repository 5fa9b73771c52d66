import ArgumentParser

/// `reprise forms`: checks, previews, pushes and shows a catalogue of forms, and a device's events.
struct FormsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forms",
        abstract: "Check, preview, push and show forms and their events.",
        discussion: """
            A catalogue defines which forms an app shows, after which events, to whom and
            how often. See docs/forms.md.

            EXAMPLES
              reprise forms check forms.json
              reprise forms preview forms.json
              reprise forms push forms.json --token "$ADMIN"
              reprise forms show
              reprise forms log --journal ./device

            EXIT CODES
              0 done; 65 the catalogue is not one; 66 the file cannot be read; 69 no
              server; 76 refused. All: reprise --help
            """,
        subcommands: [
            FormsCheckCommand.self, FormsPushCommand.self, FormsShowCommand.self,
            FormsPreviewCommand.self, FormsLogCommand.self,
        ])
}

/// The company whose forms are meant.
struct CompanyOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("Whose forms: a company's key.", valueName: "key"))
    var company: String = "default"
}
