package import GRDB
package import RepriseCore
import RepriseJournal

/// The feature's tables in the journal.
package enum NoticeTables {
    static let first = """
        -- What a person was shown, or is about to be: one row a message, whatever brought it.
        -- standing: 0 the system is being asked, 1 it stands in the notification centre, 2 it stood there, 3 nothing was shown.
        -- way: push, extension, live or catchUp: what brought it first. alerts: how often it was heard of as an alert.
        CREATE TABLE noticesMessage (
            id TEXT PRIMARY KEY,
            channel TEXT NOT NULL,
            seq INTEGER NOT NULL,
            time INTEGER NOT NULL,
            standing INTEGER NOT NULL,
            way TEXT NOT NULL,
            reason TEXT NOT NULL,
            presentation INTEGER NOT NULL,
            decided INTEGER NOT NULL,
            ended TEXT,
            isRemote INTEGER NOT NULL DEFAULT 0,
            alerts INTEGER NOT NULL DEFAULT 0,
            unconfirmed INTEGER NOT NULL DEFAULT 0,
            content BLOB
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX noticesMessageStanding ON noticesMessage (channel, seq) WHERE standing < 2;
        CREATE INDEX noticesMessageByTime ON noticesMessage (decided);

        -- One a channel. Everything up to `cursor` was looked at. Up to `before` nothing is news. `unread` is in the total.
        -- wanted: a push has counted up to there, and our log is not there yet; below zero: it never will be.
        CREATE TABLE noticesChannel (
            channel TEXT PRIMARY KEY,
            log INTEGER NOT NULL,
            mark TEXT NOT NULL,
            cursor INTEGER NOT NULL,
            before INTEGER NOT NULL,
            read INTEGER NOT NULL,
            start INTEGER NOT NULL,
            dismissed INTEGER NOT NULL DEFAULT 0,
            head INTEGER NOT NULL,
            unread INTEGER NOT NULL,
            exact INTEGER NOT NULL,
            wanted INTEGER NOT NULL DEFAULT 0,
            changed INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX noticesChannelChanged ON noticesChannel (changed);
        CREATE INDEX noticesChannelWanted ON noticesChannel (wanted) WHERE wanted > head;

        -- The badge: the sum of all channels, the server's newest count, and what the system was told last.
        CREATE TABLE noticesBadge (
            total INTEGER NOT NULL,
            counted INTEGER,
            asOf INTEGER NOT NULL,
            shown INTEGER
        ) STRICT;
        INSERT INTO noticesBadge VALUES (0, NULL, 0, NULL);

        -- How many messages were decided upon, by reason; `bulk`: beyond those of a channel that are looked at one by one.
        CREATE TABLE noticesCount (
            what TEXT PRIMARY KEY,
            count INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- Taps, replies and the like, with what became of them.
        CREATE TABLE noticesTap (
            entry TEXT PRIMARY KEY,
            at INTEGER NOT NULL,
            action TEXT NOT NULL,
            channel TEXT,
            message TEXT,
            resolution TEXT,
            reason TEXT,
            handed INTEGER NOT NULL DEFAULT 0,
            presented INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX noticesTapByTime ON noticesTap (at);
        """

    /// Keeps what was decided as long as if the calendar had not been set.
    static func move(_ db: Database, by step: Duration) throws {
        try JournalSchema.move(["noticesMessage": ["decided"], "noticesTap": ["at"]], db, by: step)
    }

    /// Removes a batch of rows past their retention whose notification is gone.
    ///
    /// - Returns: whether more may remain.
    package static func prune(_ db: Database, at now: WallTime) throws -> Bool {
        let until = now.milliseconds - NoticeLimits.keptDays * 86_400_000
        try db.execute(
            sql: """
                DELETE FROM noticesMessage WHERE id IN (
                    SELECT id FROM noticesMessage WHERE decided < ? AND standing >= 2
                    ORDER BY decided LIMIT 500)
                """, arguments: [until])
        let messages = db.changesCount
        try db.execute(
            sql: """
                DELETE FROM noticesTap WHERE entry IN (
                    SELECT t.entry FROM noticesTap AS t LEFT JOIN entry AS e ON e.id = t.entry
                    WHERE t.at < ? AND (e.state IS NULL OR e.state >= 10) ORDER BY t.at LIMIT 500)
                """, arguments: [until])
        return messages == 500 || db.changesCount == 500
    }
}
