import ArgumentParser
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// `reprise-lab phone rules`: the phone's behaviour where Apple's documentation is open.
struct PhoneRulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules",
        abstract: "Show or change the rules that Apple leaves open.",
        discussion: """
            docs/phone.md says what is known about each.

            EXAMPLES
              reprise-lab phone rules
              reprise-lab phone rules launchingTap=sceneThenDelegate

            EXIT CODES
              0 done; 69 no phone runs there; 78 no such rule or value.
              All: reprise-lab --help
            """)

    @Argument(help: ArgumentHelp("A rule to change.", valueName: "name=value"))
    var changes: [String] = []
    @OptionGroup var phone: PhoneOption

    func run() async throws {
        let before = try await phone.talk { try await $0.status().rules }
        let rules = try before.changed(by: changes)
        if rules != before { return try await phone.perform(.rules(rules)) }
        guard !phone.json else {
            return try StandardOutput.write(PhoneJSON.encode(rules) + [UInt8(ascii: "\n")])
        }
        for rule in PhoneRules.all {
            let value = rule.value(in: rules)
            let others =
                rule.isNumber
                ? rule.values.joined(separator: " to ")
                : "or " + rule.values.filter { $0 != value }.joined(separator: ", ")
            for (place, words) in others.wrapped(36).enumerated() {
                let head = place == 0 ? rule.id.left(26) + value : ""
                try StandardOutput.write(head.left(44) + Terminal.output.paint(words, .dim))
            }
        }
    }
}

extension PhoneRules {
    /// The same rules with some of them changed.
    ///
    /// - Parameter changes: `name=value` each.
    /// - Returns: the changed rules.
    /// - Throws: ``RepriseError`` `.badConfiguration`.
    func changed(by changes: [String]) throws -> PhoneRules {
        try changes.reduce(into: self) { rules, change in
            let parts = change.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            try rules.set(String(parts[0]), to: parts.count == 2 ? String(parts[1]) : "")
        }
    }
}
