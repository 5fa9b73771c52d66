import ArgumentParser
import RepriseChains
import RepriseCommandLine
import RepriseCore

/// `reprise chains list`.
struct ChainsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List chains, newest first.",
        usage: """
            reprise chains [list] --journal DIR [--state STATE] [--name NAME]
                                  [--definition NAME] [--older-than AGE]
                                  [--before ID] [--limit N] [--watch] [--json]
            """,
        discussion: """
            STATES
              queued running paused parked failing cancelling
              succeeded failed cancelled quarantined

            An age counts from a chain's end, or from its start while it has not ended.

            EXAMPLES
              reprise chains --journal ./data
              reprise chains --journal ./data --state failed --state parked
              reprise chains --journal ./data --state running --older-than 1d
              reprise chains --journal ./data --before 4f50976f
              reprise chains --journal ./data --watch
              reprise chains --journal ./data --json | jq -r 'select(.reason).id'

            EXIT CODES
              0 shown; 65 no journal there, or no such chain. All: reprise --help
            """)

    @Option(help: ArgumentHelp("Only chains in this state; may be repeated.", valueName: "state"))
    var state: [TypedChainState] = []
    @Option(help: "Only chains that were started under this name.") var name: String?
    @Option(help: ArgumentHelp("Only chains of this definition.", valueName: "name"))
    var definition: String?
    @Option(help: ArgumentHelp("Only older ones: 90s, 15m, 8h, 30d.", valueName: "age"))
    var olderThan: Lifetime?
    @Option(help: ArgumentHelp("Only chains before this one: the next page.", valueName: "id"))
    var before: String?
    @Option(help: ArgumentHelp("How many at most.", valueName: "n")) var limit = 100
    @Flag(help: "Show again what has changed, until interrupted.") var watch = false
    @OptionGroup var chains: ChainsOption

    func validate() throws {
        guard (1...ChainViewer.listLimit).contains(limit) else {
            throw ValidationError("--limit is from 1 to \(ChainViewer.listLimit).")
        }
    }

    func run() async throws {
        let (viewer, limit, isJSON) = (try chains.viewer, limit, chains.json)
        let filter = ChainFilter(
            states: state.isEmpty ? nil : Set(state.map(\.state)), name: name,
            definition: definition, olderThan: olderThan.map { .seconds($0.seconds) })
        let last = try before.map { try viewer.find($0) }
        try await ChainsWatch.show(again: watch, isJSON: isJSON) {
            let overview = try viewer.list(limit: limit, filter, before: last)
            return isJSON
                ? overview.chains.map(ChainsJSON.line)
                : ChainsText(.output).lines(overview)
        }
    }
}

/// A state as people type it: by the word that the list shows.
struct TypedChainState: ExpressibleByArgument, Sendable {
    let state: ChainState

    init?(argument: String) {
        guard let state = ChainState.allCases.first(where: { $0.word == argument }) else {
            return nil
        }
        self.state = state
    }

    static var allValueStrings: [String] { ChainState.allCases.map(\.word) }
}
