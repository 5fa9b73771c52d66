package import GRDB
import RepriseCore
import RepriseJournal
package import RepriseWire

/// A channel's messages as a list shows them, in the caller's transaction.
///
/// Of the current epoch: a message of a former one has its sequence of the current one.
package struct ListRows: Sendable {
    /// The most messages of a page.
    static let limit = 500
    /// A page's limit of bytes, slightly exceeded at most, however large its messages are.
    static let pageBytes = 4 * 1_048_576

    let channel: ChannelName

    package init(channel: ChannelName) { self.channel = channel }

    /// The messages before a sequence, nil: the newest; oldest first.
    package func page(before: Int64?, limit: Int, _ db: Database) throws -> [ChannelMessage] {
        let limit = min(max(limit, 1), Self.limit)
        let logs = try Int64.fetchAll(
            db.cachedStatement(
                sql: "SELECT id FROM channelsLog WHERE channel = ? ORDER BY id DESC LIMIT 2"),
            arguments: [channel.text])
        let pending =
            try before == nil ? OwnMessages(channel: channel).pending(limit: limit, db) : []
        guard let log = logs.first else { return pending.suffix(limit).map(\.self) }
        let user = try String.fetchOne(
            db.cachedStatement(sql: "SELECT user FROM channelsDevice"))
        let keys = try keys(
            in: log, before: before ?? .max, limit: limit,
            hasFormer: logs.count > 1, db)
        var page: [ChannelMessage] = []
        var bytes = 0
        for key in keys where bytes < Self.pageBytes {
            // Leaves a broken row out, and shows the rest.
            guard
                let message = try? message(key, in: log, hasFormer: logs.count > 1, user: user, db)
            else { continue }
            bytes += message.body.count
            page.append(message)
        }
        let shown = try OwnMessages(channel: channel).standing(of: page.reversed(), db)
        // A message read just before its own event arrived appears once: under its sequence.
        let ids = Set(shown.map(\.id))
        let own = pending.filter { !ids.contains($0.id) }
        // One with a sequence stays, so that a page before this one can be read.
        let room = shown.isEmpty ? limit : limit - 1
        return shown.suffix(limit - min(own.count, room)) + own.suffix(room)
    }

    private struct Key {
        var seq: Int64
        var arrival: Int64
    }

    /// The positions of a page's messages, newest first.
    private func keys(in log: Int64, before: Int64, limit: Int, hasFormer: Bool, _ db: Database)
        throws -> [Key]
    {
        var rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT seq, arrival FROM channelsMessage
                    WHERE log = ? AND seq < ? AND change IS NULL ORDER BY seq DESC LIMIT ?
                    """), arguments: [log, before, limit])
        if hasFormer {
            rows += try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT a.seq, a.arrival FROM channelsAlias AS a
                        CROSS JOIN channelsMessage AS m ON m.arrival = a.arrival
                        WHERE a.log = ? AND a.seq < ? AND m.change IS NULL
                        ORDER BY a.seq DESC LIMIT ?
                        """), arguments: [log, before, limit])
        }
        let keys = try rows.map { Key(seq: try $0.integer(0), arrival: try $0.integer(1)) }
        return Array(keys.sorted { $0.seq > $1.seq }.prefix(limit))
    }

    private func message(
        _ key: Key, in log: Int64, hasFormer: Bool, user: String?, _ db: Database
    ) throws -> ChannelMessage? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT id, time, body, sender, deleted, log, seq FROM channelsMessage
                    WHERE arrival = ?
                    """), arguments: [key.arrival])
        guard let row else { return nil }
        let isDeleted = try row.integer(4) != 0
        var newest: Edit?
        if !isDeleted {
            var names = [(log: try row.integer(5), seq: try row.integer(6))]
            if hasFormer { names += try aliases(of: key.arrival, db) }
            var edits = try names.compactMap { try newestEdit(of: $0, in: log, db) }
            if hasFormer {
                edits += try names.filter { $0.log == log }
                    .compactMap { try newestFormerEdit(of: $0.seq, in: log, db) }
            }
            newest = edits.max { $0.seq < $1.seq }
        }
        let edit = newest?.body
        let sender = try row.optionalText(3)
        let id = try EntryID(try row.text(0))
        // A server without users names no author: there this user's own messages are those that
        // this device has sent.
        let isMine =
            try sender == nil ? OwnMessages(channel: channel).sent(id, db) : sender == user
        return ChannelMessage(
            id: id, seq: key.seq, from: try sender.map { try UserID($0) },
            time: WallTime(milliseconds: try row.integer(1)), body: try edit ?? row.bytes(2),
            isEdited: edit != nil, isDeleted: isDeleted, isMine: isMine, status: .sent)
    }

    /// The sequences that a message had in later epochs than its own, oldest first.
    private func aliases(of arrival: Int64, _ db: Database) throws -> [(log: Int64, seq: Int64)] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT log, seq FROM channelsAlias WHERE arrival = ? ORDER BY log"),
            arguments: [arrival]
        ).map { (try $0.integer(0), try $0.integer(1)) }
    }

    private struct Edit {
        var seq: Int64
        var body: [UInt8]
    }

    /// The edit with the greatest sequence wins, whenever it arrived.
    ///
    /// An edit of a former epoch counts if this epoch has it, too: no other device will ever see an
    /// edit that a restored server has lost.
    private func newestEdit(of name: (log: Int64, seq: Int64), in log: Int64, _ db: Database) throws
        -> Edit?
    {
        let row =
            name.log == log
            ? try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT seq, body FROM channelsMessage INDEXED BY channelsMessageByEdit
                        WHERE log = ? AND target = ? AND change = 1 AND deleted = 0
                        ORDER BY seq DESC LIMIT 1
                        """), arguments: [name.log, name.seq])
            : try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT a.seq, m.body FROM channelsMessage AS m
                        INDEXED BY channelsMessageByEdit
                        CROSS JOIN channelsAlias AS a ON a.arrival = m.arrival AND a.log = ?
                        WHERE m.log = ? AND m.target = ? AND m.change = 1 AND m.deleted = 0
                        ORDER BY a.seq DESC LIMIT 1
                        """), arguments: [log, name.log, name.seq])
        return try row.map { Edit(seq: try $0.integer(0), body: try $0.bytes(1)) }
    }

    /// An edit that already arrived in a former epoch, of a message that arrived in this one alone.
    private func newestFormerEdit(of seq: Int64, in log: Int64, _ db: Database) throws -> Edit? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT c.seq, m.body FROM channelsFormerChange AS c
                    CROSS JOIN channelsMessage AS m ON m.arrival = c.arrival
                    WHERE c.log = ? AND c.change = 1 AND c.target = ? AND m.deleted = 0
                    ORDER BY c.seq DESC LIMIT 1
                    """), arguments: [log, seq]
        ).map { Edit(seq: try $0.integer(0), body: try $0.bytes(1)) }
    }
}
