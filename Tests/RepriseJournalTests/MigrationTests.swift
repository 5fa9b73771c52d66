import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

/// Journals as earlier versions wrote them, as SQL.
///
/// A new migration adds the version before it here and nothing else.
private let versions: [(name: String, sql: String)] = [
    ("journal/1", first),
    (
        "journal/2",
        first + """
            INSERT INTO grdb_migrations VALUES ('journal/2');
            ALTER TABLE journal ADD COLUMN doubtSeen INTEGER NOT NULL DEFAULT 0;
            """
    ),
]

private let first = """
    PRAGMA application_id = 1380995667;
    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
    INSERT INTO grdb_migrations VALUES ('journal/1');
    CREATE TABLE journal (one INTEGER PRIMARY KEY CHECK (one = 1), incarnation INTEGER NOT NULL,
        accepted INTEGER NOT NULL, duplicates INTEGER NOT NULL, rejected INTEGER NOT NULL,
        sightedWall INTEGER, sightedUptime INTEGER, sightedBoot TEXT,
        doubted INTEGER NOT NULL) STRICT;
    INSERT INTO journal VALUES (1, 7, 4, 2, 0, NULL, NULL, NULL, 0);
    CREATE TABLE retired (outcome TEXT PRIMARY KEY, count INTEGER NOT NULL)
        STRICT, WITHOUT ROWID;
    INSERT INTO retired VALUES ('applied', 1);
    CREATE TABLE entry (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
        source TEXT NOT NULL, lane TEXT, recordedAt INTEGER NOT NULL, state INTEGER NOT NULL,
        incarnation INTEGER, attempt INTEGER NOT NULL DEFAULT 0,
        failures INTEGER NOT NULL DEFAULT 0, interruptions INTEGER NOT NULL DEFAULT 0,
        interrupted INTEGER NOT NULL DEFAULT 0, released INTEGER NOT NULL DEFAULT 0,
        due INTEGER, bound INTEGER, reason TEXT, payload BLOB NOT NULL) STRICT;
    INSERT INTO entry (seq, id, kind, source, recordedAt, state, incarnation, attempt, payload)
        VALUES (1, 'waiting', 'kind', 'app', 5, 0, NULL, 0, x'01'),
               (2, 'in-hand', 'kind', 'app', 5, 3, 7, 1, x'02'),
               (3, 'done', 'kind', 'app', 5, 10, NULL, 1, x'03');
    CREATE TABLE quarantine (seq INTEGER PRIMARY KEY, due INTEGER NOT NULL, why TEXT NOT NULL,
        id ANY, kind ANY, source ANY, payload ANY) STRICT;
    CREATE TABLE spooled (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    """

@Suite("Migrations")
struct MigrationTests {
    @Test("A journal of every earlier version opens with all that was in it", arguments: versions)
    func opens(version: (name: String, sql: String)) async throws {
        let fixture = try JournalFixture()
        try fixture.sqlite(version.sql)
        let journal = try await fixture.open([EntryKind("kind")])
        #expect(journal.incarnation > 7)
        #expect(journal.opening.interrupted == 1)
        let ledger = try await journal.ledger()
        #expect(ledger.accepted == 4)
        #expect(ledger.duplicates == 2)
        #expect(ledger.pending == 2)
        #expect(ledger.outcomes[.applied] == 2)
        #expect(ledger.isBalanced)
        let seen = Seen<String>()
        await journal.handle("kind") { seen.add("\($0.id) \($0.attempt) \($0.payload)") }
        try await eventually("what waited is dispatched") {
            seen.all == ["waiting 1 [1]", "in-hand 2 [2]"]
        }
        await journal.close()
    }

    @Test("The newest version is the last one that this suite knows")
    func complete() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([])
        let newest = try await journal.read { db in
            try String.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations")
        }
        #expect(newest == versions.map(\.name))
        await journal.close()
    }
}
