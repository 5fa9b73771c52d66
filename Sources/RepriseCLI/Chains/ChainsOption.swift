import ArgumentParser
import Foundation
import Reprise
import RepriseChains
import RepriseCommandLine
import RepriseCore

/// Which journal, for every command that looks at chains.
struct ChainsOption: ParsableArguments {
    @OptionGroup var journal: JournalOption
    @Flag(help: "Print JSON, an object a line.") var json = false

    var viewer: ChainViewer {
        get throws {
            ChainViewer(at: try journal.checkedURL, schemas: AccountClient.featureSchemas)
        }
    }
}

/// Which journal, and which chain of it.
struct ChainOption: ParsableArguments {
    @Argument(help: "The chain's id, or as much of it as is unique.") var id: String
    @OptionGroup var chains: ChainsOption

    /// Leaves a command for the owner of the journal, and reports that.
    ///
    /// - Parameters:
    ///   - command: the verb.
    ///   - isOfUse: whether it applies to a chain in this state.
    /// - Throws: `.badInput` if it does not; as `ChainViewer.find(_:)` and `Spool.record(_:)`.
    func leave(_ command: ChainCommand.Verb, isOfUse: (ChainState) -> Bool) throws {
        let viewer = try chains.viewer
        let chain = try viewer.find(id)
        if let state = chain.state, !isOfUse(state) {
            throw CommandFailure(
                .badInput,
                "The chain \(chain.shortID) cannot be told to \(command.rawValue): it is \(state.word)."
            )
        }
        try viewer.leave(command, for: chain)
        try StandardOutput.write(
            chains.json
                ? ChainsJSON.left(command.rawValue, chain)
                : "left for the app: \(command.rawValue) \(chain.definition.printable) \(chain.shortID.printable)"
        )
    }
}
