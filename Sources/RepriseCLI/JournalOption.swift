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

    /// The folder, for each command that reads the journal; throws as `Journal.check` does.
    ///
    /// A reader of some tables would find them empty where the damage is in others.
    var checkedURL: URL {
        get throws {
            let url = AccountFolders.currentJournal(in: URL(fileURLWithPath: journal))
            try Journal.check(at: url, schemas: AccountClient.featureSchemas)
            return url
        }
    }
}

extension AccountClient.Configuration {
    /// For a command that names its channels: no others are followed.
    static var ofNamedChannels: Self {
        var configuration = Self()
        configuration.channels.followsConversations = false
        return configuration
    }
}
