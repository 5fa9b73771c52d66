import Foundation
import RepriseChains
import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseForms
import RepriseNotices
import RepriseReminders
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@testable import RepriseCLI

@Suite("Names that programs and files depend on")
struct RecordedNamesTests {
    @Test("raw values that are stored or printed have their recorded spelling")
    func rawValues() throws {
        try Recording(name: "raw-values.txt").check([
            Recording.line("outcome of an entry", Outcome.self),
            Recording.line("state of an entity", Entity.State.self),
            Recording.line("reason that a message is gone", Gone.Reason.self),
            Recording.line("reason of a decision about a notice", NoticeDecision.Reason.self),
            Recording.line("kind of a push", PushHint.Kind.self),
            Recording.line("source of a notice", Notice.Source.self),
            Recording.line("what is shown of a notice", NoticeState.Shown.self),
            Recording.line("state of a chain", ChainState.self),
            Recording.line("state of a task", TaskState.self),
            Recording.line("state of a compensation", CompensationState.self),
            Recording.line("state of a notice", NoticeMachine.Status.self),
            Recording.line("way of a notice", NoticeMachine.Way.self),
            Recording.line("app's state of availability", NoticeAvailability.AppState.self),
            Recording.line("way of availability", NoticeAvailability.Way.self),
            Recording.line("decider of availability", NoticeAvailability.Decider.self),
            Recording.line("ending of an event for a form", FormsTally.Ending.self),
            Recording.line("cause of a reconciliation", ReconciliationCause.self),
            Recording.line("source of a route", RoutedTap.Source.self),
            Recording.line("day of the week", Weekday.self),
            Recording.line("authorization", NotificationSettings.Authorization.self),
            Recording.line("interruption", NotificationContent.Interruption.self),
            Recording.line("push service", PushService.self),
            Recording.line("reason to drop a push", PushDrop.self),
            Recording.line("outcome of forms", FormsOutcome.self),
            Recording.line("visibility of a channel", ChannelSettings.Visibility.self),
            Recording.line("history of a channel", ChannelSettings.History.self),
            Recording.line("role of a member", Member.Role.self),
            "kinds of notices: \(Notices.kinds().map(\.name).sorted())",
            "kinds of channels: \(Channels.kinds.map(\.name).sorted())",
            "kinds of forms: \(Forms.kinds(Forms.Configuration()).map(\.name).sorted())",
            "kinds of reminders: \(Reminders.kinds(Reminders.Configuration()).map(\.name).sorted())",
            "kinds of chains: \(Chains.kinds(Chains.Configuration()).map(\.name).sorted())",
        ])
    }

    @Test("every error code, and the exit status that the tool makes of it")
    func codes() throws {
        let codes = RepriseError.Code.Known.allCases.map { RepriseError.Code($0.rawValue) }
        let ends = (0...255).compactMap { ExitStatus(rawValue: Int32($0))?.rawValue }
        try Recording(name: "codes.txt").check(
            codes.map { "\($0.name) \(ExitStatus($0).rawValue)" } + ends.map { "exit \($0)" })
    }
}
