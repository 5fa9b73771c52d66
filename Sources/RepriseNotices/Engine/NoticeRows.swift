import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// The journal's row of one message.
struct NoticeRow: Hashable, Sendable {
    var id: EntryID
    var channel: ChannelName
    var seq: Int64
    /// Its publication time by this device's calendar; kept for a restart.
    var time: WallTime
    var machine: NoticeMachine?
    /// The requested content, while its outcome is uncertain.
    var content: NotificationContent?

    init(id: EntryID, channel: ChannelName, seq: Int64, time: WallTime) {
        self.id = id
        self.channel = channel
        self.seq = seq
        self.time = time
    }

    init(_ hint: PushHint, id: EntryID, at now: WallTime) {
        self.init(id: id, channel: hint.channel, seq: hint.seq, time: hint.time ?? now)
    }
}

/// Rows of the feature's tables, in a transaction of the journal.
enum NoticeRows {
    private static let columns = """
        id, channel, seq, time, standing, way, reason, presentation, isRemote, alerts, unconfirmed,
        ended, content
        """

    static func row(_ id: EntryID, _ db: Database) throws -> NoticeRow? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT \(columns) FROM noticesMessage WHERE id = ?"),
            arguments: [id.text])
        return row.flatMap(read)
    }

    /// Delivered or uncertain ones, by sequence.
    static func standing(in channel: ChannelName, _ db: Database) throws -> [NoticeRow] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT \(columns) FROM noticesMessage INDEXED BY noticesMessageStanding
                    WHERE channel = ? AND standing < 2 ORDER BY seq
                    """), arguments: [channel.text]
        ).compactMap(read)
    }

    /// In all channels, at most so many; and how many rows cannot be read.
    static func standing(limit: Int, _ db: Database) throws -> (
        rows: [NoticeRow], unreadable: Int
    ) {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT \(columns) FROM noticesMessage INDEXED BY noticesMessageStanding
                WHERE standing < 2 ORDER BY channel, seq LIMIT ?
                """, arguments: [limit])
        let found = rows.compactMap(read)
        return (found, rows.count - found.count)
    }

    /// Channels with uncertain messages.
    static func asked(_ db: Database) throws -> [ChannelName] {
        try String.fetchAll(
            db,
            sql: """
                SELECT DISTINCT channel FROM noticesMessage INDEXED BY noticesMessageStanding
                WHERE standing < 2 AND standing = 0
                """
        ).compactMap { try? ChannelName($0) }
    }

    private static func read(_ row: Row) -> NoticeRow? {
        try? readable(row)
    }

    private static func readable(_ row: Row) throws -> NoticeRow {
        var found = NoticeRow(
            id: try EntryID(try row.checked("id")),
            channel: try ChannelName(try row.checked("channel")), seq: try row.checked("seq"),
            time: WallTime(milliseconds: try row.checked("time")))
        guard let standing = NoticeMachine.Status(rawValue: try row.checked("standing")) else {
            throw row.damaged("standing")
        }
        guard let way = NoticeMachine.Way(rawValue: try row.checked("way")) else {
            throw row.damaged("way")
        }
        var machine = NoticeMachine(
            standing: standing, way: way, reason: try row.checked("reason"),
            presentation: PresentationOptions(rawValue: try row.checked("presentation")))
        machine.isRemote = try row.checked("isRemote")
        machine.alerts = try row.checked("alerts")
        machine.unconfirmed = try row.checked("unconfirmed")
        machine.ended = try row.checked("ended")
        for (column, count) in [("alerts", machine.alerts), ("unconfirmed", machine.unconfirmed)]
        where !(0...Int(Int32.max)).contains(count) {
            throw row.damaged(column)
        }
        found.machine = machine
        found.content = (try row.checked("content") as Data?).flatMap {
            try? JSONDecoder().decode(NotificationContent.self, from: $0)
        }
        return found
    }

    /// Also one that could not be read, which is whole again then.
    static func write(_ row: NoticeRow, at now: WallTime, _ db: Database) throws {
        guard let machine = row.machine else { return }
        // The system keeps the content of a delivered one itself.
        let content = machine.standing == .asked ? row.content : nil
        try db.cachedStatement(
            sql: """
                INSERT INTO noticesMessage (\(columns), decided)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET channel = excluded.channel,
                seq = iif(typeof(seq) = 'integer', seq, excluded.seq),
                time = excluded.time, way = excluded.way, standing = excluded.standing,
                reason = excluded.reason, presentation = excluded.presentation,
                isRemote = excluded.isRemote, alerts = excluded.alerts,
                unconfirmed = excluded.unconfirmed, ended = excluded.ended,
                content = excluded.content,
                decided = iif(typeof(decided) = 'integer', decided, excluded.decided)
                """
        ).execute(arguments: [
            row.id.text, row.channel.text, row.seq, row.time.milliseconds,
            machine.standing.rawValue, machine.way.rawValue, machine.reason,
            machine.presentation.rawValue, machine.isRemote, machine.alerts, machine.unconfirmed,
            machine.ended, try content.map { try JSONEncoder().encode($0) }, now.milliseconds,
        ])
    }

    static func count(_ what: String, by number: Int64 = 1, _ db: Database) throws {
        guard number > 0 else { return }
        try db.cachedStatement(
            sql: """
                INSERT INTO noticesCount (what, count) VALUES (?, ?)
                ON CONFLICT (what) DO UPDATE SET count = count + excluded.count
                """
        ).execute(arguments: [what, number])
    }
}

