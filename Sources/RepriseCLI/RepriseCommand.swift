import ArgumentParser
import RepriseCommandLine

/// The root command: its subcommands and exit codes.
struct RepriseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reprise",
        abstract: "Messages that survive apps being killed, frozen and cut off.",
        discussion: """
            TRY IT
              reprise serve &                            a server on port 8080
              reprise listen general --journal ./inbox & a device
              reprise publish general "Hello"            a message
              reprise chat general --as ada              a person; kill it, come back
              reprise-lab demo                           all features, with real kills

            \(ExitStatus.help)
            """,
        version: ToolVersion.text,
        subcommands: [
            ServeCommand.self, PublishCommand.self, ListenCommand.self, ChatCommand.self,
            LedgerCommand.self, DeadLettersCommand.self, RemindersCommand.self,
            RoutesCommand.self, NoticesCommand.self, ChainsCommand.self, TokenCommand.self,
            ChannelsCommand.self, MembersCommand.self, HistoryCommand.self, TraceCommand.self,
            FormsCommand.self, BackupCommand.self, RestoreCommand.self, ClusterToolCommand.self,
            ReferenceCommand.self,
        ])
}
