import ArgumentParser

/// `reprise-lab phone`: operates a stand-in device by hand.
struct PhoneToolCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "phone",
        abstract: "Run and control a stand-in phone.",
        discussion: """
            The phone is a process that acts as the operating system for apps that use
            Reprise: it launches, suspends and kills them, keeps their notifications,
            grants and revokes background time. docs/phone.md lists its rules, and what
            Apple leaves open.

            All commands find the phone by its folder: --folder, else
            $REPRISE_PHONE_FOLDER, else ./reprise-phone. --app may be omitted while one
            app is installed. Each prints its effects; --json prints an object a line.

            EXAMPLES
              reprise-lab phone run &                          a phone
              reprise-lab phone install mail ./MailApp         an app on it
              reprise-lab phone push --title Hello --body You  it gets a push, though dead
              reprise-lab phone tap                            the tap launches it
              reprise-lab phone kill                           the system kills it
              reprise-lab phone log --follow                   what happens, as it happens

            EXIT CODES
              0 done; 65 no such app or notification; 69 no phone runs there; 76 the phone
              refuses. All: reprise-lab --help
            """,
        subcommands: [
            PhoneRunCommand.self, PhoneStatusCommand.self, PhoneLogCommand.self,
            PhoneInstallCommand.self, PhoneUninstallCommand.self, PhoneLaunchCommand.self,
            PhoneTapCommand.self, PhoneDismissCommand.self, PhoneHomeCommand.self,
            PhoneKillCommand.self, PhoneForceQuitCommand.self, PhoneSuspendCommand.self,
            PhoneResumeCommand.self, PhoneMemoryCommand.self, PhoneOfflineCommand.self,
            PhoneOnlineCommand.self, PhoneSlowCommand.self, PhoneNetworkCommand.self,
            PhonePowerCommand.self, PhoneLowPowerCommand.self, PhoneFocusCommand.self,
            PhoneRestartCommand.self, PhoneUnlockCommand.self, PhoneStorageCommand.self,
            PhoneClockCommand.self,
            PhonePermissionCommand.self, PhonePushCommand.self, PhoneAPNsCommand.self,
            PhoneTaskCommand.self, PhoneTransfersCommand.self,
            PhoneRulesCommand.self, PhoneCrashWebViewCommand.self, PhoneShutdownCommand.self,
        ])
}
