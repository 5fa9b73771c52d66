import Foundation
package import GRDB
package import RepriseCore
import RepriseJournal

/// Persistent state of the feature: overrides, and for diagnostics the plan, the reconciliation and
/// the decisions.
package struct ReminderPlanStore: Sendable {
    let journal: Journal

    // MARK: Marks

    func marks() async throws -> [ReminderOverride] {
        try await journal.read { db in try Self.marks(db) }
    }

    /// The readable ones: a broken row is left out and does not affect the others.
    package static func marks(_ db: Database) throws -> [ReminderOverride] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT entity, reminder, occurrence, what, until, reminderJSON, said
                FROM reminderMark
                ORDER BY entity, reminder, occurrence
                """
        ).compactMap { row in
            guard let entity = String.fromDatabaseValue(row[0]),
                let reminder = String.fromDatabaseValue(row[1]),
                let occurrence = String.fromDatabaseValue(row[2]),
                let until = Int64.fromDatabaseValue(row[4]).map(WallTime.init(milliseconds:)),
                ReminderOverride.times.contains(until),
                let what = what(String.fromDatabaseValue(row[3]), String.fromDatabaseValue(row[5]))
            else { return nil }
            return ReminderOverride(
                entity: entity, reminder: reminder, occurrence: occurrence, what: what,
                until: until,
                said: Int64.fromDatabaseValue(row[6]).map(WallTime.init(milliseconds:)))
        }
    }

    private static func what(_ name: String?, _ json: String?) -> ReminderOverride.What? {
        switch name {
        case "snooze": return .snooze
        case "skip": return .skip
        case "test":
            guard let json = json?.data(using: .utf8),
                let reminder = try? JSONDecoder().decode(Reminder.self, from: json)
            else { return nil }
            return .test(reminder)
        default: return nil
        }
    }

    /// Writes an override within a transaction; replaces one of the same occurrence.
    ///
    /// The last override wins, by the time it was made: a skipped day ends earlier snoozes that
    /// would ring on it, and a snooze written after a later such skip has already ended. When full,
    /// skips of past days and snoozes that have rung are removed. A snooze that is written after
    /// its time leaves the occurrence its own.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.full`; a `DatabaseError`, which the caller must
    ///   rethrow.
    package static func mark(_ mark: ReminderOverride, in db: Database, at now: WallTime) throws {
        guard try isRoom(in: db) || makesRoom(in: db, at: now) else {
            throw RepriseError(
                .full, "\(ReminderEngineLimits.marks) snoozes and skips are kept already.",
                remedy: "Wait until some of them are over.")
        }
        guard try isLastWord(mark, in: db) else { return }
        guard mark.what != .snooze || mark.rings > now else { return try remove(mark.key, in: db) }
        if mark.isOfDay { try endSnoozes(on: mark, in: db) }
        var json: String?
        let what: String
        switch mark.what {
        case .snooze: what = "snooze"
        case .skip: what = "skip"
        case .test(let reminder):
            what = "test"
            json = String(decoding: try JSONEncoder().encode(reminder), as: UTF8.self)
        }
        try db.execute(
            sql: "INSERT OR REPLACE INTO reminderMark VALUES (?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                mark.entity, mark.reminder, mark.occurrence, what, mark.until.milliseconds, json,
                mark.said?.milliseconds,
            ])
    }

    /// Whether no later override contradicts it.
    private static func isLastWord(_ mark: ReminderOverride, in db: Database) throws -> Bool {
        guard let said = mark.said else { return true }
        return try Int.fetchOne(
            db,
            sql: """
                SELECT 1 FROM reminderMark WHERE entity = ?1 AND said > ?2 AND (
                    (reminder = ?3 AND occurrence = ?4)
                    OR (?5 AND what = 'skip' AND instr(occurrence, 'T') = 0
                        AND reminder IN ('', ?3) AND until > ?6))
                LIMIT 1
                """,
            arguments: [
                mark.entity, said.milliseconds, mark.reminder, mark.occurrence,
                mark.what == .snooze, mark.until.milliseconds,
            ]) == nil
    }

    private static func remove(_ key: ReminderOverride.Key, in db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM reminderMark WHERE entity = ? AND reminder = ? AND occurrence = ?
                """, arguments: [key.entity, key.reminder, key.occurrence])
    }

    private static func endSnoozes(on day: ReminderOverride, in db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM reminderMark WHERE what = 'snooze' AND entity = ?1
                AND (?2 = '' OR reminder = ?2) AND until < ?3
                AND (said IS NULL OR ?4 IS NULL OR said <= ?4)
                """,
            arguments: [
                day.entity, day.reminder, day.until.milliseconds, day.said?.milliseconds,
            ])
    }

    private static func isRoom(in db: Database) throws -> Bool {
        let count = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM reminderMark") ?? 0
        return count < ReminderEngineLimits.marks
    }

    private static func makesRoom(in db: Database, at now: WallTime) throws -> Bool {
        try db.execute(
            sql: "DELETE FROM reminderMark WHERE what <> 'test' AND until <= ?",
            arguments: [now.milliseconds])
        return try isRoom(in: db)
    }

    /// Takes marks back.
    package static func unmark(_ marks: [ReminderOverride], in db: Database) throws {
        for mark in marks {
            try db.execute(
                sql: """
                    DELETE FROM reminderMark
                    WHERE entity = ? AND reminder = ? AND occurrence = ? AND until = ?
                    """,
                arguments: [
                    mark.entity, mark.reminder, mark.occurrence, mark.until.milliseconds,
                ])
        }
    }

    // MARK: For people

    /// Writes the difference to the stored record; nothing if they are equal.
    func write(_ record: ReconciliationRecord) async throws {
        let isNews = try await journal.read { db in try ReminderEvent(record, beside: db) }
        guard !isNews.isEmpty else { return }
        try await journal.write { db in try Self.write(record, in: db) }
    }

    package static func write(_ record: ReconciliationRecord, in db: Database) throws {
        try ReminderEvent(record, beside: db).write(in: db)
    }
}
