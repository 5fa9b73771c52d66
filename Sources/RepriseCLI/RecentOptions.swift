import ArgumentParser

/// A journal's newest records, for every command that lists them.
struct RecentOptions: ParsableArguments {
    static let most = 1_000

    @OptionGroup var journal: JournalOption
    @Option(help: ArgumentHelp("How many, 1 to 1,000.", valueName: "n")) var limit = 20
    @Flag(help: "Print an object a line.") var json = false

    func validate() throws {
        guard (1...Self.most).contains(limit) else {
            throw ValidationError("--limit is 1 to 1,000.")
        }
    }
}
