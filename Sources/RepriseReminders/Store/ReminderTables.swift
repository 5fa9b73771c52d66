import GRDB
import RepriseCore
import RepriseJournal

/// How plans, marks and routes lie in the journal.
enum ReminderTables {
    static let first = """
        -- What a person said about one occurrence: ring later, or not at all. Also test reminders, which are snoozes of nothing.
        CREATE TABLE reminderMark (
            entity TEXT NOT NULL,
            reminder TEXT NOT NULL,
            -- As in Occurrence.local; of a skip a day alone: what is left of it. Then the reminder may be empty: all of the entity.
            occurrence TEXT NOT NULL,
            -- snooze, skip, test
            what TEXT NOT NULL,
            -- When it rings; for a skip, when its day is over. It is kept for a week after that.
            until INTEGER NOT NULL,
            -- A test's reminder as JSON, which is in no store.
            reminderJSON TEXT,
            PRIMARY KEY (entity, reminder, occurrence)
        ) STRICT, WITHOUT ROWID;

        -- For people: what should be pending and what is, as of the last reconciliation.
        CREATE TABLE reminderPlan (
            id TEXT PRIMARY KEY,
            entity TEXT NOT NULL,
            reminder TEXT NOT NULL,
            title TEXT NOT NULL,
            at INTEGER NOT NULL,
            -- The wall clock's time when it rings, and whose.
            local TEXT NOT NULL,
            zone TEXT NOT NULL,
            -- pending: the system has it. missing: it should have. extra: it has and should not. refused: it would not take it.
            -- beyond: one of the next, for which there is no place.
            status TEXT NOT NULL,
            reason TEXT
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE reminderSurvey (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            at INTEGER NOT NULL,
            cause TEXT NOT NULL,
            permission TEXT NOT NULL,
            zone TEXT NOT NULL,
            entities INTEGER NOT NULL,
            reminders INTEGER NOT NULL,
            -- Until then everything rings that should, without the app being opened; NULL: for ever.
            guaranteedUntil INTEGER,
            fault TEXT
        ) STRICT;

        -- Every change that was made or refused, and why; the newest 2,000.
        CREATE TABLE reminderDecision (
            seq INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            -- add, replace, remove, removeDelivered, refused, skipped, invalid
            what TEXT NOT NULL,
            request TEXT NOT NULL,
            entity TEXT,
            reason TEXT NOT NULL
        ) STRICT;

        -- What taps, actions and links turned out to be; as long as their entries are kept.
        CREATE TABLE reminderRoute (
            entry TEXT PRIMARY KEY,
            at INTEGER NOT NULL,
            -- tap, action, link, app
            source TEXT NOT NULL,
            -- The route as JSON; NULL: there was none.
            route TEXT,
            action TEXT,
            -- active, paused, deleted, missing, superseded, malformed; NULL: not resolved yet
            resolution TEXT,
            reason TEXT,
            resolved INTEGER,
            handed INTEGER NOT NULL DEFAULT 0,
            presented INTEGER
        ) STRICT, WITHOUT ROWID;
        """

    /// A snooze and a skip may be written in another order than they were said in: an action waits
    /// for the app's store.
    static let second = "ALTER TABLE reminderMark ADD COLUMN said INTEGER"

    /// - Returns: whether more rows remain.
    static func prune(_ db: Database, at now: WallTime) throws -> Bool {
        try db.execute(
            sql: """
                DELETE FROM reminderMark
                WHERE until <= ?1 OR (what = 'test' AND until <= ?2)
                """,
            arguments: [
                now.advanced(by: .seconds(-ReminderEngineLimits.skipSeconds)).milliseconds,
                now.advanced(by: .seconds(-86_400)).milliseconds,
            ])
        try db.execute(
            sql: """
                DELETE FROM reminderDecision
                WHERE seq <= (SELECT MAX(seq) FROM reminderDecision) - ?
                """, arguments: [ReminderEngineLimits.decisions])
        try db.execute(
            sql: """
                DELETE FROM reminderRoute WHERE entry IN (
                    SELECT r.entry FROM reminderRoute AS r
                    LEFT JOIN entry AS e ON e.id = r.entry
                    WHERE e.id IS NULL LIMIT 500)
                """)
        return db.changesCount == 500
    }

    /// Moves snoozes with a calendar step, so that they keep their length.
    ///
    /// A skipped day stays that day; the order of overrides is kept.
    static func calendarMoved(_ db: Database, by step: Duration) throws {
        let most: Int64 = 4_000_000_000_000_000_000
        let readable = try JournalSchema.readable("reminderMark", db)
        try db.execute(
            sql: """
                UPDATE reminderMark SET said = MAX(MIN(said, ?1), -?1) + ?2,
                until = iif(what = 'skip', until, MAX(MIN(until, ?1), -?1) + ?2)
                WHERE \(readable)
                """, arguments: [most, max(min(step.milliseconds, most), -most)])
    }
}
