import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// The channels' tables as earlier versions made them, with something in them.
///
/// A new migration adds the version before it here and nothing else.
private let versions: [(name: String, sql: String)] = [
    (
        "channels/1",
        """
            CREATE TABLE channelsDevice (id TEXT NOT NULL) STRICT;
            INSERT INTO channelsDevice VALUES (lower(hex(randomblob(16))));

            CREATE TABLE channelsLog (
                id INTEGER PRIMARY KEY,
                channel TEXT NOT NULL,
                epoch TEXT NOT NULL,
                coverage TEXT NOT NULL,
                head INTEGER NOT NULL,
                version INTEGER NOT NULL,
                accepted INTEGER NOT NULL DEFAULT 0,
                duplicates INTEGER NOT NULL DEFAULT 0
            ) STRICT;
            CREATE INDEX channelsLogByChannel ON channelsLog (channel, id);

            CREATE TABLE channelsMessage (
                arrival INTEGER PRIMARY KEY,
                log INTEGER NOT NULL,
                seq INTEGER NOT NULL,
                prev INTEGER,  -- NULL: seq - 1
                id TEXT NOT NULL,
                time INTEGER NOT NULL,
                body BLOB NOT NULL
            ) STRICT;
            CREATE UNIQUE INDEX channelsMessageBySeq ON channelsMessage (log, seq);

            CREATE TABLE channelsFormer (
                channel TEXT NOT NULL,
                id TEXT NOT NULL,
                PRIMARY KEY (channel, id)
            ) STRICT, WITHOUT ROWID;

            CREATE TABLE channelsReader (
                id INTEGER PRIMARY KEY,
                channel TEXT NOT NULL,
                name TEXT NOT NULL,
                cursor INTEGER NOT NULL DEFAULT 0,
                handing INTEGER NOT NULL DEFAULT 0,
                UNIQUE (channel, name)
            ) STRICT;

            CREATE TABLE channelsException (
                reader INTEGER NOT NULL,
                arrival INTEGER NOT NULL,
                attempts INTEGER NOT NULL,
                failures INTEGER NOT NULL,
                state INTEGER NOT NULL,
                due INTEGER NOT NULL,
                reason TEXT NOT NULL,
                PRIMARY KEY (reader, arrival)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX channelsExceptionByDue ON channelsException (reader, due) WHERE state = 0;

            CREATE TABLE channelsLost (
                id INTEGER PRIMARY KEY,
                log INTEGER NOT NULL,
                after INTEGER NOT NULL,
                through INTEGER,
                reason TEXT NOT NULL
            ) STRICT;
        INSERT INTO channelsLog VALUES (1, 'general', 'e0', '[[0,2]]', 2, 3, 2, 0);
        INSERT INTO channelsLog VALUES (2, 'general', 'e1', '[[0,3]]', 4, 3, 2, 1);
        INSERT INTO channelsMessage VALUES (1099511627777, 1, 1, NULL, 'm1', 11, x'31');
        INSERT INTO channelsMessage VALUES (1099511627778, 1, 2, NULL, 'm2', 12, x'32');
        INSERT INTO channelsMessage VALUES (2199023255553, 2, 2, NULL, 'm3', 13, x'33');
        INSERT INTO channelsMessage VALUES (2199023255554, 2, 3, NULL, 'm4', 14, x'34');
        INSERT INTO channelsFormer VALUES ('general', 'm1'), ('general', 'm2');
        INSERT INTO channelsReader VALUES (1, 'general', 'inbox', 1099511627777, 1099511627778);
        INSERT INTO channelsLost VALUES (1, 1, 2, NULL, 'epoch');
        """
    ),
    (
        "channels/2",
        """
        ALTER TABLE channelsMessage ADD COLUMN sender TEXT;
        ALTER TABLE channelsMessage ADD COLUMN change INTEGER;
        ALTER TABLE channelsMessage ADD COLUMN target INTEGER;
        ALTER TABLE channelsMessage ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX channelsMessageByEdit ON channelsMessage (log, target, seq) WHERE change = 1;
        CREATE INDEX channelsMessageByDeletion ON channelsMessage (log, target) WHERE change = 2;
        ALTER TABLE channelsFormer ADD COLUMN arrival INTEGER;
        INSERT OR REPLACE INTO channelsFormer (channel, id, arrival)
            SELECT g.channel, m.id, m.arrival
            FROM channelsMessage AS m JOIN channelsLog AS g ON g.id = m.log
            WHERE EXISTS (SELECT 1 FROM channelsFormer AS f
                          WHERE f.channel = g.channel AND f.id = m.id);
        CREATE TABLE channelsAlias (
            log INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            arrival INTEGER NOT NULL,
            PRIMARY KEY (log, seq)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX channelsAliasByArrival ON channelsAlias (arrival);
        ALTER TABLE channelsReader ADD COLUMN ordered INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE channelsSnapshot (
            log INTEGER PRIMARY KEY,
            position INTEGER NOT NULL,
            lost TEXT NOT NULL,
            reason TEXT NOT NULL
        ) STRICT;
        CREATE TABLE channelsRetired (
            log INTEGER NOT NULL,
            outcome TEXT NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (log, outcome)
        ) STRICT, WITHOUT ROWID;
        ALTER TABLE channelsLog ADD COLUMN retired INTEGER;
        ALTER TABLE channelsDevice ADD COLUMN user TEXT;
        CREATE TABLE channelsSent (
            channel TEXT NOT NULL,
            seq INTEGER NOT NULL,
            id TEXT NOT NULL,
            PRIMARY KEY (channel, seq, id)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE channelsRefused (
            id TEXT PRIMARY KEY,
            code TEXT NOT NULL,
            message TEXT NOT NULL,
            time INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE channelsReceipt (
            channel TEXT PRIMARY KEY,
            epoch TEXT NOT NULL,
            read INTEGER NOT NULL DEFAULT 0,
            knownRead INTEGER NOT NULL DEFAULT 0,
            floor INTEGER NOT NULL DEFAULT 0,
            unread INTEGER NOT NULL DEFAULT 0,
            head INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE channelsPosition (
            channel TEXT NOT NULL,
            user TEXT NOT NULL,
            epoch TEXT NOT NULL,
            read INTEGER NOT NULL,
            delivered INTEGER NOT NULL,
            PRIMARY KEY (channel, user)
        ) STRICT, WITHOUT ROWID;
        """
    ),
    (
        "channels/3",
        """
        CREATE TABLE channelsFormerChange (
            log INTEGER NOT NULL,
            change INTEGER NOT NULL,
            target INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            arrival INTEGER,
            PRIMARY KEY (log, change, target, seq)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX channelsFormerChangeByArrival ON channelsFormerChange (arrival)
            WHERE arrival IS NOT NULL;
        """
    ),
    (
        "channels/4",
        """
        CREATE TABLE channelsConversation (
            channel TEXT PRIMARY KEY,
            title TEXT,
            role TEXT NOT NULL,
            since INTEGER NOT NULL,
            members INTEGER NOT NULL,
            others TEXT,
            profiles TEXT,
            muted INTEGER NOT NULL,
            mutedUntil INTEGER,
            old INTEGER NOT NULL DEFAULT 0,
            pending INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE channelsDirectory (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            channel TEXT NOT NULL
        ) STRICT;
        """
    ),
    (
        "channels/5",
        """
        ALTER TABLE channelsConversation ADD COLUMN archived INTEGER;

        CREATE TABLE channelsDraft (
            channel TEXT PRIMARY KEY,
            text TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
    ),
]

@Suite("Migrations of the channels")
struct ChannelsMigrationTests {
    @Test("A journal of every earlier version opens with all that was in it", arguments: versions)
    func opens(version: (name: String, sql: String)) async throws {
        let folder = try TemporaryFolder()
        let steps = versions[...(versions.firstIndex { $0.name == version.name } ?? 0)]
        let former = JournalSchema(
            name: "channels",
            migrations: steps.map { step in { db in try db.execute(sql: step.sql) } })
        let earlier = try await Journal.open(
            at: folder.appending("journal"), kinds: Channels.kinds, schemas: [former, Bench.sink])
        await earlier.close()

        let bench = try await Bench(in: folder)
        let ledger = try await bench.journal.ledger()
        #expect(ledger.accepted == 4)
        #expect(ledger.pending == 3)
        #expect(ledger.duplicates == 1)
        #expect(ledger.lost.map(\.reason) == ["epoch"])
        #expect(ledger.isBalanced)
        let observer = Observer()
        try await bench.general.read("inbox") { observer.see($0) }
        bench.start()
        try await eventually("what waited is dispatched") { observer.messages.count == 3 }
        #expect(observer.messages.map(\.id.text).sorted() == ["m2", "m3", "m4"])
        #expect(observer.messages.allSatisfy { $0.change == nil && !$0.isDeleted })
        let server = try await bench.accept()
        let request = try await server.request()
        #expect(request.epoch == (try Epoch("e1")))
        #expect(request.coverage == Coverage(through: 3))
        let arrivals = try await bench.journal.read { db in
            try Int64.fetchAll(db, sql: "SELECT arrival FROM channelsFormer ORDER BY id")
        }
        #expect(arrivals == [1_099_511_627_777, 1_099_511_627_778])
        try await bench.finish()
    }

    @Test("The newest version is one beyond the last that this suite knows")
    func complete() async throws {
        let bench = try await Bench()
        let newest = try await bench.journal.read { db in
            try String.fetchAll(
                db, sql: "SELECT identifier FROM grdb_migrations WHERE identifier LIKE 'channels/%'"
            )
        }
        #expect(newest == versions.map(\.name) + ["channels/\(versions.count + 1)"])
        try await bench.finish()
    }
}
