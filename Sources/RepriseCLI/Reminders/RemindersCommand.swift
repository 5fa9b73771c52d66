import ArgumentParser
import Foundation
import Reprise
import RepriseCommandLine
import RepriseReminders

/// `reprise reminders`: the plan, the system's notifications, and why they differ.
struct RemindersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reminders",
        abstract: "Show what should ring, what does, and the difference.",
        discussion: """
            Shows the last reconciliation of an app: what should be pending, what the
            system had, what rings next, and until when everything rings even if the app
            is not opened. Safe while another process owns the journal.

            A row is pending (the system has it), missing (it should have it), refused (it
            did not take it), extra (it should not have it), or beyond (one of the next,
            for which there is no place). --decisions gives the reason for each change.

            EXAMPLES
              reprise reminders --journal ./goals
              reprise reminders --journal ./goals --next 5 --decisions
              reprise reminders --journal ./goals --json | jq .survey.guaranteedUntil

            EXIT CODES
              0 the system has what it should; 1 it has not, or the reconciliation
              failed; 65 no journal there, or a damaged one. All: reprise --help
            """)

    @OptionGroup var journal: JournalOption
    @Option(help: ArgumentHelp("How many of the next, 0 to 60.", valueName: "n")) var next = 60
    @Flag(help: "Show the newest decisions, with their reasons.") var decisions = false
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard (0...60).contains(next) else { throw ValidationError("--next is 0 to 60.") }
    }

    func run() async throws {
        let reading = try journal.read {
            try ReminderReconciliationReading.read(
                at: $0, schemas: AccountClient.featureSchemas,
                decisions: decisions ? (json ? ReminderEngineLimits.decisions : 100) : 0)
        }
        let words =
            json
            ? RemindersJSON.object(reading, next: next)
            : RemindersText(reading, next: next, terminal: .output).lines.joined(separator: "\n")
        guard !reading.difference.isEmpty || reading.reconciliation?.fault != nil else {
            return try StandardOutput.write(words)
        }
        try StandardOutput.explain(words)
        throw ExitCode(ExitStatus.incomplete.rawValue)
    }
}
