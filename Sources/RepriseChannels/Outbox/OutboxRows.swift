import Foundation
package import GRDB
package import RepriseCore
import RepriseJournal
package import RepriseWire

/// The journal's rows of this device's own messages that are not in the channel's log yet.
package enum OutboxRows {
    /// The tables of the outbox.
    static let schema = """
        -- What the server has stored and has not yet come back as an event.
        CREATE TABLE channelsSent (
            channel TEXT NOT NULL,
            seq INTEGER NOT NULL,
            id TEXT NOT NULL,
            PRIMARY KEY (channel, seq, id)
        ) STRICT, WITHOUT ROWID;

        -- Why the server refused a dead letter.
        CREATE TABLE channelsRefused (
            id TEXT PRIMARY KEY,
            code TEXT NOT NULL,
            message TEXT NOT NULL,
            time INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// A message of this user, or a change of one, that is not in the channel's log.
    package struct Pending: Hashable, Sendable {
        package enum Status: Hashable, Sendable {
            /// Waits to be sent, or for the server's answer.
            case pending
            /// The server has stored it; its event is on its way.
            case sent(seq: Int64)
            /// A dead letter, with the reason.
            case failed(reason: String)
        }

        package var id: EntryID
        package var change: MessageChange<EntryID>?
        package var body: [UInt8]
        package var recordedAt: WallTime
        package var standing: Status
    }

    /// This user's newest messages that the log does not have, in their future order of the log.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - limit: the most waiting, the most sent, and the most failed messages.
    ///   - db: the journal's database.
    /// - Returns: at most three times `limit`.
    /// - Throws: a `DatabaseError`.
    package static func pending(in channel: ChannelName, limit: Int, _ db: Database) throws
        -> [Pending]
    {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: Self.pendingSQL),
            arguments: [
                "channel": channel.text, "kind": OutboxMachine.kind.name, "limit": max(limit, 0),
            ])
        return rows.compactMap(pending)
    }

    private static let pendingSQL = """
        SELECT seq, id, source, payload, recordedAt, reason, stored FROM (
            SELECT seq, id, source, payload, recordedAt, NULL AS reason, NULL AS stored FROM (
                SELECT * FROM entry WHERE lane = :channel AND lane IS NOT NULL AND state < 10
                AND kind = :kind ORDER BY seq DESC LIMIT :limit
            )
            UNION ALL
            SELECT seq, id, source, payload, recordedAt, COALESCE(reason, ''), NULL FROM (
                SELECT * FROM entry WHERE state = 13 AND kind = :kind AND lane = :channel
                ORDER BY seq DESC LIMIT :limit
            )
            UNION ALL
            SELECT e.seq, e.id, e.source, e.payload, e.recordedAt, NULL, s.seq FROM (
                SELECT * FROM channelsSent AS s WHERE channel = :channel AND NOT EXISTS (
                    SELECT 1 FROM channelsMessage AS m JOIN channelsLog AS g ON g.id = m.log
                    WHERE g.channel = :channel AND m.seq = s.seq AND m.id = s.id
                ) AND NOT EXISTS (
                    SELECT 1 FROM channelsAlias AS a JOIN channelsLog AS g ON g.id = a.log
                    JOIN channelsMessage AS m ON m.arrival = a.arrival
                    WHERE g.channel = :channel AND a.seq = s.seq AND m.id = s.id
                ) ORDER BY seq DESC LIMIT :limit
            ) AS s JOIN entry AS e ON e.id = s.id WHERE e.state = 10
        ) ORDER BY stored IS NULL, stored, seq
        """

    private static func pending(_ row: Row) -> Pending? {
        guard let id = String.fromDatabaseValue(row[1]).flatMap({ try? EntryID($0) }),
            let source = String.fromDatabaseValue(row[2]),
            let payload = Data.fromDatabaseValue(row[3]),
            let content = try? OutboxContent(source: source, payload: Array(payload)),
            let recordedAt = Int64.fromDatabaseValue(row[4])
        else { return nil }
        var standing = Pending.Status.pending
        if let reason = String.fromDatabaseValue(row[5]) { standing = .failed(reason: reason) }
        if let seq = Int64.fromDatabaseValue(row[6]) { standing = .sent(seq: seq) }
        return Pending(
            id: id, change: content.change, body: content.body,
            recordedAt: WallTime(milliseconds: recordedAt), standing: standing)
    }

    /// The server has stored it: this row stands for it until its event arrives.
    ///
    /// A channel that this device has never subscribed to delivers no event. For a new subscription
    /// the journal may have no log yet. Each call forgets some rows whose events have arrived.
    static func stored(_ entry: Entry, seq: Int64, isSubscribed: Bool, _ db: Database) throws {
        guard let channel = entry.partitionKey else { return }
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO channelsSent (channel, seq, id)
                SELECT ?, ?, ? WHERE ? OR EXISTS (SELECT 1 FROM channelsLog WHERE channel = ?)
                """
        ).execute(arguments: [channel, seq, entry.id.text, isSubscribed, channel])
        try db.cachedStatement(
            sql: """
                DELETE FROM channelsSent WHERE channel = :channel AND (seq, id) IN (
                    SELECT s.seq, s.id FROM (
                        SELECT seq, id FROM channelsSent WHERE channel = :channel
                        ORDER BY seq LIMIT 4
                    ) AS s JOIN channelsLog AS g ON g.channel = :channel
                    JOIN channelsMessage AS m ON m.log = g.id AND m.seq = s.seq AND m.id = s.id
                )
                """
        ).execute(arguments: ["channel": channel])
    }

    static func refused(
        _ id: EntryID, _ refused: ServerFrame.Refused, at time: WallTime, _ db: Database
    ) throws {
        try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO channelsRefused VALUES (?, ?, ?, ?)"
        ).execute(arguments: [
            id.text, refused.code.name, refused.message, time.milliseconds,
        ])
    }

    /// Forgets the rows of removed entries.
    ///
    /// - Returns: whether more are left.
    static func prune(_ db: Database) throws -> Bool {
        try db.execute(
            sql: """
                DELETE FROM channelsRefused WHERE id IN (
                    SELECT r.id FROM channelsRefused AS r LEFT JOIN entry AS e ON e.id = r.id
                    WHERE e.id IS NULL LIMIT 500)
                """)
        let refused = db.changesCount
        try db.execute(
            sql: """
                DELETE FROM channelsSent WHERE (channel, seq, id) IN (
                    SELECT s.channel, s.seq, s.id FROM channelsSent AS s
                    LEFT JOIN entry AS e ON e.id = s.id WHERE e.id IS NULL LIMIT 500)
                """)
        return refused == 500 || db.changesCount == 500
    }
}
