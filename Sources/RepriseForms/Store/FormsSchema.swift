import GRDB
import RepriseCore
public import RepriseJournal

extension Forms {
    /// The tables of this feature, for `Journal.open` and for reading the ledger of a foreign
    /// journal.
    public static let schema: JournalSchema = {
        var schema = JournalSchema(
            name: "forms",
            migrations: [
                { db in try db.execute(sql: FormsTables.first) },
                { db in try db.execute(sql: FormsTables.second) },
            ],
            recover: { db, _ in try FormsTables.forgive(db) },
            prune: { db, now in try FormsTables.prune(db, at: now) },
            calendarMoved: { db, step in
                // Ages do not change when the calendar is set.
                try JournalSchema.move(
                    ["formsShowing": ["granted"], "formsPast": ["last"]], db, by: step)
            })
        schema.observes = FormsEvent.family
        schema.recorded = { db, payload, time in
            guard let content = try? EventContent(payload: payload) else { return }
            try FormsTables.count(content.name, at: time, db)
        }
        return schema
    }()
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

    /// Attributes, counts and decisions: what conditions are compared with, and why a form did not
    /// come.
    ///
    /// Events are counted as they enter the journal, whichever way they come: see
    /// ``JournalSchema/recorded``.
    static let second = """
        CREATE TABLE formsAttribute (
            name TEXT PRIMARY KEY,
            -- A JSON text, number, true or false.
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE formsPast (
            -- event, or what became of a form: shown, submitted, dismissed
            what TEXT NOT NULL,
            name TEXT NOT NULL,
            count INTEGER NOT NULL,
            last INTEGER NOT NULL,
            PRIMARY KEY (what, name)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX formsPastLast ON formsPast(last);

        -- The newest reason why a form did not come for an event, or not yet.
        CREATE TABLE formsDecision (
            entry TEXT NOT NULL,
            form TEXT NOT NULL,
            at INTEGER NOT NULL,
            until INTEGER,
            reason TEXT NOT NULL,
            PRIMARY KEY (entry, form)
        ) STRICT, WITHOUT ROWID;

        CREATE TRIGGER formsShowingAppeared AFTER UPDATE OF appeared ON formsShowing
        WHEN OLD.appeared IS NULL AND NEW.appeared IS NOT NULL
        BEGIN
            \(counted("'shown'", "NEW.form", "NEW.appeared"))
        END;

        CREATE TRIGGER formsShowingClosed AFTER UPDATE OF dismissed ON formsShowing
        WHEN OLD.dismissed IS NULL AND NEW.how IN ('submitted', 'button', 'escape', 'close')
        BEGIN
            \(counted(
                "CASE NEW.how WHEN 'submitted' THEN 'submitted' ELSE 'dismissed' END", "NEW.form",
                "NEW.dismissed"))
        END;
        """

    /// Counts an event.
    static func count(_ event: String, at time: WallTime, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO formsPast (what, name, count, last) VALUES ('event', ?, 1, ?)
                ON CONFLICT DO UPDATE SET count = count + 1, last = MAX(last, excluded.last)
                """
        ).execute(arguments: [event, time.milliseconds])
    }

    /// Counts one more.
    ///
    /// Not an upsert: the policy of the statement that fires a trigger would replace its own.
    private static func counted(_ what: String, _ name: String, _ at: String) -> String {
        """
        INSERT INTO formsPast SELECT \(what), \(name), 0, \(at)
            WHERE NOT EXISTS
                (SELECT 1 FROM formsPast WHERE what = \(what) AND name = \(name));
        UPDATE formsPast SET count = count + 1, last = MAX(last, \(at))
            WHERE what = \(what) AND name = \(name);
        """
    }

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
        var isMore = db.changesCount == 500
        // Those of longest ago count as never.
        try db.execute(
            sql: """
                DELETE FROM formsPast WHERE last < (
                    SELECT last FROM formsPast ORDER BY last DESC LIMIT 1 OFFSET ?)
                """, arguments: [FormsEngineLimits.pastNames - 1])
        try db.execute(
            sql: """
                DELETE FROM formsDecision WHERE (entry, form) IN (
                    SELECT d.entry, d.form FROM formsDecision AS d
                    LEFT JOIN entry AS e ON e.id = d.entry WHERE e.id IS NULL LIMIT 500)
                """)
        isMore = isMore || db.changesCount == 500
        return isMore
    }
}
