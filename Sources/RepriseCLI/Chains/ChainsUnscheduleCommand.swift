import ArgumentParser
import RepriseChains
import RepriseCommandLine
import RepriseCore

/// `reprise chains unschedule`.
struct ChainsUnscheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unschedule", abstract: "Remove a schedule.",
        usage: "reprise chains unschedule NAME --journal DIR [--json]",
        discussion: """
            No more runs of it begin. A run under way goes on: it is a chain of this name,
            see `reprise chains --name NAME`. An app that says the schedule at its launch
            adds it again: remove it from the app, too.

            It is left in the spool of the journal: the app does it when it reads that, at
            its next start at the latest.

            EXAMPLES
              reprise chains schedules --journal ./data
              reprise chains unschedule tidy-up --journal ./data
              reprise chains unschedule tidy-up --journal ./data --json

            EXIT CODES
              0 it is left; 65 no journal there, or no such schedule; 75 the spool is full.
              All: reprise --help
            """)

    @Argument(help: "The schedule's name.") var name: String
    @OptionGroup var chains: ChainsOption

    func run() async throws {
        let viewer = try chains.viewer
        let names = try viewer.schedules().map(\.name)
        guard names.contains(name) else {
            let meant = CommandNames.nearest(to: name, among: names)
            throw RepriseError(
                .noSuchEntry, "No schedule has the name '\(name.prefix(64))'.",
                remedy: (meant.map { "Did you mean '\($0)'? " } ?? "")
                    + "List them with `reprise chains schedules --journal DIR`.")
        }
        try viewer.leaveUnscheduling(name)
        try StandardOutput.write(
            chains.json
                ? ChainsJSON.leftUnscheduling(name)
                : "left for the app: unschedule \(name.printable)")
    }
}
