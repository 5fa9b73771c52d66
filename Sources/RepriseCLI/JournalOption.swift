import ArgumentParser
import Foundation
import Reprise
import RepriseJournal

/// Which journal, for every command that looks at one.
struct JournalOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder of a journal, or of a client: then its current account's.",
            valueName: "dir"))
    var journal: String

    var url: URL { AccountFolders.currentJournal(in: URL(fileURLWithPath: journal)) }
}

extension AccountClient.Configuration {
    /// For a command that names its channels: no others are followed.
    static var ofNamedChannels: Self {
        var configuration = Self()
        configuration.channels.followsConversations = false
        return configuration
    }
}
