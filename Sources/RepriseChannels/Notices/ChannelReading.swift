package import GRDB
import GRDBSQLite
import RepriseCore
import RepriseJournal
package import RepriseWire

/// Reads the channels' tables for the notices feature.
package enum ChannelReading {
    /// A fingerprint of each channel; while it is the same, nothing has changed.
    package static func marks(_ db: Database) throws -> [(channel: String, mark: String)] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT g.channel, g.id || '.' || g.version || '.' || COALESCE(r.read, 0) || '.'
                    || COALESCE(r.floor, 0) || '.' || COALESCE(r.unread, 0) || '.'
                    || COALESCE(r.head, 0)
                FROM channelsLog AS g LEFT JOIN channelsReceipt AS r
                    ON r.channel = g.channel AND r.epoch = g.epoch
                WHERE g.id = (SELECT MAX(id) FROM channelsLog WHERE channel = g.channel)
                    AND g.channel NOT LIKE 'directory:%'
                """
        ).compactMap { row in
            // One that cannot be read is there again as soon as its log is begun anew.
            guard let channel = try? row.text(0), let mark = try? row.text(1) else { return nil }
            return (channel: channel, mark: mark)
        }
    }

    package static func mark(of channel: ChannelName, _ db: Database) throws -> String? {
        try String.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT g.id || '.' || g.version || '.' || COALESCE(r.read, 0) || '.'
                        || COALESCE(r.floor, 0) || '.' || COALESCE(r.unread, 0) || '.'
                        || COALESCE(r.head, 0)
                    FROM channelsLog AS g LEFT JOIN channelsReceipt AS r
                        ON r.channel = g.channel AND r.epoch = g.epoch
                    WHERE g.channel = ? ORDER BY g.id DESC LIMIT 1
                    """), arguments: [channel.text])
    }

    /// - Returns: nil also for a log whose row cannot be read.
    package static func standing(of channel: ChannelName, _ db: Database) throws -> NoticeStatus? {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, epoch, coverage, head, accepted FROM channelsLog
                    WHERE channel = ? ORDER BY id DESC LIMIT 2
                    """), arguments: [channel.text])
        guard let row = rows.first, let epoch = try? row.text(1), let head = try? row.integer(3),
            let accepted = try? row.integer(4)
        else { return nil }
        let log = try row.integer(0)
        let receipt = try Row.fetchOne(
            db.cachedStatement(
                sql:
                    """
                    SELECT read, floor, elsewhere FROM channelsReceipt
                    WHERE channel = ? AND epoch = ?
                    """),
            arguments: [channel.text, epoch])
        let isFollowed = try receipt?.integer(2) != 1
        let read = try receipt?.integer(0) ?? 0
        return NoticeStatus(
            log: log, epoch: epoch, hasFormer: rows.count > 1, head: head,
            base: ChannelsTables.base(of: log),
            arrival: ChannelsTables.base(of: log) + accepted, read: read,
            start: Unread.start(read: read, joined: 0, floor: try receipt?.integer(1) ?? 0),
            isComplete: isFollowed && row.watermark(2) >= head)
    }

    /// The latest arrivals, newest first; skips those that have left the journal or cannot be read.
    package static func newest(
        of channel: ChannelName, in standing: NoticeStatus, after arrival: Int64, limit: Int,
        _ db: Database
    ) throws -> [NoticeMessage] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT seq, id, time, sender, change, target, deleted, body
                    FROM channelsMessage WHERE arrival > ? AND arrival <= ?
                    ORDER BY arrival DESC LIMIT ?
                    """),
            arguments: [
                max(arrival, ChannelsTables.base(of: standing.log)), standing.arrival, limit,
            ])
        let title =
            channel.isDirect || rows.isEmpty ? nil : try ConversationRows.title(of: channel, db)
        let profiles = rows.isEmpty ? [:] : try ConversationRows.profiles(of: channel, db)
        return rows.compactMap { row in
            guard var message = try? decoded(row, in: channel) else { return nil }
            message.conversation = title
            message.sender = message.from.flatMap { profiles[$0] }
            return message
        }
    }

    private static func decoded(_ row: Row, in channel: ChannelName) throws -> NoticeMessage {
        NoticeMessage(
            id: try EntryID(try row.text(1)), channel: channel, seq: try row.integer(0),
            from: try row.optionalText(3).map { try UserID($0) },
            time: WallTime(milliseconds: try row.integer(2)),
            change: try row.change(4, target: 5), isDeleted: try row.integer(6) != 0,
            body: try row.bytes(7))
    }

    /// Whether the message of this sequence exists, and whether it was deleted.
    package static func find(_ seq: Int64, in log: Int64, _ db: Database) throws
        -> (isThere: Bool, isDeleted: Bool)
    {
        let deleted = try Int64.fetchOne(
            db.cachedStatement(
                sql: "SELECT deleted FROM channelsMessage WHERE log = ? AND seq = ?"),
            arguments: [log, seq])
        return (deleted != nil, deleted == 1)
    }

    package static func body(of seq: Int64, in log: Int64, _ db: Database) throws -> [UInt8]? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT body FROM channelsMessage WHERE log = ? AND seq = ?"),
            arguments: [log, seq]
        )?.bytes(0)
    }

    package static func unread(in channel: ChannelName, _ db: Database) throws -> Unread {
        try ReceiptRows.unread(in: channel, db)
    }

    /// Whether the server is known to have this read position of the user.
    package static func isReadKnown(_ channel: ChannelName, through seq: Int64, _ db: Database)
        throws -> Bool
    {
        let known = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT knownRead FROM channelsReceipt WHERE channel = ?"),
            arguments: [channel.text])
        return (known ?? 0) >= seq
    }

    /// The user that the server takes this device for.
    package static func user(_ db: Database) throws -> UserID? {
        try String.fetchOne(db.cachedStatement(sql: "SELECT user FROM channelsDevice"))
            .flatMap { try? UserID($0) }
    }
}

extension Channels {
    /// Records a read position in the current transaction; the server is told once it is durable.
    package func markRead(_ name: ChannelName, through seq: Int64, in db: Database) throws {
        guard let read = try ReceiptRows.read(through: seq, in: name, db) else { return }
        db.afterNextTransaction { [readers, presence] _ in
            readers.changeNotifier.notify(name)
            presence.readMoved(name, to: read)
        }
    }
}
