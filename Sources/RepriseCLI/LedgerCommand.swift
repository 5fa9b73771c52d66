import ArgumentParser
import Foundation
import Reprise
import RepriseCommandLine
import RepriseCore

/// `reprise ledger`: accounts for everything that a journal ever accepted.
struct LedgerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ledger",
        abstract: "Account for all entries of a journal.",
        discussion: """
            Everything accepted is pending, or has ended as applied, expired,
            superseded, dead or unconfirmed. Safe while another process owns the
            journal.

            "lost" counts messages that the server had removed before this device
            received them; a range of unknown length counts 1. "duplicates" counts
            repeated arrivals. Neither is part of the sum.

            EXAMPLES
              reprise ledger --journal ./inbox
              reprise ledger --journal ./inbox --json | jq .outcomes.dead

            EXIT CODES
              0 it adds up; 1 it does not; 65 no journal there, or a damaged one.
              All: reprise --help
            """)

    @OptionGroup var journal: JournalOption
    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws {
        let sum = try journal.read { try AccountClient.ledger(at: $0) }
        let report = LedgerReport(sum: sum)
        let words = json ? report.json : report.table(Terminal.output)
        guard !sum.isBalanced else { return try StandardOutput.write(words) }
        try StandardOutput.explain(words)
        throw ExitCode(ExitStatus.incomplete.rawValue)
    }
}
