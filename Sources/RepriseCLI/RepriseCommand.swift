import ArgumentParser

/// The root command: its subcommands and exit codes.
struct RepriseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reprise",
        abstract: "Messages that survive apps being killed, frozen and cut off.",
        discussion: """
            TRY IT
              reprise demo                               all five doors, with real kills
              reprise simulate                           look for a broken promise
              reprise reach                              what arrives with and without push
              reprise serve &                            a server on port 8080
              reprise listen general --journal ./inbox & a device
              reprise publish general "Hello"            a message
              reprise chat general --as ada              a person; kill it, come back
              reprise phone run &                        a stand-in phone, by hand

            EXIT CODES
              0   done
              1   the check failed, or what was asked for is not complete
              64  the command was not understood
              65  the input is not what it should be
              66  the input file cannot be read
              69  no server answers, or it cannot take more now
              70  a defect of Reprise; please report it
              73  a file or folder cannot be created
              74  the disk is full, or failed
              75  busy: owned by another process, or the port is taken; try again
              76  what answers is not a Reprise server, or it refuses
              77  no permission to write there
              78  the configuration cannot be used
            """,
        version: ToolVersion.text,
        subcommands: [
            ServeCommand.self, PublishCommand.self, ListenCommand.self, ChatCommand.self,
            LedgerCommand.self, DeadLettersCommand.self, RemindersCommand.self,
            RoutesCommand.self, NoticesCommand.self, ChainsCommand.self, TokenCommand.self,
            ChannelsCommand.self,
            MembersCommand.self, HistoryCommand.self, FormsCommand.self, DemoCommand.self,
            SimulateCommand.self, ReachCommand.self, PhoneToolCommand.self, BackupCommand.self,
            RestoreCommand.self, DeviceCommand.self, CatchUpDeviceCommand.self, AppCommand.self,
        ])
}

/// The version of the tool, as `--version` and the server's log show it.
enum ToolVersion {
    static let text = "0.1.0"
    static let client = "reprise-cli/" + text
}
