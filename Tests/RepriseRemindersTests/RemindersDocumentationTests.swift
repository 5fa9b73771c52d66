import Foundation
import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

/// The example that docs/reminders.md begins with: it is here word for word, so it compiles, and it
/// is played.
@Suite("The documentation of reminders")
struct RemindersDocumentationTests {
    /// What the screen showed.
    private actor Screen {
        private(set) var shown: [String] = []

        func show(_ what: String) { shown.append(what) }
    }

    private struct NoDialer: SocketDialer {
        func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws -> any Socket
        {
            throw RepriseError(.unreachable, "No network.")
        }
    }

    private func start(
        at folder: URL, server: String, dialer: any SocketDialer, goals: any ReminderStore,
        notifications: any UserNotifications, scheduler: (any BackgroundScheduler)?,
        screen: Screen
    ) async throws -> AccountClient {
        // The example.
        var settings = Reminders.Configuration()
        settings.actions = [
            ReminderActionRule(
                "later", category: "goal", title: "In 10 minutes", does: .snooze(.seconds(600))),
            ReminderActionRule(
                "log", category: "goal", title: "Answer…", does: .log, asksForText: true),
        ]
        var configuration = AccountClient.Configuration()
        configuration.reminders = settings
        let reprise = try await AccountClient.open(
            at: folder, server: server, dialer: dialer, configuration: configuration)
        guard let reminders = reprise.reminders else { return reprise }
        try await notifications.setCategories(settings.categories)

        Task {  // What should ring follows the app's store, as long as this runs.
            try await reminders.run(
                store: goals, notifications: notifications, scheduler: scheduler)
        }
        Task {  // What people tap comes here, when the store is loaded and `ui` is open.
            for await tap in reminders.routes {
                switch tap.resolution {
                case .active(let goal, .whole): await screen.show("\(goal.title)")
                case .active(let goal, .part(let question)):
                    await screen.show("\(goal.title): \(question.title)")
                case .active(let goal, .partGone):
                    await screen.show("\(goal.title). This question is no more.")
                case .paused(let goal): await screen.show("\(goal.title) is \(goal.state).")
                case .deleted: await screen.show("It was deleted.")
                case .superseded(let goal): await screen.show("\(goal.title)")
                case .missing, .malformed: await screen.show("It is not here.")
                }
                try await tap.presented()  // durable when it returns: never dispatched again
            }
        }
        // The end of the example.
        return reprise
    }

    @Test("The example of the documentation is the one that is compiled here")
    func isTheSame() throws {
        let here = URL(fileURLWithPath: #filePath)
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appendingPathComponent("docs/reminders.md"), encoding: .utf8)
        let source = try String(contentsOf: here, encoding: .utf8)
        let example = try #require(source.between("// The example.\n", "        // The end of"))
        let lines = example.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("        ") ? String($0.dropFirst(8)) : String($0) }
        #expect(page.between("```swift\n", "```") == lines.joined(separator: "\n"))
    }

    @Test("The example rings, and a tap comes to its screen")
    func works() async throws {
        let stage = try RemindersFixture()
        let screen = Screen()
        // By the device's own clock, which the stage's is ahead of: the time is to come by both.
        let schedule = Schedule(.daily, at: [TimeOfDay(9, 0)], start: LocalDate(2028, 1, 1))
        stage.store.put("a", [Reminder(id: "x", schedule: schedule, title: "Read")])
        let reprise = try await start(
            at: stage.folder.appending("home"), server: "http://127.0.0.1:1", dialer: NoDialer(),
            goals: stage.store, notifications: stage.system.connect(), scheduler: nil,
            screen: screen)
        let reminders = try #require(reprise.reminders)
        try await eventually("it is planned") { stage.system.pending.count == 60 }
        let request = try #require(stage.system.pending.first)
        let tap = DeliveredNotification(
            request: request, date: WallTime(milliseconds: 0), isRemote: false)
        let id = try await reminders.received(NotificationResponse(notification: tap))
        #expect(await screen.shown.isEmpty)
        await reprise.setReady(.ui)
        try await eventually("it is shown") {
            try await reprise.journal.entry(id)?.state == .finished(.applied)
        }
        #expect(await screen.shown == ["a"])
        await reprise.close()
    }
}

extension String {
    /// What stands between the first of one and the next of another.
    fileprivate func between(_ start: String, _ end: String) -> String? {
        guard let from = range(of: start),
            let to = range(of: end, range: from.upperBound..<endIndex)
        else { return nil }
        return String(self[from.upperBound..<to.lowerBound])
    }
}
