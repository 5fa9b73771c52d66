import ArgumentParser
import RepriseChains
import RepriseCommandLine
import RepriseCore

/// The help of a command that is left for the owner of a journal.
private func help(_ name: String, _ abstract: String, _ discussion: String)
    -> CommandConfiguration
{
    CommandConfiguration(
        commandName: name, abstract: abstract,
        usage: "reprise chains \(name) ID --journal DIR [--json]",
        discussion: """
            \(discussion)

            It is left in the spool of the journal: the app does it when it reads that, at
            its next start at the latest.

            EXAMPLES
              reprise chains \(name) 4f50976f --journal ./data

            EXIT CODES
              0 it is left; 65 no journal there, no such chain, or it is of no use to it;
              75 the spool is full. All: reprise --help
            """)
}

/// `reprise chains retry`.
struct ChainsRetryCommand: AsyncParsableCommand {
    static let configuration = help(
        "retry", "Let a failed chain go on, from the task that failed.",
        "Tasks that were done stay done; the others get all their attempts again.")
    @OptionGroup var chain: ChainOption
    func run() async throws { try chain.leave(.retry) { $0 != .succeeded } }
}

/// `reprise chains cancel`.
struct ChainsCancelCommand: AsyncParsableCommand {
    static let configuration = help(
        "cancel", "Cancel a chain.",
        "Tasks that run are told; what was done is taken back where the chain says how.")
    @OptionGroup var chain: ChainOption
    func run() async throws { try chain.leave(.cancel) { !$0.isEnd } }
}

/// `reprise chains pause`.
struct ChainsPauseCommand: AsyncParsableCommand {
    static let configuration = help(
        "pause", "Let a chain begin nothing more until it is resumed.",
        "A task that runs may end; no other is begun.")
    @OptionGroup var chain: ChainOption
    func run() async throws { try chain.leave(.pause) { !$0.isEnd } }
}

/// `reprise chains resume`.
struct ChainsResumeCommand: AsyncParsableCommand {
    static let configuration = help(
        "resume", "Let a chain that was paused go on.", "It goes on where it was.")
    @OptionGroup var chain: ChainOption
    func run() async throws { try chain.leave(.resume) { !$0.isEnd } }
}

/// `reprise chains delete`.
struct ChainsDeleteCommand: AsyncParsableCommand {
    static let configuration = help(
        "delete", "Remove a chain that has ended.",
        "Its tasks, its log and the files of its outputs go with it; the ledger keeps\n"
            + "how it ended.")
    @OptionGroup var chain: ChainOption
    func run() async throws { try chain.leave(.delete) { $0.isEnd } }
}

/// `reprise chains clear`.
struct ChainsClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear", abstract: "Remove all chains that ended longer ago.",
        usage: "reprise chains clear --older-than AGE --journal DIR [--json]",
        discussion: """
            Their tasks, logs and the files of their outputs go with them, before their
            retention is over; the ledger keeps how they ended. Chains that have not ended
            stay.

            It is left in the spool of the journal: the app does it when it reads that, at
            its next start at the latest, and counts the age then.

            EXAMPLES
              reprise chains clear --older-than 1d --journal ./data
              reprise chains clear --older-than 1s --journal ./data

            EXIT CODES
              0 it is left; 65 no journal there; 75 the spool is full. All: reprise --help
            """)

    @Option(help: ArgumentHelp("Since their end: 90s, 15m, 8h, 30d.", valueName: "age"))
    var olderThan: Lifetime
    @OptionGroup var chains: ChainsOption

    func run() async throws {
        let counts = try chains.viewer.leaveClearing(olderThan: olderThan.seconds)
        try StandardOutput.write(
            chains.json
                ? ChainsJSON.leftClearing(olderThan.seconds, counts)
                : ChainsText.leftClearing(olderThan, counts))
    }
}
