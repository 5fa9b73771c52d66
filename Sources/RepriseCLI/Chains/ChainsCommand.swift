import ArgumentParser

/// `reprise chains`: looks into the chains of a journal, and leaves commands for them.
struct ChainsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chains",
        abstract: "Inspect, retry, cancel, delete and export chains.",
        usage: """
            reprise chains [list] --journal DIR [--state STATE] [--limit N]
            reprise chains show ID --journal DIR [--watch] [--json]
            reprise chains retry|cancel|pause|resume|delete ID --journal DIR
            reprise chains clear --older-than AGE --journal DIR
            reprise chains schedules --journal DIR
            reprise chains unschedule NAME --journal DIR
            reprise chains export ID --journal DIR
            """,
        discussion: """
            A chain is background work in steps. A chain that failed, was cancelled or is
            suspended (parked), because this version of the app cannot continue it, stays
            listed for seven days, with the input, output and error of each task.

            Reading is safe while the app runs. A journal has one owner, so all that
            changes a chain is left in its spool: the app does it when it reads the
            spool, at its next start at the latest.

            An ID may be shortened to a unique prefix.

            EXAMPLES
              reprise chains --journal ./data
              reprise chains --journal ./data --state failed --state parked
              reprise chains show 4f50976f --journal ./data
              reprise chains show 4f50976f --journal ./data --watch
              reprise chains retry 4f50976f --journal ./data
              reprise chains clear --older-than 1d --journal ./data
              reprise chains schedules --journal ./data
              reprise chains export 4f50976f --journal ./data | jq .tasks[].error

            EXIT CODES
              0 done; 65 no journal there, no such chain or schedule, or it is of no use to
              it; 75 the spool is full. All: reprise --help
            """,
        subcommands: [
            ChainsListCommand.self, ChainsShowCommand.self, ChainsRetryCommand.self,
            ChainsCancelCommand.self, ChainsPauseCommand.self, ChainsResumeCommand.self,
            ChainsDeleteCommand.self, ChainsClearCommand.self, ChainsExportCommand.self,
            ChainsSchedulesCommand.self, ChainsUnscheduleCommand.self,
        ], defaultSubcommand: ChainsListCommand.self)
}
