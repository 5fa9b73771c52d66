import Foundation
import GRDB
import RepriseCore
public import RepriseJournal

extension Chains {
    /// The tables of this feature, for `Journal.open` and for reading the ledger of a foreign
    /// journal.
    public static let schema = {
        var schema = JournalSchema(
            name: "chains",
            migrations: [
                { db in try db.execute(sql: ChainTables.first) },
                { db in try db.execute(sql: ChainTables.second) },
                { db in try db.execute(sql: ChainTables.third) },
                { db in try db.execute(sql: ChainTables.fourth) },
                { db in try db.execute(sql: ChainTables.fifth) },
                { db in try db.execute(sql: ChainTables.sixth) },
            ],
            recover: { db, _ in try ChainTables.recover(db) },
            ledger: { db in try ChainTables.ledger(db) },
            prune: { db, now in try ChainTables.prune(db, at: now) },
            calendarMoved: { db, step in try ChainTables.move(db, by: step) })
        schema.retentionMoved = { db, step in
            try JournalSchema.move(["chain": ["leaves"]], db, by: step)
        }
        schema.adopt = { source, target in
            try await ChainAdoption.adopt(from: source, into: target)
        }
        return schema
    }()
}

/// The tables of chains.
///
/// A task that should run is an entry of kind `chains`, whose id is in `chainTask.entry`: it runs
/// while that entry is in flight, and waits for another attempt while that is delayed.
enum ChainTables {
    static let first = """
        CREATE TABLE chain (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            -- The definition's name, version and the SHA-256 of its shape for this input.
            definition TEXT NOT NULL,
            version INTEGER NOT NULL,
            hash TEXT NOT NULL,
            -- The unique name that it was started under.
            name TEXT,
            -- ChainState: 0 queued, 1 running, 2 paused, 3 parked, 4 failing, 5 cancelling, 10 succeeded, 11 failed,
            -- 12 cancelled, 13 quarantined.
            state INTEGER NOT NULL,
            -- Why it is parked, failed, cancelled or quarantined.
            reason TEXT,
            input BLOB NOT NULL,
            tasks INTEGER NOT NULL,
            -- ChainConstraints: 1 network, 2 unmetered, 4 charging; and the bytes that must be free.
            needs INTEGER NOT NULL,
            needsBytes INTEGER NOT NULL,
            startedAt INTEGER NOT NULL,
            -- Not before; a delayed start.
            due INTEGER,
            deadline INTEGER,
            endedAt INTEGER,
            -- When it leaves the journal.
            leaves INTEGER
        ) STRICT;
        CREATE INDEX chainOpen ON chain(state, seq) WHERE state < 10;
        CREATE INDEX chainName ON chain(name, seq) WHERE name IS NOT NULL AND state < 10;
        CREATE INDEX chainLeaves ON chain(leaves) WHERE state >= 10;

        CREATE TABLE chainTask (
            chain INTEGER NOT NULL,
            place INTEGER NOT NULL,
            step INTEGER NOT NULL,
            name TEXT NOT NULL,
            -- The worker's identifier; nil: it waits for what `hold` says.
            worker TEXT,
            -- TaskState: 0 blocked, 1 intended, 2 held, 10 succeeded, 11 failed, 12 cancelled.
            state INTEGER NOT NULL,
            -- Of taking its effect back: 0 none, 1 intended, 2 held, 10 undone, 11 failed.
            undo INTEGER NOT NULL DEFAULT 0,
            -- What it is held for: paused, parked, conditions, readiness:NAME, entry:KIND.
            hold TEXT,
            -- The newest entry of the journal when it began to wait for one.
            after INTEGER,
            -- The intent, and how many there were before it.
            entry TEXT,
            round INTEGER NOT NULL DEFAULT 0,
            -- Attempts of the intents before this one, and failures of all.
            attempts INTEGER NOT NULL DEFAULT 0,
            failures INTEGER NOT NULL DEFAULT 0,
            intendedAt INTEGER,
            startedAt INTEGER,
            endedAt INTEGER,
            deadline INTEGER,
            input BLOB,
            -- At most 8 KiB here; what is longer lies in outputs/NAME, with its SHA-256.
            output BLOB,
            outputFile TEXT,
            outputBytes INTEGER,
            outputHash BLOB,
            checkpoint BLOB,
            progress REAL,
            note TEXT,
            error TEXT,
            PRIMARY KEY (chain, place)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX chainTaskHeld ON chainTask(hold, chain) WHERE hold IS NOT NULL;
        CREATE INDEX chainTaskFile ON chainTask(outputFile) WHERE outputFile IS NOT NULL;

        -- What happened, for people: the newest 100 lines of a chain.
        CREATE TABLE chainLog (
            seq INTEGER PRIMARY KEY,
            chain INTEGER NOT NULL,
            place INTEGER,
            at INTEGER NOT NULL,
            line TEXT NOT NULL
        ) STRICT;
        CREATE INDEX chainLogChain ON chainLog(chain, seq);

        -- How chains ended that have left.
        CREATE TABLE chainRetired (
            state INTEGER PRIMARY KEY,
            count INTEGER NOT NULL
        ) STRICT;
        """

    /// A compensation counts its own attempts; a task repeated after its compensation has a new
    /// key.
    static let second = """
        ALTER TABLE chainTask ADD COLUMN undoAttempts INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE chainTask ADD COLUMN takenBack INTEGER NOT NULL DEFAULT 0;
        """

    /// The input of a compensation is stored beside that of its task.
    ///
    /// Before, it replaced that: of those rows the task's own input is unknown.
    static let third = """
        ALTER TABLE chainTask ADD COLUMN undoInput BLOB;
        UPDATE chainTask SET undoInput = input, input = NULL WHERE undo <> 0;
        """

