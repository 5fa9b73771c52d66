import ArgumentParser
import RepriseChains
import RepriseCommandLine

/// `reprise chains schedules`.
struct ChainsSchedulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedules",
        abstract: "List the chains that run again and again.",
        usage: "reprise chains schedules --journal DIR [--json]",
        discussion: """
            Of each its rule, the next time, and how the last run ended. The runs are
            chains of this name: `reprise chains --name NAME`. A schedule is suspended
            (parked) while this version of the app cannot start its chain.

            EXAMPLES
              reprise chains schedules --journal ./data
              reprise chains unschedule tidy-up --journal ./data
              reprise chains --name tidy-up --journal ./data
              reprise chains schedules --journal ./data --json | jq .next

            EXIT CODES
              0 shown; 65 no journal there, or a damaged one. All: reprise --help
            """)

    @OptionGroup var chains: ChainsOption

    func run() async throws {
        let schedules = try chains.viewer.schedules()
        let lines =
            chains.json
            ? schedules.map { ChainsJSON.line($0) } : ChainsText(.output).lines(schedules)
        for line in lines { try StandardOutput.write(line) }
    }
}
