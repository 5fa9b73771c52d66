import GRDB
import RepriseCore
public import RepriseJournal

extension Forms {
    /// The tables of this feature, for `Journal.open` and for reading the ledger of a foreign
    /// journal.
    public static let schema = JournalSchema(
        name: "forms",
        migrations: [{ db in try db.execute(sql: FormsTables.first) }],
        recover: { db, _ in try FormsTables.forgive(db) },
        prune: { db, now in try FormsTables.prune(db, at: now) },
        calendarMoved: { db, step in
            // Ages of showings do not change when the calendar is set.
            try db.execute(
                sql: """
                    UPDATE formsShowing
                    SET granted = MAX(MIN(granted, 4000000000000000000), -4000000000000000000) + ?
                    """,
                arguments: [
                    max(
                        min(step.milliseconds, 4_000_000_000_000_000_000),
                        -4_000_000_000_000_000_000)
                ])
        })
}

/// How catalogues and showings lie in the journal.
enum FormsTables {
    static let first = """
        -- What was fetched last, for a start without a network.
        CREATE TABLE formsCatalogue (
            company TEXT PRIMARY KEY,
            version TEXT NOT NULL,
            etag TEXT,
            -- Showings are kept for so many seconds: the longest time over which this catalogue counts.
            longest INTEGER NOT NULL,
            bytes BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- Written before the page shows anything. How often a form was shown is a question to this table.
        CREATE TABLE formsShowing (
            id TEXT PRIMARY KEY,
            entry TEXT NOT NULL,
            form TEXT NOT NULL,
            granted INTEGER NOT NULL,
            appeared INTEGER,
            dismissed INTEGER,
            how TEXT
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX formsShowingGranted ON formsShowing(granted);
        CREATE INDEX formsShowingForm ON formsShowing(form, granted);
        CREATE INDEX formsShowingEntry ON formsShowing(entry) WHERE appeared IS NULL;

        CREATE TABLE formsIdentity (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            user TEXT,
            company TEXT
        ) STRICT;
        INSERT INTO formsIdentity VALUES (1, NULL, NULL);
        """

    /// An event that was only dispatched to a page has shown nothing: its outcome is certain.
    static func forgive(_ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE entry SET interrupted = 0, interruptions = 0
                WHERE state < 3 AND interruptions > 0
                AND (kind = 'forms' OR substr(kind, 1, 6) = 'forms.')
                AND NOT EXISTS
                    (SELECT 1 FROM formsShowing AS s WHERE s.entry = entry.id AND appeared IS NULL)
                """)
    }

    /// - Returns: whether more rows remain.
    static func prune(_ db: Database, at now: WallTime) throws -> Bool {
        let longest = try Int64.fetchOne(db, sql: "SELECT MAX(longest) FROM formsCatalogue") ?? 0
        let kept = max(.seconds(longest), FormsEngineLimits.showingsKept)
        try db.execute(
            sql: """
                DELETE FROM formsShowing WHERE id IN (
                    SELECT s.id FROM formsShowing AS s
                    LEFT JOIN entry AS e ON e.id = s.entry AND e.state < 10
                    WHERE s.granted <= ? AND e.id IS NULL LIMIT 500)
                """, arguments: [now.advanced(by: .zero - kept).milliseconds])
        return db.changesCount == 500
    }
}