/// The journal's row of one channel.
struct NoticeChannelRow: Hashable, Sendable {
    var channel: ChannelName
    var log: Int64
    var mark: String
    var cursor: Int64
    /// Nothing up to here is new.
    var before: Int64
    var read: Int64
    var start: Int64
    /// A push has said that the person has read up to there.
    var dismissed: Int64
    var head: Int64
    var unread: Int64
    /// Whether `unread` was counted here up to the head.
    var isExact: Bool
    /// A push has counted messages up to there; below zero: they never arrive.
    var wanted: Int64

    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt` if it cannot be read.
    static func find(_ channel: ChannelName, _ db: Database) throws -> NoticeChannelRow? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT log, mark, cursor, before, read, start, dismissed, head, unread, exact,
                    wanted FROM noticesChannel WHERE channel = ?
                    """), arguments: [channel.text])
        return try row.map { row in
            let found = NoticeChannelRow(
                channel: channel, log: try row.checked(0), mark: try row.checked(1),
                cursor: try row.checked(2), before: try row.checked(3), read: try row.checked(4),
                start: try row.checked(5), dismissed: try row.checked(6),
                head: try row.checked(7), unread: try row.checked(8),
                isExact: try row.checked(9), wanted: try row.checked(10))
            guard found.cursor >= 0 else { throw row.damaged("cursor") }
            guard (0...WireLimits.unreadCounted).contains(found.unread) else {
                throw row.damaged("unread")
            }
            return found
        }
    }

    /// What a channel whose row cannot be read has in the badge.
    static func unread(inUnreadable channel: ChannelName, _ db: Database) throws -> Int64 {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT MAX(0, \(NoticeBadgeRow.totalSQL) - (
                    SELECT CAST(TOTAL(unread) AS INTEGER) FROM noticesChannel WHERE channel <> ?))
                FROM noticesBadge
                """, arguments: [channel.text]) ?? 0
    }

    func write(at now: WallTime, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO noticesChannel (channel, log, mark, cursor, before, read,
                start, dismissed, head, unread, exact, wanted, changed)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            channel.text, log, mark, cursor, before, read, start, dismissed, head, unread, isExact,
            wanted, now.milliseconds,
        ])
    }
}

/// The figure at the icon, in the journal.
struct NoticeBadgeRow: Hashable, Sendable {
    /// The total; one that cannot be read is counted anew.
    static let totalSQL = """
        iif(typeof(total) = 'integer', total,
            (SELECT CAST(TOTAL(unread) AS INTEGER) FROM noticesChannel))
        """

    var total: Int64
    /// The server's newest count.
    var counted: Int64?
    var asOf: Int64
    /// The badge last set in the system; nil: none, or a push may have set another since.
    var shown: Int64?
    /// Whether a push has announced messages that the log does not have yet.
    var isBehind: Bool

    static func read(_ db: Database) throws -> NoticeBadgeRow {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT \(totalSQL), counted, asOf, shown,
                    EXISTS (SELECT 1 FROM noticesChannel INDEXED BY noticesChannelWanted
                            WHERE wanted > head) FROM noticesBadge
                    """))
        guard let row else {
            return NoticeBadgeRow(total: 0, counted: nil, asOf: 0, shown: nil, isBehind: false)
        }
        // A count of the server that cannot be read counts as none.
        let counted = try? (row.checked(1) as Int64, row.checked(2) as Int64)
        return NoticeBadgeRow(
            total: try row.checked(0), counted: counted?.0, asOf: counted?.1 ?? 0,
            shown: try? row.checked(3) as Int64, isBehind: try row.checked(4))
    }

    /// The server's count while our log is behind it; then our own.
    var effective: IconBadge {
        var badge = IconBadge()
        badge.total = total
        badge.count = total
        if isBehind, let counted {
            badge.count = counted
            badge.asOf = WallTime(milliseconds: asOf)
        }
        return badge
    }

    static func add(_ difference: Int64, _ db: Database) throws {
        guard difference != 0 else { return }
        try db.cachedStatement(sql: "UPDATE noticesBadge SET total = MAX(0, total + ?)")
            .execute(arguments: [difference])
    }

    static func shown(_ count: Int64, _ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE noticesBadge SET shown = ?1 WHERE shown IS NOT ?1")
            .execute(arguments: [count])
    }

    /// A push may have set the icon's badge.
    ///
    /// Makes a row whole that cannot be read: SQLite updates none with a value of another type.
    static func forgetShown(_ db: Database) throws {
        try db.cachedStatement(
            sql: """
                UPDATE noticesBadge SET shown = NULL, total = \(totalSQL),
                counted = iif(typeof(counted) = 'integer', counted, NULL),
                asOf = iif(typeof(asOf) = 'integer', asOf, 0)
                WHERE shown IS NOT NULL OR typeof(total) <> 'integer'
                OR typeof(counted) NOT IN ('integer', 'null') OR typeof(asOf) <> 'integer'
                """
        ).execute()
    }

    /// A count of the server: an older one never takes the place of a newer.
    ///
    /// - Returns: whether it was taken.
    static func counted(_ badge: PushHint.Badge, _ db: Database) throws -> Bool {
        try db.cachedStatement(
            sql: "UPDATE noticesBadge SET counted = ?1, asOf = ?2 WHERE asOf <= ?2"
        ).execute(arguments: [badge.count, badge.asOf.milliseconds])
        return db.changesCount > 0
    }
}
