package import GRDB
package import RepriseCore
public import RepriseJournal

extension Channels {
    /// The tables of this feature, for `Journal.open` and for reading the ledger of a journal that
    /// another process owns.
    ///
    /// Messages stay for the default ``MessageRetention``.
    public static let schema = schema(keeping: MessageRetention())

    /// The tables of this feature with a retention of the app's own.
    ///
    /// - Parameter retention: how long messages stay after their readers have finished them.
    /// - Returns: the tables, for `Journal.open`.
    public static func schema(keeping retention: MessageRetention) -> JournalSchema {
        var schema = JournalSchema(
            name: "channels",
            migrations: [
                { db in try db.execute(sql: ChannelsTables.first) },
                { db in
                    try db.execute(sql: ChannelsTables.second)
                    try db.execute(sql: OutboxRows.schema)
                    try db.execute(sql: ReceiptRows.schema)
                },
                { db in try db.execute(sql: ChannelsTables.third) },
                { db in try db.execute(sql: ConversationRows.schema) },
                { db in try db.execute(sql: ConversationRows.second) },
                { db in try db.execute(sql: ChannelsTables.mentions) },
            ],
            ledger: { db in try ChannelsLedger.sum(db) },
            prune: { db, now in
                let isMore = try OutboxRows.prune(db)
                return try prune(db, keeping: retention, at: now) || isMore
            },
            calendarMoved: { db, step in
                // A wait keeps its length.
                try JournalSchema.move(["channelsException": ["due"]], db, by: step)
            })
        schema.discarded = { db, entry in try discarded(entry, db) }
        return schema
    }
}

extension Channels {
    /// Removes a piece of the messages past their retention, in the caller's transaction.
    ///
    /// - Returns: whether more may be left.
    package static func prune(
        _ db: Database, keeping retention: MessageRetention, at now: WallTime
    ) throws -> Bool {
        try Pruning(retention: retention).prune(db, at: now)
    }
}

/// The layout of messages and positions in the journal.
///
/// A message's `arrival` is its rowid: the number of its log in the high bits and how many came
/// before it in the low 40. So the messages of a log lie together in order of arrival, a reader
/// pages through them without an index of their own, and an arrival in a later log of the same
/// channel is greater than any in an earlier one. The only index is (log, seq). A row per log holds
/// the coverage and the counters, written in the transaction that stores the messages.
enum ChannelsTables {
    static let arrivalBits: Int64 = 40

    /// The arrival before the first in a log.
    static func base(of log: Int64) -> Int64 { log << arrivalBits }

    /// The log that an arrival belongs to.
    static func log(of arrival: Int64) -> Int64 { arrival >> arrivalBits }

    static let first = """
        CREATE TABLE channelsDevice (id TEXT NOT NULL) STRICT;
        INSERT INTO channelsDevice VALUES (lower(hex(randomblob(16))));

        -- One for each epoch of a channel; the one with the greatest id is current.
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

        -- The ids of former epochs. Within an epoch the coverage tells duplicates apart, so only a channel that
        -- has changed its epoch pays for an index of random ids.
        CREATE TABLE channelsFormer (
            channel TEXT NOT NULL,
            id TEXT NOT NULL,
            PRIMARY KEY (channel, id)
        ) STRICT, WITHOUT ROWID;

        -- All up to `cursor` is finished or has a row in channelsException. All up to `handing` may be in a handler.
        CREATE TABLE channelsReader (
            id INTEGER PRIMARY KEY,
            channel TEXT NOT NULL,
            name TEXT NOT NULL,
            cursor INTEGER NOT NULL DEFAULT 0,
            handing INTEGER NOT NULL DEFAULT 0,
            UNIQUE (channel, name)
        ) STRICT;

        -- state: 0 waiting, 1 with its handler, 2 dead, 3 unconfirmed
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

        -- through NULL: nobody knows how many.
        CREATE TABLE channelsLost (
            id INTEGER PRIMARY KEY,
            log INTEGER NOT NULL,
            after INTEGER NOT NULL,
            through INTEGER,
            reason TEXT NOT NULL
        ) STRICT;
        """

    static let second = """
        -- change: 1 takes the place of the body of `target`, 2 blanks it; NULL: a message of its own.
        -- deleted: the body is null, here and for ever.
        ALTER TABLE channelsMessage ADD COLUMN sender TEXT;
        ALTER TABLE channelsMessage ADD COLUMN change INTEGER;
        ALTER TABLE channelsMessage ADD COLUMN target INTEGER;
        ALTER TABLE channelsMessage ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;
        -- These hold changes only: a message of its own costs nothing.
        CREATE INDEX channelsMessageByEdit ON channelsMessage (log, target, seq) WHERE change = 1;
        CREATE INDEX channelsMessageByDeletion ON channelsMessage (log, target) WHERE change = 2;

        -- Where a message of a former epoch lies in the journal, to find it again under its new sequence.
        ALTER TABLE channelsFormer ADD COLUMN arrival INTEGER;
        INSERT OR REPLACE INTO channelsFormer (channel, id, arrival)
            SELECT g.channel, m.id, m.arrival
            FROM channelsMessage AS m JOIN channelsLog AS g ON g.id = m.log
            WHERE EXISTS (SELECT 1 FROM channelsFormer AS f
                          WHERE f.channel = g.channel AND f.id = m.id);
        -- A sequence of this log is a message that lies in a former one.
        CREATE TABLE channelsAlias (
            log INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            arrival INTEGER NOT NULL,
            PRIMARY KEY (log, seq)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX channelsAliasByArrival ON channelsAlias (arrival);

        -- Cursor and handing of an ordered reader count sequences, not arrivals; see OrderedPosition.
        ALTER TABLE channelsReader ADD COLUMN ordered INTEGER NOT NULL DEFAULT 0;

        -- A snapshot that the app has not finished loading: one for the current log of a channel.
        CREATE TABLE channelsSnapshot (
            log INTEGER PRIMARY KEY,
            position INTEGER NOT NULL,
            lost TEXT NOT NULL,
            reason TEXT NOT NULL
        ) STRICT;

        -- Messages that have left the journal, by outcome; and how far back by the server's clock.
        CREATE TABLE channelsRetired (
            log INTEGER NOT NULL,
            outcome TEXT NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (log, outcome)
        ) STRICT, WITHOUT ROWID;
        ALTER TABLE channelsLog ADD COLUMN retired INTEGER;

        -- Who the server takes this device for; NULL where it does not ask.
        ALTER TABLE channelsDevice ADD COLUMN user TEXT;
        """

    static let mentions = """
        -- The users whom it mentions, separated by spaces, which no name has. All, because it may come before the
        -- server has said who the user is.
        ALTER TABLE channelsMessage ADD COLUMN mentions TEXT;
        CREATE INDEX channelsMessageByMention ON channelsMessage (log, seq) WHERE mentions IS NOT NULL;
        -- The server's count of what is unread and mentions the user.
        ALTER TABLE channelsReceipt ADD COLUMN mentions INTEGER NOT NULL DEFAULT 0;
        -- 1: this device does not follow the channel, and the server's count holds.
        ALTER TABLE channelsReceipt ADD COLUMN elsewhere INTEGER NOT NULL DEFAULT 0;
        """

    static let third = """
        -- What an edit (change 1) or a deletion (2) that lies in a former log does to `target` in this one.
        -- Its target may be of this log alone, and come after it. arrival: of an edit; NULL for deletions.
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
}
