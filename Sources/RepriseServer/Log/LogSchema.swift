import GRDB
import RepriseCore
import RepriseWire

/// The tables of the SQLite log.
///
/// - `log`: one row, the epoch and a counter that `MessageLog/probe()` writes.
/// - `heads`: a row per channel. Trimming moves `floor`, `count` and `bytes`, never `head`.
/// - `messages`: clustered by channel and sequence, because catch-up reads it in that order: an
///   index over rows in order of arrival reads a tenth as fast. `prev` is null where it is
///   `seq - 1`. `change` is null, 1 for an edit or 2 for a deletion of the message `target`;
///   `deleted` is null or 1. The body stands last, so that counting what is unread reads none.
/// - `arrivals`, `arrivals2`: the newest messages, before they are in `messages`: see `Arrivals`.
///   `all_messages` is a view of all three, for tools: what was moved is in it once.
/// - `mentions`: the messages that mention a user, but its author's own: see `Mentions`.
/// - `edits`: finds the edits of a message that is deleted; a plain message has no row in it.
/// - `recent_ids`, `recent_ids2`, `id_runs`, `ids`: see `KnownIDs`; `awaited`: see
///   `AwaitedMessages`.
enum LogSchema {
    static func migrator(newEpoch: @escaping @Sendable () -> Epoch) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        register(in: &migrator, newEpoch: newEpoch)
        return migrator
    }

    static func register(
        in migrator: inout DatabaseMigrator, newEpoch: @escaping @Sendable () -> Epoch
    ) {
        migrator.registerMigration("1 messages") { try createFirst($0, epoch: newEpoch()) }
        migrator.registerMigration("2 senders and changes", migrate: addSenders)
        migrator.registerMigration("3 awaited") { db in
            try db.execute(
                sql: """
                    CREATE TABLE awaited (
                      n INTEGER PRIMARY KEY AUTOINCREMENT,
                      channel INTEGER NOT NULL,
                      seq INTEGER NOT NULL,
                      UNIQUE (channel, seq)
                    );
                    """)
        }
        migrator.registerMigration("4 ids sealed in slices") { db in
            try db.execute(
                sql: """
                    CREATE TABLE recent_ids2 (
                      n INTEGER PRIMARY KEY,
                      id TEXT NOT NULL,
                      channel INTEGER NOT NULL,
                      seq INTEGER NOT NULL
                    );
                    """)
        }
        // The owners of existing ids are unknown: as before, any user's publish of such an id is a
        // duplicate.
        migrator.registerMigration("5 owners of ids") { db in
            try db.execute(
                sql: """
                    ALTER TABLE recent_ids ADD COLUMN owner INTEGER;
                    ALTER TABLE recent_ids2 ADD COLUMN owner INTEGER;
                    ALTER TABLE ids ADD COLUMN owner INTEGER;
                    """)
        }
        migrator.registerMigration("6 arrivals", migrate: addArrivals)
        // The accounts have a table `channels`: a view of a cluster holds both.
        migrator.registerMigration("7 heads") { db in
            try db.execute(sql: "ALTER TABLE channels RENAME TO heads")
        }
        migrator.registerMigration("8 mentions") { db in
            try db.execute(
                sql: """
                    CREATE TABLE mentions (
                      channel INTEGER NOT NULL,
                      user TEXT NOT NULL,
                      seq INTEGER NOT NULL,
                      PRIMARY KEY (channel, user, seq)
                    ) WITHOUT ROWID;
                    CREATE INDEX mentions_by_seq ON mentions (channel, seq);
                    """)
        }
        // Runs that a former version has sealed have none.
        migrator.registerMigration("9 second filters of ids") { db in
            try db.execute(sql: "ALTER TABLE id_runs ADD COLUMN filter2 BLOB")
        }
    }

    @Sendable
    private static func addArrivals(_ db: Database) throws {
        let columns = "channel, seq, prev, id, time, sender, change, target, deleted, body"
        var view = "CREATE VIEW all_messages AS SELECT \(columns) FROM messages"
        for table in Arrivals.Table.allCases.map(\.name) {
            try db.execute(
                sql: """
                    CREATE TABLE \(table) (
                      n INTEGER PRIMARY KEY,
                      channel INTEGER NOT NULL,
                      seq INTEGER NOT NULL,
                      prev INTEGER,
                      id TEXT NOT NULL,
                      time INTEGER NOT NULL,
                      sender TEXT,
                      change INTEGER,
                      target INTEGER,
                      deleted INTEGER,
                      body BLOB NOT NULL
                    );
                    """)
            // Without the copies of what was moved.
            view += """
                 UNION ALL SELECT \(columns) FROM \(table) AS a WHERE seq > (
                SELECT max(floor, coalesce((SELECT max(seq) FROM messages WHERE channel = key), 0))
                FROM channels WHERE key = a.channel)
                """
        }
        try db.execute(sql: view)
    }

    /// The epoch that was minted when the log was created, or restored.
    static func epoch(_ db: Database) throws -> Epoch {
        guard let text = try String.fetchOne(db, sql: "SELECT epoch FROM log") else {
            throw RepriseError(.corrupt, "The log has lost its epoch.")
        }
        return try Epoch(text)
    }

    /// Refuses a log whose channels are not all there: a page of a table or index that a medium has
    /// emptied is valid for SQLite, and the messages would be missing in silence.
    ///
    /// Costs two look-ups a channel.
    static func checkChannels(_ db: Database) throws {
        let table = try db.tableExists("heads") ? "heads" : "channels"
        let isDamaged = try Bool.fetchOne(
            db,
            sql: """
                WITH RECURSIVE used(key) AS (
                    SELECT min(channel) FROM messages
                    UNION ALL
                    SELECT (SELECT min(channel) FROM messages WHERE channel > used.key)
                    FROM used WHERE used.key IS NOT NULL
                )
                SELECT EXISTS (
                    SELECT 1 FROM used WHERE key IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM \(table) AS c WHERE c.key = used.key)
                ) OR EXISTS (
                    SELECT 1 FROM \(table) AS c NOT INDEXED WHERE NOT EXISTS (
                        SELECT 1 FROM \(table) AS i INDEXED BY sqlite_autoindex_\(table)_1
                        WHERE i.name = c.name)
                )
                """)
        if isDamaged == true {
            throw DatabaseError(
                resultCode: .SQLITE_CORRUPT, message: "messages without their channel")
        }
        if try db.tableExists("arrivals") { _ = try Arrivals(db, ArrivalIndex()) }
    }

    /// Voids all positions: nothing else goes on with them, so it is not the log that was moved.
    static func setEpoch(_ epoch: Epoch, _ db: Database) throws {
        try db.execute(sql: "UPDATE log SET epoch = ?", arguments: [epoch.text])
        _ = try setMoved(false, db)
    }

    /// Notes whether the log was moved into a cluster, or is about to be.
    ///
    /// In SQLite's `user_version`, which nothing else uses: an earlier version does not look.
    ///
    /// - Returns: whether it was noted before.
    static func setMoved(_ isMoved: Bool, _ db: Database) throws -> Bool {
        let former = try self.isMoved(db)
        if former != isMoved { try db.execute(sql: "PRAGMA user_version = \(isMoved ? 1 : 0)") }
        return former
    }

    private static func isMoved(_ db: Database) throws -> Bool {
        try Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0 != 0
    }

    /// Refuses a log that goes on in a cluster: both would give the same sequences to different
    /// messages.
    static func expectNotMoved(_ db: Database, at path: String) throws {
        guard try isMoved(db) else { return }
        throw RepriseError(
            .badConfiguration,
            "The messages in \(path) were moved into a cluster by `reprise cluster seed`, or that "
                + "was interrupted.",
            remedy: "Start gateways with --log and another --data; after an interruption seed "
                + "again. To go back, `reprise cluster export --move` makes a new data folder. To go on "
                + "without what the cluster has stored since, start once with --restored.")
    }

    private static func createFirst(_ db: Database, epoch: Epoch) throws {
        try ServerDatabase.log.identify(db)
        try db.execute(
            sql: """
                CREATE TABLE log (
                  one INTEGER PRIMARY KEY CHECK (one = 1),
                  epoch TEXT NOT NULL,
                  probes INTEGER NOT NULL DEFAULT 0
                );
                CREATE TABLE channels (
                  key INTEGER PRIMARY KEY,
                  name TEXT NOT NULL UNIQUE,
                  head INTEGER NOT NULL,
                  floor INTEGER NOT NULL DEFAULT 0,
                  count INTEGER NOT NULL,
                  time INTEGER NOT NULL
                );
                CREATE TABLE messages (
                  channel INTEGER NOT NULL,
                  seq INTEGER NOT NULL,
                  prev INTEGER,
                  id TEXT NOT NULL,
                  time INTEGER NOT NULL,
                  body BLOB NOT NULL,
                  PRIMARY KEY (channel, seq)
                ) WITHOUT ROWID;
                CREATE TABLE recent_ids (
                  n INTEGER PRIMARY KEY,
                  id TEXT NOT NULL,
                  channel INTEGER NOT NULL,
                  seq INTEGER NOT NULL
                );
                CREATE TABLE id_runs (
                  run INTEGER PRIMARY KEY,
                  newest INTEGER NOT NULL,
                  filter BLOB NOT NULL
                );
                CREATE TABLE ids (
                  run INTEGER NOT NULL,
                  id TEXT NOT NULL,
                  channel INTEGER NOT NULL,
                  seq INTEGER NOT NULL,
                  PRIMARY KEY (run, id)
                ) WITHOUT ROWID;
                """)
        try db.execute(
            sql: "INSERT INTO log (one, epoch) VALUES (1, ?)", arguments: [epoch.text])
    }

    /// Copies the former table, because a column can only be added behind the body: needs the log's
    /// size in free space.
    @Sendable
    private static func addSenders(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE messages2 (
                  channel INTEGER NOT NULL,
                  seq INTEGER NOT NULL,
                  prev INTEGER,
                  id TEXT NOT NULL,
                  time INTEGER NOT NULL,
                  sender TEXT,
                  change INTEGER,
                  target INTEGER,
                  deleted INTEGER,
                  body BLOB NOT NULL,
                  PRIMARY KEY (channel, seq)
                ) WITHOUT ROWID;
                INSERT INTO messages2 (channel, seq, prev, id, time, body)
                SELECT channel, seq, prev, id, time, body FROM messages ORDER BY channel, seq;
                DROP TABLE messages;
                ALTER TABLE messages2 RENAME TO messages;
                CREATE INDEX edits ON messages (channel, target) WHERE change = 1;
                ALTER TABLE channels ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
                UPDATE channels SET bytes = (
                  SELECT coalesce(sum(length(body)), 0) FROM messages WHERE channel = channels.key);
                """)
    }
}
