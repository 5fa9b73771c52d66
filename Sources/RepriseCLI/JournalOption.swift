import ArgumentParser
import Foundation
import Reprise
import RepriseCore
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

    /// Reads the journal at ``checkedURL``.
    ///
    /// - Throws: ``RepriseError`` `.corrupt` for a row that cannot be read; what `body` throws.
    func read<Value>(_ body: (URL) throws -> Value) throws -> Value {
        let url = try checkedURL
        do { return try body(url) } catch let error as RepriseError {
            throw error.named(asRowOf: url)
        }
    }
}

extension RepriseError {
    private static let codesOfRows: [Code] = [.malformed, .badID, .badChannelName, .corrupt]

    /// The same with the journal and a remedy, if a row of it could not be read.
    func named(asRowOf journal: URL) -> RepriseError {
        guard Self.codesOfRows.contains(code), !message.contains(journal.path) else { return self }
        return RepriseError(
            .corrupt, "A row of the journal \(journal.path) cannot be read. \(message)",
            remedy: "To begin anew, end the journal's owner and move journal.sqlite away, with its "
                + "-wal and -shm.")
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
