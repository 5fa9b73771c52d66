import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Testing

/// The routing half of the door over a real journal, which can be killed and opened again; a test
/// opens `store` and `ui` itself.
final class RoutingFixture: Sendable {
    let journal: Journal
    let reminders: Reminders

    init(
        in folder: TemporaryFolder, _ store: (any ReminderStore)?,
        timekeeper: (any Timekeeper)? = nil,
        ui: Bool = true, actionTimeout: Duration = .zero,
        _ change: (inout Reminders.Configuration) -> Void = { _ in }
    ) async throws {
        var configuration = Reminders.Configuration()
        var settings = Journal.Configuration()
        settings.closeGrace = .milliseconds(50)
        if let timekeeper {
            configuration.timekeeper = timekeeper
            settings.timekeeper = timekeeper
        }
        change(&configuration)
        try configuration.check()
        journal = try await Journal.open(
            at: folder.appending("journal"), kinds: Reminders.kinds(configuration),
            schemas: [Reminders.schema], configuration: settings)
        await journal.setReady(.journal)
        // Most tests look at the record first, and wait for the effect themselves.
        reminders = Reminders(
            journal: journal, configuration: configuration, actionTimeout: actionTimeout)
        guard let store else { return }
        await reminders.routingStarted(store)
        await journal.setReady(.store)
        if ui { await journal.setReady(.ui) }
    }

    func entry(_ id: EntryID) async throws -> Entry? { try await journal.entry(id) }

    func ended(_ id: EntryID, _ outcome: Outcome, _ reason: String) async throws {
        try await eventually("\(id) ends as \(outcome): \(reason)") {
            let entry = try await journal.entry(id)
            return entry?.state == .finished(outcome) && entry?.reason?.hasPrefix(reason) == true
        }
    }

    func marks() async throws -> [String] {
        try await journal.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT entity || ' ' || reminder || ' ' || occurrence || ' ' || what || ' '
                    || until FROM reminderMark ORDER BY 1
                    """)
        }
    }

    func route(_ id: EntryID) async throws -> (resolution: String?, handed: Int, presented: Bool) {
        try await journal.read { db in
            let row = try Row.fetchOne(
                db,
                sql: "SELECT resolution, handed, presented FROM reminderRoute WHERE entry = ?",
                arguments: [id.text])
            let presented = row.flatMap { Int64.fromDatabaseValue($0["presented"]) }
            return (
                row.flatMap { String.fromDatabaseValue($0["resolution"]) },
                row.flatMap { Int.fromDatabaseValue($0["handed"]) } ?? -1, presented != nil
            )
        }
    }

    /// Ends as a process does that is killed: nothing is written any more, and nobody knows what
    /// was in hand.
    func kill() async throws {
        try await journal.write { db in
            try db.execute(sql: "UPDATE journal SET incarnation = incarnation + 1")
        }
        await journal.close()
    }
}
