import ArgumentParser

/// The commands by name, and what to say of a word that is none of them.
enum CommandNames {
    /// The commands for people.
    private static var all: [String] {
        RepriseCommand.configuration.subcommands.compactMap { command in
            command.configuration.shouldDisplay ? command.configuration.commandName : nil
        }
    }

    /// - Parameter word: the first that was typed.
    /// - Returns: nil if it is a command or an option.
    static func complaint(about word: String?) -> String? {
        let known = RepriseCommand.configuration.subcommands.map { $0.configuration.commandName }
        guard let word, !word.hasPrefix("-"), word != "help", !known.contains(word) else {
            return nil
        }
        let nearest = all.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
        let shown = word.printable.prefix(columns: 40)
        guard let (name, steps) = nearest, steps <= 2 else {
            return "There is no command '\(shown)'."
        }
        return "There is no command '\(shown)'. Did you mean '\(name)'?"
    }

    /// The edit distance in letters; at least the difference of the lengths.
    private static func distance(_ one: String, _ other: String) -> Int {
        guard abs(one.count - other.count) <= 2 else { return .max }
        var row = Array(0...other.count)
        for (number, letter) in one.enumerated() {
            var (diagonal, left) = (row[0], number + 1)
            row[0] = left
            for (place, rival) in other.enumerated() {
                left = min(
                    left + 1, row[place + 1] + 1, diagonal + (letter == rival ? 0 : 1))
                diagonal = row[place + 1]
                row[place + 1] = left
            }
        }
        return row[other.count]
    }
}
