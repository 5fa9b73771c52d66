import GRDB
package import RepriseCore
public import RepriseJournal

/// The door for reminders: notifications that ring when they should, and taps on them that land where they should.
///
/// The facade makes one; see `Reprise`.
public final class Reminders: Sendable {
    let journal: Journal
    let configuration: Configuration

    /// What can be set about reminders.
    public struct Configuration: Sendable {
        /// What sort of entity is reminded of, as in ``RepriseCore/Route/sort``.
        public var sort = "goal"

        package var timekeeper: any Timekeeper = SystemTimekeeper()

        /// The defaults.
        public init() {}

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
        package func check() throws {}
    }

    /// The kinds of entries that this door records, for `Journal.open`.
    package static func kinds(_ configuration: Configuration = Configuration()) -> [EntryKind] {
        [
            EntryKind(ReminderKinds.route, requires: [.store, .ui], parallel: 8),
            EntryKind(ReminderKinds.action, requires: [.store], parallel: 8),
        ]
    }

    /// Makes the door over a journal that was opened with ``kinds(_:)`` and ``schema``.
    package init(journal: Journal, configuration: Configuration = Configuration()) {
        self.journal = journal
        self.configuration = configuration
    }

    /// The tables of this door, for `Journal.open` and for reading the ledger of a journal that somebody else owns.
    public static let schema = JournalSchema(
        name: "reminders",
        migrations: [{ db in try db.execute(sql: ReminderTables.first) }])
}

/// The names of this door's kinds of entries.
package enum ReminderKinds {
    /// A tap, or a link: handed to the app's screen.
    package static let route = "reminders-route"
    /// An action of a notification: done without the app's screen.
    package static let action = "reminders-action"
}