    /// The highest number of a chain that has left.
    static let fourth = """
        CREATE TABLE chainNumber (id INTEGER PRIMARY KEY, last INTEGER NOT NULL) STRICT;
        """

    /// Whether the end of a chain is still to be shown as a notification.
    static let fifth = """
        ALTER TABLE chain ADD COLUMN tells INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX chainTells ON chain(seq) WHERE tells = 1 AND state >= 10;
        """

    /// Chains that run again and again.
    static let sixth = """
        CREATE TABLE chainSchedule (
            -- Also the name of its runs.
            name TEXT PRIMARY KEY,
            definition TEXT NOT NULL,
            -- A ChainSchedule as JSON.
            rule TEXT NOT NULL,
            -- Of each run; the deadline in milliseconds from its start.
            input BLOB NOT NULL,
            needs INTEGER NOT NULL,
            needsBytes INTEGER NOT NULL,
            deadline INTEGER,
            -- When the last time came, or it was added; the wall clock then.
            since INTEGER NOT NULL,
            last TEXT,
            -- The next time, and the command that waits for it: none if the rule has ended or it is
            -- suspended.
            next INTEGER,
            entry TEXT,
            -- Why it is suspended.
            reason TEXT,
            -- The last run, when it was started, and how it ended, once its chain has left.
            run TEXT,
            runAt INTEGER,
            runState INTEGER,
            -- Times that came while a run was under way.
            skipped INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        """

    /// The number of a new chain: NULL, which is the next one, unless that was given before.
    static let nextNumber = """
        (SELECT last + 1 FROM chainNumber
        WHERE id = 1 AND last >= COALESCE((SELECT MAX(seq) FROM chain), 0) AND last < 1 << 62)
        """

    /// Ends tasks whose entries will not be dispatched again: one whose process died too often has
    /// failed, one whose entry could not be read is to run.
    static func recover(_ db: Database) throws {
        try db.cachedStatement(
            sql: """
                UPDATE chainTask SET state = 11, entry = NULL, hold = 'look',
                    error = (SELECT reason FROM entry WHERE id = chainTask.entry)
                WHERE state = 1 AND undo = 0 AND entry IN (SELECT id FROM entry WHERE state = 13)
                """
        ).execute()
        try db.cachedStatement(
            sql: """
                UPDATE chainTask SET undo = 11, entry = NULL, hold = 'look'
                WHERE undo = 1 AND entry IN (SELECT id FROM entry WHERE state = 13)
                """
        ).execute()
        // One whose entry was quarantined is intended anew: nothing else would run it.
        for (column, condition) in [("state", "state = 1 AND undo = 0"), ("undo", "undo = 1")] {
            try db.cachedStatement(
                sql: """
                    UPDATE chainTask SET \(column) = 0, entry = NULL, hold = 'look'
                    WHERE \(condition)
                    AND NOT EXISTS (SELECT 1 FROM entry WHERE id = chainTask.entry)
                    AND chain IN (SELECT seq FROM chain WHERE state BETWEEN 1 AND 5)
                    """
            ).execute()
        }
    }

    /// Chains count as themselves: accepted, and ended in one way or pending.
    static func ledger(_ db: Database) throws -> LedgerSum {
        var sum = LedgerSum()
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT state, COUNT(*) FROM chain GROUP BY state
                    UNION ALL SELECT state, count FROM chainRetired
                    """))
        for row in rows {
            // A damaged number must not overflow the sum.
            let count = min(max(0, Int64.fromDatabaseValue(row[1]) ?? 0), 1 << 48)
            sum.accepted += count
            guard let code = Int.fromDatabaseValue(row[0]), let state = ChainState(rawValue: code),
                let outcome = state.outcome
            else {
                sum.pending += count
                continue
            }
            sum.outcomes[outcome, default: 0] += count
        }
        return sum
    }

    /// - Returns: whether more rows remain.
    static func prune(_ db: Database, at now: WallTime) throws -> Bool {
        // Sequence numbers of removed newest entries are reused: a wait for the next one would miss
        // it.
        try db.cachedStatement(
            sql: """
                UPDATE chainTask SET after = (SELECT COALESCE(MAX(seq), 0) FROM entry)
                WHERE hold >= 'entry:' AND hold < 'entry;'
                AND after > (SELECT COALESCE(MAX(seq), 0) FROM entry)
                """
        ).execute()
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT seq, state FROM chain WHERE state >= 10 AND leaves <= ?
                    LIMIT \(ChainRemoval.page)
                    """),
            arguments: [now.milliseconds])
        try removeFiles(try ChainRemoval.remove(rows, db), db)
        return rows.count == ChainRemoval.page
    }

    /// Removes the files of outputs once their rows have durably left; after a kill before that the
    /// next start does.
    private static func removeFiles(_ names: [String], _ db: Database) throws {
        guard !names.isEmpty,
            let path = try String.fetchOne(
                db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'")
        else { return }
        let files = OutputFiles(URL(fileURLWithPath: path).deletingLastPathComponent())
        db.afterNextTransaction { db in
            // The removal may have been rolled back alone, in its savepoint.
            files.remove(names.filter { (try? OutputFiles.isNamed($0, db)) == false })
        }
    }

    /// Waits keep their length when the calendar is set.
    static func move(_ db: Database, by step: Duration) throws {
        try JournalSchema.move(
            ["chain": ["due", "deadline", "leaves"], "chainTask": ["deadline"]], db, by: step)
        try ChainSchedules.move(db, by: step)
    }
}
