import ArgumentParser
import RepriseCore

/// The commands of a tool by name, and what to say of a word that is none of them.
package enum CommandNames {
    /// - Parameters:
    ///   - words: what was typed.
    ///   - root: the tool.
    /// - Returns: nil if they name a command, as far as they are no options or values.
    static func complaint(about words: some Collection<String>, in root: any ParsableCommand.Type)
        -> String?
    {
        let (command, named) = command(named: words, in: root)
        let known = command.configuration.subcommands.map { $0.configuration }
        guard let word = words.dropFirst(named.count).first, !known.isEmpty,
            !word.hasPrefix("-"), word != "help"
        else { return nil }
        let group = named.map { $0 + " " }.joined()
        let shown = group + word.printable.prefix(columns: 40)
        let names = known.filter(\.shouldDisplay).compactMap(\.commandName)
        guard let name = nearest(to: word, among: names) else {
            return "There is no command '\(shown)'."
        }
        return "There is no command '\(shown)'. Did you mean '\(group)\(name)'?"
    }

    /// The name that was probably meant: at most two letters differ.
    package static func nearest(to word: String, among names: [String]) -> String? {
        let nearest = names.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
        return nearest.flatMap { $0.1 <= 2 ? $0.0 : nil }
    }

    /// The command that these words name, as far as they name one.
    static func path(
        of words: some Collection<String>, in root: any ParsableCommand.Type
    ) -> String {
        let named = command(named: words, in: root).words
        return ([root.configuration.commandName].compactMap(\.self) + named)
            .joined(separator: " ")
    }

    /// - Returns: that command, and those of the words that name it.
    private static func command(
        named words: some Collection<String>, in root: any ParsableCommand.Type
    ) -> (command: any ParsableCommand.Type, words: [String]) {
        var command = root
        var named: [String] = []
        for word in words {
            let below = command.configuration.subcommands
            guard let next = below.first(where: { $0.configuration.commandName == word })
            else { break }
            named.append(word)
            command = next
        }
        return (command, named)
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
