import ArgumentParser
import RepriseChains
import RepriseCommandLine
import RepriseCore

/// `reprise chains show`.
struct ChainsShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a chain: its tasks, their errors, its log.",
        usage: "reprise chains show ID --journal DIR [--watch] [--json]",
        discussion: """
            Inputs and outputs are cut to the width of a line; `export` has them whole.

            EXAMPLES
              reprise chains show 4f50976f --journal ./data
              reprise chains show 4f50976f --journal ./data --watch
              reprise chains show 4f50976f --journal ./data --json | jq .tasks[].attempts

            EXIT CODES
              0 shown; 65 no journal there, or no such chain. All: reprise --help
            """)

    @Flag(help: "Show again what has changed, until interrupted.") var watch = false
    @OptionGroup var chain: ChainOption

    func run() async throws {
        let (viewer, id, isJSON) = (try chain.chains.viewer, chain.id, chain.chains.json)
        try await ChainsWatch.show(again: watch, isJSON: isJSON) {
            let (chain, tasks, log) = try viewer.show(id)
            return isJSON
                ? [ChainsJSON.whole(chain, tasks, log)]
                : ChainsText(.output).lines(chain, tasks, log)
        }
    }
}

/// `reprise chains export`.
struct ChainsExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Print all data of a chain as one JSON object.",
        usage: "reprise chains export ID --journal DIR",
        discussion: """
            With every input, output and checkpoint, those in files included. What is not
            JSON is a text, or its bytes in base64; a file that is missing or damaged
            stands as "outputFault" with the reason.

            EXAMPLES
              reprise chains export 4f50976f --journal ./data > chain.json
              reprise chains export 4f50976f --journal ./data | jq .tasks[2].output

            EXIT CODES
              0 printed; 65 no journal there, or no such chain. All: reprise --help
            """)

    @OptionGroup var chain: ChainOption

    func run() async throws {
        var isFirst = true
        try chain.chains.viewer.export(chain.id) { chain, log in
            // Open at its end: the tasks are written one at a time, however large they are.
            let head = ChainsJSON.whole(chain, [], log)
            guard head.hasSuffix("]}") else { return }
            try StandardOutput.write(Array(head.utf8.dropLast(2)))
        } task: { task in
            let text = (isFirst ? "" : ",") + ChainsJSON.task(task)
            isFirst = false
            try StandardOutput.write(Array(text.utf8))
        }
        try StandardOutput.write("]}")
    }
}
