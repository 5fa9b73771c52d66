import GRDB
import RepriseCore
import RepriseWire

/// This user's messages in a list: those that the log does not have yet, and the status of the
/// rest.
struct OwnMessages: Sendable {
    let channel: ChannelName

    /// Messages that wait, are stored and not yet received back, or failed; with this user's
    /// waiting edits applied.
    func pending(limit: Int, _ db: Database) throws -> [ChannelMessage] {
        let rows = try OutboxRows.pending(in: channel, limit: limit, db)
        let user = try String.fetchOne(
            db.cachedStatement(sql: "SELECT user FROM channelsDevice"))
        let changes = rows.filter { $0.change != nil && !$0.standing.isFailed }
        let from = try user.map { try UserID($0) }
        return rows.filter { $0.change == nil }.compactMap { row in
            let mine = changes.filter { $0.change?.target == row.id }
            if mine.contains(where: { $0.change == .deletes(row.id) }) { return nil }
            return ChannelMessage(
                id: row.id, seq: row.standing.seq, from: from, time: row.recordedAt,
                body: mine.last?.body ?? row.body, isEdited: !mine.isEmpty, isDeleted: false,
                isMine: true, status: row.standing.status)
        }
    }

    /// Whether this device has sent a message, for as long as the journal keeps ended entries.
    func sent(_ id: EntryID, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT EXISTS (
                    SELECT 1 FROM entry WHERE id = ? AND kind = ? AND lane = ? AND state = 10)
                    """),
            arguments: [id.text, OutboxMachine.kind.name, channel.text]) ?? false
    }

    /// The log's messages, with the status of this user's own.
    func standing(of messages: [ChannelMessage], _ db: Database) throws -> [ChannelMessage] {
        guard messages.contains(where: \.isMine) else { return messages }
        let (delivered, read) = try ReceiptRows.furthest(in: channel, db)
        return messages.map { message in
            guard message.isMine, let seq = message.seq else { return message }
            return message.with(seq <= read ? .read : seq <= delivered ? .delivered : .sent)
        }
    }
}

extension OutboxRows.Pending.Status {
    fileprivate var isFailed: Bool { if case .failed = self { true } else { false } }

    fileprivate var seq: Int64? { if case .sent(let seq) = self { seq } else { nil } }

    fileprivate var status: ChannelMessage.Status {
        switch self {
        case .pending: .pending
        case .sent: .sent
        case .failed(let reason): .failed(reason: reason)
        }
    }
}

extension ChannelMessage {
    fileprivate func with(_ status: Status) -> ChannelMessage {
        ChannelMessage(
            id: id, seq: seq, from: from, time: time, body: body, isEdited: isEdited,
            isDeleted: isDeleted, isMine: isMine, status: status)
    }
}
