import ArgumentParser
import RepriseCore
import ReprisePhone
import RepriseSimulator

/// `reprise-lab reference`: the lab's part of what `scripts/reference` writes, as JSON.
struct LabReferenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reference", abstract: "Print the lab's limits as JSON.",
        discussion: """
            The lab's part of what scripts/reference writes into the documentation.

            EXAMPLES
              reprise-lab reference | jq '.limits[]'

            EXIT CODES
              0 printed. All: reprise-lab --help
            """,
        shouldDisplay: false)

    func run() throws {
        var reference = Reference()
        reference.limits = [.phone, .chromium, .reach]
        print(try reference.json())
    }
}
