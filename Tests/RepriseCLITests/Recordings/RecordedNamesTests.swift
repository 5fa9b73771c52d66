import Foundation
import RepriseChains
import RepriseChannels
import RepriseCore
import RepriseForms
import RepriseNotices
import RepriseReminders
import RepriseServer
import RepriseSimulator
import RepriseWire
import Testing

@testable import RepriseCLI

@Suite("Names that programs and files depend on")
struct RecordedNamesTests {
    private static func line<Value: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Value.Type
    ) -> String {
        name + ": " + type.allCases.map { "\($0.rawValue)" }.joined(separator: " ")
    }

    @Test("what is stored or printed by its raw value is spelt as it was")
    func rawValues() throws {
        try Recording(name: "raw-values.txt").check([
            Self.line("outcome of an entry", Outcome.self),
            Self.line("state of an entity", Entity.State.self),
            Self.line("reason that a message is gone", Gone.Reason.self),
            Self.line("reason of a decision about a notice", NoticeDecision.Reason.self),
            Self.line("kind of a push", PushHint.Kind.self),
            Self.line("source of a notice", Notice.Source.self),
            Self.line("what is shown of a notice", NoticeState.Shown.self),
            Self.line("state of a chain", ChainState.self),
            Self.line("state of a task", TaskState.self),
            Self.line("state of a compensation", CompensationState.self),
            Self.line("state of a notice", NoticeMachine.Status.self),
            Self.line("way of a notice", NoticeMachine.Way.self),
            Self.line("app's state of availability", NoticeAvailability.AppState.self),
            Self.line("way of availability", NoticeAvailability.Way.self),
            Self.line("decider of availability", NoticeAvailability.Decider.self),
            Self.line("ending of an event for a form", FormsTally.Ending.self),
            Self.line("cause of a reconciliation", ReconciliationCause.self),
            Self.line("source of a route", RoutedTap.Source.self),
            Self.line("day of the week", Weekday.self),
            Self.line("authorization", NotificationSettings.Authorization.self),
            Self.line("interruption", NotificationContent.Interruption.self),
            Self.line("push service", PushService.self),
            Self.line("reason to drop a push", PushDrop.self),
            Self.line("outcome of forms", FormsOutcome.self),
            Self.line("visibility of a channel", ChannelSettings.Visibility.self),
            Self.line("history of a channel", ChannelSettings.History.self),
            Self.line("role of a member", Member.Role.self),
            Self.line("scenario of the demo", DemoCommand.Scenario.self),
            Self.line("algorithm for reminders", RemindersAlgorithm.self),
            Self.line("algorithm for forms", FormsAlgorithm.self),
            Self.line("algorithm for chains", ChainsAlgorithm.self),
            Self.line("algorithm for notices", NoticesAlgorithm.self),
            Self.line("mutation of the simulation", Mutation.self),
            "kinds of notices: \(Notices.kinds().map(\.name).sorted())",
            "kinds of channels: \(Channels.kinds.map(\.name).sorted())",
            "kinds of forms: \(Forms.kinds(Forms.Configuration()).map(\.name).sorted())",
            "kinds of reminders: \(Reminders.kinds(Reminders.Configuration()).map(\.name).sorted())",
            "kinds of chains: \(Chains.kinds(Chains.Configuration()).map(\.name).sorted())",
        ])
    }

    @Test("every error code, and the exit status that the tool makes of it")
    func codes() throws {
        let codes: [RepriseError.Code] = [
            .journalOwned, .ownershipLost, .journalNewer, .notAJournal, .notWritable, .diskFull,
            .diskFailed, .busy, .corrupt, .closed, .unknownKind, .noSuchEntry, .tooLarge, .full,
            .malformed, .badChannelName, .badID, .badConfiguration, .unreachable, .notReprise,
            .refused, .untrusted, .unauthorized, .tokenExpired, .forbidden, .wrongUser, .timedOut,
            .portInUse, .unavailable, .badAddress, .duplicateReader, .duplicateChain,
        ]
        let ends = (0...255).compactMap { ExitStatus(rawValue: Int32($0))?.rawValue }
        try Recording(name: "codes.txt").check(
            codes.map { "\($0.name) \(ExitStatus($0).rawValue)" } + ends.map { "exit \($0)" })
    }
}
