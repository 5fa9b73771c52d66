import ArgumentParser
import Foundation
import Reprise
import RepriseCore

/// `reprise ledger`: accounts for everything that a journal ever accepted.
struct LedgerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ledger",
        abstract: "Account for everything that a journal ever accepted.",
        discussion: """
            Everything accepted is pending, or has ended as applied, expired,
            superseded, dead or unconfirmed. Reads a journal that another process owns
            without disturbing it.

            "lost" counts messages that the server had removed before this device came;
            of a range whose length nobody knows it counts 1. "duplicates" counts
            arrivals that were recognised. Neither is part of the sum.

            EXAMPLES
              reprise ledger --journal ./inbox
              reprise ledger --journal ./inbox --json | jq .outcomes.dead

            EXIT CODES
              0 it adds up; 1 it does not; 65 no journal there. All: reprise --help
            """)

    @Option(help: ArgumentHelp("The folder of the journal.", valueName: "dir"))
    var journal: String
    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws {
        let sum = try Reprise.ledger(at: URL(fileURLWithPath: journal))
        let report = LedgerReport(sum: sum)
        try StandardOutput.write(json ? report.json : report.table(Terminal.output))
        if !sum.isBalanced { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }
}
