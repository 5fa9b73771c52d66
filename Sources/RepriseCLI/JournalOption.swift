import ArgumentParser
import Foundation
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
