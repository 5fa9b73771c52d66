import Foundation
import Testing

/// The help of a command, and what a person would find wrong with it at 80 columns.
package struct HelpScreen: Sendable {
    /// The command's words, without the tool's name.
    package let words: [String]
    package let text: String
    /// The options and arguments with a value of any form: `--port <port>`, `<seq>`.
    package let values: [String]
    package let faults: [String]

    /// Runs `--help` of every command of a program, also of those that no help lists.
    package static func all(of program: Tool.Program = .reprise) async throws -> [HelpScreen] {
        var waiting: [([String], [String: Any])] = [([], try await Tool.dump(of: program))]
        var screens: [HelpScreen] = []
        while let (words, command) = waiting.popLast() {
            let below = command["subcommands"] as? [[String: Any]] ?? []
            for one in below {
                guard let name = one["commandName"] as? String, name != "help" else { continue }
                waiting.append((words + [name], one))
            }
            let shown = try await Tool.run(
                words + ["--help"], program: program, environment: ["COLUMNS": "80"])
            try #require(shown.status == 0 && shown.error.isEmpty, "\(words): \(shown)")
            screens.append(HelpScreen(words, shown.output, command, isGroup: !below.isEmpty))
        }
        return screens
    }

    private init(_ words: [String], _ text: String, _ command: [String: Any], isGroup: Bool) {
        let arguments = (command["arguments"] as? [[String: Any]] ?? [])
            .filter { $0["shouldDisplay"] as? Bool == true }
        self.words = words
        self.text = text
        values = arguments.compactMap(Self.value)
        let lines = text.split(separator: "\n").map(String.init)
        let source = (command["discussion"] as? String ?? "").split(separator: "\n")
        let needed = isGroup ? [] : ["EXAMPLES", "EXIT CODES"]
        var faults = needed.filter { !text.contains($0) }.map { "no \($0)" }
        faults += lines.filter { $0.count > 80 }.map { "wide: \($0)" }
        faults += source.map(String.init).filter { !lines.contains($0) }.map { "broken: \($0)" }
        faults += arguments.compactMap(Self.fault)
        self.faults = faults
    }

    /// Nil for a flag, and for a value that is one of a list.
    private static func value(_ argument: [String: Any]) -> String? {
        guard argument["kind"] as? String != "flag",
            (argument["allValues"] as? [String] ?? []).isEmpty,
            let value = argument["valueName"] as? String
        else { return nil }
        let name = (argument["preferredName"] as? [String: Any])?["name"] as? String
        return (name.map { "--\($0) " } ?? "") + "<\(value)>"
    }

    private static func fault(_ argument: [String: Any]) -> String? {
        let help = argument["abstract"] as? String ?? ""
        let name = argument["valueName"] as? String ?? "?"
        if help.isEmpty { return "no help: \(name)" }
        let isTwice = argument["defaultValue"] != nil && help.contains("(default:")
        return isTwice ? "its default twice: \(name)" : nil
    }
}
