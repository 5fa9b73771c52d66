import Foundation
package import GRDB
package import RepriseCore
import RepriseJournal

/// What the door writes down: marks, and for people the plan, the survey and the decisions.
package struct ReminderDesk: Sendable {
    let journal: Journal

    // MARK: Marks

    func marks() async throws -> [ReminderMark] {
        try await journal.read { db in try Self.marks(db) }
    }

    /// Those that can be read: one broken row rings nothing, and stops nobody.
    package static func marks(_ db: Database) throws -> [ReminderMark] {
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
                let until = Int64.fromDatabaseValue(row[4]),
                let what = what(String.fromDatabaseValue(row[3]), String.fromDatabaseValue(row[5]))
            else { return nil }
            return ReminderMark(
                entity: entity, reminder: reminder, occurrence: occurrence, what: what,
                until: WallTime(milliseconds: until),
                said: Int64.fromDatabaseValue(row[6]).map(WallTime.init(milliseconds:)))
        }
    }

    private static func what(_ name: String?, _ json: String?) -> ReminderMark.What? {
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

    /// Writes a mark in a transaction that is under way; one about the same occurrence is replaced.
    ///
    /// The last word counts, by when it was said: a day that is skipped ends the snoozes of before
    /// that would ring on it, and a snooze that comes to be written after such a skip has ended
    /// already. Where there is no room, skips of days that are over make some.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.full`; a `DatabaseError` for the caller to let
    ///   pass.
    package static func mark(_ mark: ReminderMark, in db: Database, at now: WallTime) throws {
        guard try isRoom(in: db) || makesRoom(in: db, at: now) else {
            throw RepriseError(
                .full, "\(ReminderDoorLimits.marks) snoozes and skips are kept already.",
                remedy: "Wait until some of them are over.")
        }
        guard try isLastWord(mark, in: db) else { return }
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

    /// Whether nothing was said since that speaks against it.
    private static func isLastWord(_ mark: ReminderMark, in db: Database) throws -> Bool {
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

    private static func endSnoozes(on day: ReminderMark, in db: Database) throws {
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
        return count < ReminderDoorLimits.marks
    }

    private static func makesRoom(in db: Database, at now: WallTime) throws -> Bool {
        try db.execute(
            sql: "DELETE FROM reminderMark WHERE what = 'skip' AND until <= ?",
            arguments: [now.milliseconds])
        return try isRoom(in: db)
    }

    /// Takes marks back.
    package static func unmark(_ marks: [ReminderMark], in db: Database) throws {
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

    /// Writes down what differs from what is there; nothing is written if nothing does.
    func write(_ record: SurveyRecord) async throws {
        let isNews = try await journal.read { db in try ReminderNews(record, beside: db) }
        guard !isNews.isEmpty else { return }
        try await journal.write { db in try Self.write(record, in: db) }
    }

    package static func write(_ record: SurveyRecord, in db: Database) throws {
        try ReminderNews(record, beside: db).write(in: db)
    }
}
