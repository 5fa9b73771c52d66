import ArgumentParser

/// `reprise phone`: operates a stand-in device by hand.
struct PhoneToolCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "phone",
        abstract: "Run a stand-in phone, and do to it what a person and its system do.",
        discussion: """
            The phone is a process that plays the operating system for apps that use
            Reprise: it launches, suspends and kills them, keeps their notifications, gives
            them time in the background and takes it away. What it does where Apple says
            how a device behaves, and where nobody knows, is in docs/phone.md.

            All commands find the phone by its folder: --folder, else
            $REPRISE_PHONE_FOLDER, else reprise-phone here. --app may be left out while one
            app is installed. Each says what it has set off; --json prints an object a line.

            EXAMPLES
              reprise phone run &                          a phone
              reprise phone install mail ./MailApp         an app on it
              reprise phone push --title Hello --body You  it gets a push, dead as it is
              reprise phone tap                            the tap launches it
              reprise phone kill                           the system kills it
              reprise phone log --follow                   what happens, as it happens

            EXIT CODES
              0 done; 65 no such app or notification; 69 no phone runs there; 76 the phone
              refuses. All: reprise --help
            """,
        subcommands: [
            PhoneRunCommand.self, PhoneStatusCommand.self, PhoneLogCommand.self,
            PhoneInstallCommand.self, PhoneUninstallCommand.self, PhoneLaunchCommand.self,
            PhoneTapCommand.self, PhoneDismissCommand.self, PhoneHomeCommand.self,
            PhoneKillCommand.self, PhoneForceQuitCommand.self, PhoneSuspendCommand.self,
            PhoneResumeCommand.self, PhoneMemoryCommand.self, PhoneOfflineCommand.self,
            PhoneOnlineCommand.self, PhoneSlowCommand.self, PhoneNetworkCommand.self,
            PhonePowerCommand.self, PhoneStorageCommand.self, PhoneClockCommand.self,
            PhonePermissionCommand.self, PhonePushCommand.self, PhoneTaskCommand.self,
            PhoneTransfersCommand.self,
            PhoneRulesCommand.self, PhoneCrashWebViewCommand.self, PhoneShutdownCommand.self,
        ])

    /// The names of its commands, for a test of their help.
    static var names: [String] {
        let names = configuration.subcommands.map { $0.configuration.commandName }
        return names.compactMap(\.self)
    }
}
