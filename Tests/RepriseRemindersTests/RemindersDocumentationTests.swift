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
        at folder: URL, goals: any ReminderStore, notifications: any UserNotifications,
        screen: Screen
    ) async throws -> RepriseClient {
        var configuration = RepriseConfiguration(server: "http://127.0.0.1:1")
        configuration.folder = folder
        configuration.dialer = NoDialer()
        // The example.
        configuration.reminders = Reminders.Configuration(store: goals)
        configuration.reminders?.actions = [
            ReminderActionRule(
                "later", category: "goal", title: "In 10 minutes", does: .snooze(.seconds(600))),
            ReminderActionRule(
                "log", category: "goal", title: "Answer…", does: .log, asksForText: true),
        ]
        configuration.notifications = notifications  // SystemNotifications()
        let client = RepriseClient(configuration)
        try await notifications.setCategories(configuration.reminders?.categories ?? [])

        Task { try await client.run() }  // what should ring follows the store, as long as this runs
        Task {  // What people tap comes here, when the store is loaded and `ui` is set.
            for await tap in client.reminderTaps {
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
        return client
    }

    @Test("The example of the documentation is the one that is compiled here")
    func isTheSame() throws {
        let here = URL(fileURLWithPath: #filePath)
        let page = try String(
            contentsOf: Command.root.appending(path: "docs/reminders.md"), encoding: .utf8)
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
        let client = try await start(
            at: stage.folder.appending("home"), goals: stage.store,
            notifications: stage.system.connect(), screen: screen)
        try await eventually("it is planned") { stage.system.pending.count == 60 }
        let request = try #require(stage.system.pending.first)
        let tap = DeliveredNotification(
            request: request, date: WallTime(milliseconds: 0), isRemote: false)
        let response = NotificationResponse(notification: tap)
        try await client.received(response)
        #expect(await screen.shown.isEmpty)
        await client.setReady(.ui)
        try await eventually("it is shown") {
            try await client.journal.entry(response.tapID)?.state == .finished(.applied)
        }
        #expect(await screen.shown == ["a"])
        await client.close()
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
