import GRDB
import RepriseCore

/// How an entry's state is stored.
///
/// Part of the format: never renumber.
enum StateCode: Int, CaseIterable {
    /// Waits for its gate.
    case ready = 0
    /// Waits for earlier entries of its partition key.
    case queued = 1
    /// Waits for its time: a delay or a retry.
    case delayed = 2
    /// In flight.
    case inFlight = 3

    case applied = 10
    case expired = 11
    case superseded = 12
    case dead = 13
    case unconfirmed = 14
    /// A dead letter that a person has discarded. Counts as dead; stays until its retention so that
    /// a late copy is still recognised.
    case discarded = 15

    init(_ outcome: Outcome) {
        switch outcome {
        case .applied: self = .applied
        case .expired: self = .expired
        case .superseded: self = .superseded
        case .dead: self = .dead
        case .unconfirmed: self = .unconfirmed
        }
    }

    /// The outcome as the ledger counts it; nil while it is pending.
    var outcome: Outcome? {
        switch self {
        case .ready, .queued, .delayed, .inFlight: nil
        case .applied: .applied
        case .expired: .expired
        case .superseded: .superseded
        case .dead, .discarded: .dead
        case .unconfirmed: .unconfirmed
        }
    }
}

/// The journal's own tables.
enum EntryTable {
    /// Written into the file's header, so that another application's database is never taken for a
    /// journal: "RPRS".
    static let applicationID: Int32 = 0x5250_5253

    static let schema = JournalSchema(
        name: "journal",
        migrations: [
            { db in try createFirstVersion(db) },
            // How much uptime has passed since the calendar is doubted.
            { db in
                try db.execute(
                    sql: "ALTER TABLE journal ADD COLUMN doubtSeen INTEGER NOT NULL DEFAULT 0")
            },
        ])

    /// `due` depends on the state: `delayed` and `queued`, not before; finished, when it is
    /// removed.
    ///
    /// `lane` is the partition key. `bound` is when its wait ends. The payload is last so that
    /// reading the other columns skips it. The partial indexes together form the index of due
    /// moments; each holds only the rows of its query.
    private static func createFirstVersion(_ db: Database) throws {
        let states = StateCode.allCases.map { "\($0.rawValue)" }.joined(separator: ",")
        try db.execute(
            sql: """
                PRAGMA application_id = \(applicationID);
                CREATE TABLE journal (
                    one INTEGER PRIMARY KEY CHECK (one = 1),
                    incarnation INTEGER NOT NULL,
                    accepted INTEGER NOT NULL,
                    duplicates INTEGER NOT NULL,
                    rejected INTEGER NOT NULL,
                    sightedWall INTEGER,
                    sightedUptime INTEGER,
                    sightedBoot TEXT,
                    doubted INTEGER NOT NULL
                ) STRICT;
                INSERT INTO journal VALUES (1, 0, 0, 0, 0, NULL, NULL, NULL, 0);

                CREATE TABLE retired (
                    outcome TEXT PRIMARY KEY,
                    count INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;

                CREATE TABLE entry (
                    seq INTEGER PRIMARY KEY,
                    id TEXT NOT NULL UNIQUE,
                    kind TEXT NOT NULL,
                    source TEXT NOT NULL,
                    lane TEXT,
                    recordedAt INTEGER NOT NULL,
                    state INTEGER NOT NULL,
                    incarnation INTEGER,
                    attempt INTEGER NOT NULL DEFAULT 0,
                    failures INTEGER NOT NULL DEFAULT 0,
                    interruptions INTEGER NOT NULL DEFAULT 0,
                    interrupted INTEGER NOT NULL DEFAULT 0,
                    released INTEGER NOT NULL DEFAULT 0,
                    due INTEGER,
                    bound INTEGER,
                    reason TEXT,
                    payload BLOB NOT NULL
                ) STRICT;
                CREATE INDEX entryReady ON entry(kind, seq) WHERE state = 0;
                CREATE INDEX entryReleased ON entry(kind, seq) WHERE state = 0 AND released = 1;
                CREATE INDEX entryQueued ON entry(seq) WHERE state = 1;
                CREATE INDEX entryDelayed ON entry(due) WHERE state = 2;
                CREATE INDEX entryInHand ON entry(seq) WHERE state = 3;
                CREATE INDEX entryFinished ON entry(due) WHERE state >= 10;
                CREATE INDEX entryDead ON entry(seq) WHERE state = 13;
                CREATE INDEX entryBound ON entry(kind, bound) WHERE bound IS NOT NULL AND state < 3;
                CREATE INDEX entryLane ON entry(lane, seq) WHERE lane IS NOT NULL AND state < 10;
                CREATE INDEX entryInterrupted ON entry(kind, seq)
                    WHERE interrupted = 1 AND state < 3;
                CREATE INDEX entryBroken ON entry(seq) WHERE state NOT IN (\(states));

                CREATE TABLE quarantine (
                    seq INTEGER PRIMARY KEY,
                    due INTEGER NOT NULL,
                    why TEXT NOT NULL,
                    id ANY,
                    kind ANY,
                    source ANY,
                    payload ANY
                ) STRICT;
                CREATE INDEX quarantineDue ON quarantine(due);

                CREATE TABLE spooled (
                    name TEXT PRIMARY KEY
                ) STRICT, WITHOUT ROWID;
                """)
    }
}
