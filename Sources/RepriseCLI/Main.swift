import ArgumentParser
import Foundation
import RepriseCommandLine

@main
enum Main {
    /// The commands of `reprise-lab` that were once of `reprise`.
    private static let moved = ["demo", "simulate", "reach", "phone"]

    static func main() async {
        StandardDescriptors.hold()
        let word = CommandLine.arguments.dropFirst().first
        if word == ServeCommand.configuration.commandName { EndingSignals.begin() }
        if let word, moved.contains(word) {
            CommandMain.misused(
                RepriseCommand.self, "The command has moved: reprise-lab \(word).",
                help: "reprise-lab \(word)")
        }
        await CommandMain.run(RepriseCommand.self)
    }
}
