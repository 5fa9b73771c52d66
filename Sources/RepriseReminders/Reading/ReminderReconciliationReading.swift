package import Foundation
import GRDB
package import RepriseCore
package import RepriseJournal

/// The plan and the system's notifications, from the owner's last reconciliation in a journal.
package struct ReminderReconciliationReading: Hashable, Sendable {
    /// The last reconciliation.
    package struct Reconciliation: Hashable, Sendable {
        package var at: WallTime
        /// Why it was made.
        package var cause: String
        /// The permission, as in ``RepriseCore/NotificationSettings/Authorization``.
        package var permission: String
        /// The device's.
        package var zone: String
        package var entities: Int
        package var reminders: Int
        /// Until then everything rings that should, without the app being opened; nil: for ever.
        package var guaranteedUntil: WallTime?
        /// The fault of the last reconciliation.
        package var fault: String?
    }

    /// A notification that should be pending, or is, or has no place.
    package struct Row: Hashable, Sendable, Identifiable {
        package var id: String
        package var entity: String
        package var reminder: String
        package var title: String
        package var at: WallTime
        /// The rule's own time, as in ``RepriseCore/Occurrence/local``.
        package var local: String
        /// The wall-clock time of ``zone`` at which it rings, as in `2026-11-21T07:30`.
        package var wall: String
        package var zone: String
        /// `pending`, `missing`, `extra`, `refused` or `beyond`.
        package var status: String
        package var reason: String?
    }

    /// A change that was made or refused.
    package struct Decision: Hashable, Sendable {
        package var at: WallTime
        package var what: String
        package var request: String
        package var entity: String?
        package var reason: String
    }

    /// Something that a person said about an occurrence.
    package struct Mark: Hashable, Sendable {
        package var entity: String
        package var reminder: String
        package var occurrence: String
        package var what: String
        package var until: WallTime
    }

    /// Nil: none was made yet.
    package var reconciliation: Reconciliation?
    /// Soonest first.
    package var rows: [Row] = []
    package var marks: [Mark] = []
    /// Newest first.
    package var decisions: [Decision] = []

    /// Desired pending notifications.
    package var desired: Int { count("pending") + count("missing") + count("refused") }
    /// The rows where the system differs from the plan.
    package var difference: [Row] {
        rows.filter { ["missing", "extra", "refused"].contains($0.status) }
    }

    /// How many rows have a status.
    package func count(_ status: String) -> Int { rows.count { $0.status == status } }

    /// Reads a journal without disturbing the process that owns it.
    ///
    /// - Parameters:
    ///   - folder: the journal's folder.
    ///   - schemas: of all features.
    ///   - decisions: the number of newest ones to read.
    /// - Returns: the records; empty if the owner has not made its tables yet.
    /// - Throws: as `Journal.peek`.
    package static func read(
        at folder: URL, schemas: [JournalSchema], decisions: Int
    ) throws -> ReminderReconciliationReading {
        try Journal.peek(at: folder, schemas: schemas) { db in
            ReminderReconciliationReading(
                reconciliation: try reconciliation(db), rows: try rows(db), marks: try marks(db),
                decisions: try Self.decisions(db, decisions))
        } ?? ReminderReconciliationReading()
    }

    private static func reconciliation(_ db: Database) throws -> Reconciliation? {
        try StoredRow.fetchOne(db, sql: "SELECT * FROM reminderSurvey").map { row in
            Reconciliation(
                at: time(try row.checked("at")), cause: try row.checked("cause"),
                permission: try row.checked("permission"), zone: try row.checked("zone"),
                entities: try row.checked("entities"), reminders: try row.checked("reminders"),
                guaranteedUntil: (try row.checked("guaranteedUntil") as Int64?).map(time),
                fault: try row.checked("fault"))
        }
    }

    private static func rows(_ db: Database) throws -> [Row] {
        try StoredRow.fetchAll(
            db, sql: "SELECT * FROM reminderPlan ORDER BY at, entity, reminder, id"
        )
        .map { row in
            let at = time(try row.checked("at"))
            let zone: String = try row.checked("zone")
            return Row(
                id: try row.checked("id"), entity: try row.checked("entity"),
                reminder: try row.checked("reminder"), title: try row.checked("title"), at: at,
                local: try row.checked("local"), wall: wall(at, zone), zone: zone,
                status: try row.checked("status"), reason: try row.checked("reason"))
        }
    }

    private static func marks(_ db: Database) throws -> [Mark] {
        try StoredRow.fetchAll(
            db,
            sql: """
                SELECT entity, reminder, occurrence, what, until FROM reminderMark
                ORDER BY until, entity, reminder, occurrence
                """
        ).map { row in
            Mark(
                entity: try row.checked("entity"), reminder: try row.checked("reminder"),
                occurrence: try row.checked("occurrence"), what: try row.checked("what"),
                until: time(try row.checked("until")))
        }
    }

    private static func decisions(_ db: Database, _ count: Int) throws -> [Decision] {
        try StoredRow.fetchAll(
            db, sql: "SELECT * FROM reminderDecision ORDER BY seq DESC LIMIT ?",
            arguments: [max(0, count)]
        ).map { row in
            Decision(
                at: time(try row.checked("at")), what: try row.checked("what"),
                request: try row.checked("request"), entity: try row.checked("entity"),
                reason: try row.checked("reason"))
        }
    }

    private static func time(_ milliseconds: Int64) -> WallTime {
        WallTime(milliseconds: milliseconds)
    }

    private static func wall(_ at: WallTime, _ zone: String) -> String {
        let clock = ZoneClock(TimeZone(identifier: zone) ?? .gmt)
        let seconds = at.milliseconds.floored(by: 1_000)
        guard (-62_000_000_000...253_000_000_000).contains(seconds) else { return "never" }
        return Occurrence.text(minutes: (seconds + clock.offset(at: seconds)).floored(by: 60))
    }
}

/// GRDB's, which has the name of ours here.
private typealias StoredRow = GRDB.Row
