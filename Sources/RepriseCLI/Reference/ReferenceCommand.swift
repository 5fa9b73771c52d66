import ArgumentParser
import Reprise
import RepriseApple
import RepriseChains
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseNIO
import RepriseNotices
import RepriseReminders
import RepriseServer
import RepriseWire

/// `reprise reference`: what `scripts/reference` writes into `docs`, as JSON.
struct ReferenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reference", abstract: "Print limits, metrics and error codes as JSON.",
        discussion: """
            What scripts/reference writes into the documentation.

            EXAMPLES
              reprise reference | jq '.exits[].code'

            EXIT CODES
              0 printed. All: reprise --help
            """,
        shouldDisplay: false)

    private static let limits: [LimitTable] = [
        .wire, .client, .journal, .channels, .network, .apple, .forms, .formsPage, .catalogues,
        .chains,
        .workers,
        .schedules, .reminders, .taps, .notices, .noticeSettings, .server, .presence, .log, .http,
        .access, .accounts, .cluster, .push, .tool,
    ]

    func run() throws {
        var reference = Reference()
        reference.limits = Self.limits
        reference.metrics = ServerMetric.allCases.map(\.reference)
        reference.errors =
            RepriseError.Code.Known.allCases.map(\.reference)
            + ChainsErrorCode.allCases.map(\.reference)
        reference.refusals = RefusalCode.Known.allCases.map(\.reference)
        reference.closes = CloseCode.Known.allCases.map(\.reference)
        reference.exits = ExitStatus.allCases.map(\.reference)
        print(try reference.json())
    }
}
