package import GRDB
package import RepriseCore
package import RepriseJournal
package import RepriseWire

/// What a journal knows of one message: its way from the outbox to the readers and their receipts.
package struct MessageReading: Hashable, Sendable {
    /// The message in this device's outbox.
    package struct Sent: Hashable, Sendable {
        package let entry: EntryReading
        package let change: MessageChange<EntryID>?
        /// The sequence that the server answered with, while the journal keeps it.
        package let seq: Int64?
        package let refusal: Refusal?
    }

    /// Why the server has refused it for good.
    package struct Refusal: Hashable, Sendable {
        package let code: String
        package let message: String
        package let at: WallTime
    }

    /// The message as the server has sent it.
    package struct Received: Hashable, Sendable {
        package let epoch: String
        /// Its sequence in the epoch in which it came.
        package let seq: Int64
        /// When it was stored, by the server's clock.
        package let time: WallTime
        package let from: String?
        package let change: MessageChange<Int64>?
        package let isDeleted: Bool
        package let edits: Int64
        /// Its place among the messages of this journal.
        package let arrival: Int64
        /// Its sequence in the current epoch; nil if it has not come again since.
        package let current: Int64?
    }

    package enum Status: Hashable, Sendable {
        /// The reader has not come to it.
        case ahead
        /// With its handler; or it was, when its process died.
        case dispatched
        case handled
        case waiting(until: WallTime)
        case dead
        case unconfirmed
    }

    /// One reader of the channel.
    package struct Reader: Hashable, Sendable {
        package let name: String
        package let status: Status
        /// How often it was dispatched; nil where the journal does not keep that.
        package let attempts: Int64?
        package let reason: String?
    }

    /// The channel's current log.
    package struct Log: Hashable, Sendable {
        package let epoch: String
        package let coverage: Coverage
        package let head: Int64
        package let losses: [Loss]
        /// The user's own read position.
        package let read: Int64
        /// The other users' positions.
        package let positions: [ServerFrame.Position]

        /// Why the server could not deliver this sequence; nil for no such reason.
        package func loss(of seq: Int64) -> String? {
            losses.first { $0.after < seq && seq <= $0.through ?? .max }?.reason
        }
    }

    package struct Loss: Hashable, Sendable {
        package let after: Int64
        /// Nil: nobody knows how many.
        package let through: Int64?
        package let reason: String
    }

    /// The most readers, and the most lost ranges, that are read.
    package static let most = 100

    package let id: EntryID
    /// This device's id for the server.
    package let device: String
    /// The user that the server takes it for.
    package let user: String?
    /// Where the message belongs; nil where neither the journal nor the caller says so.
    package let channel: String?
    package let sent: Sent?
    package let received: Received?
    /// Why its row in the outbox was put aside; nil if it was not.
    package let damage: String?
    /// Whether its id is known, though it has left the journal.
    package let isFormer: Bool
    package let readers: [Reader]
    package let log: Log?

    /// Whether the journal knows the message.
    package var isKnown: Bool { sent != nil || received != nil || damage != nil || isFormer }

    /// The newest known sequence.
    package var seq: Int64? { received?.current ?? received?.seq ?? sent?.seq }

    /// Reads in the current transaction; looks at every message of the journal, which has no index
    /// of ids.
    ///
    /// - Parameters:
    ///   - id: the message.
    ///   - named: its channel, where the caller knows it.
    ///   - db: the journal's database.
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt`, and database errors.
    package init(_ id: EntryID, in named: ChannelName?, _ db: Database) throws {
        self.id = id
        device = try ChannelStore.device(db).text
        user = try ChannelReading.user(db)?.text
        let sent = try Self.sent(id, db)
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT m.arrival, m.log, m.seq, m.time, m.sender, m.change, m.target, m.deleted,
                g.channel, g.epoch
                FROM channelsMessage AS m JOIN channelsLog AS g ON g.id = m.log
                WHERE m.id = ? ORDER BY m.arrival DESC LIMIT 1
                """, arguments: [id.text])
        let channel = try row?.text(8) ?? sent?.entry.partitionKey ?? named?.text
        self.sent = sent
        self.channel = channel
        received = try row.map { try Self.received($0, db) }
        damage = try Journal.damage(of: id, in: db)
        isFormer =
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM channelsFormer WHERE id = ?)",
                arguments: [id.text]) ?? false
        readers = try row.map { try Self.readers(of: $0, db) } ?? []
        log = try channel.flatMap { try? ChannelName($0) }.flatMap { try Self.log(of: $0, db) }
    }

    private static func sent(_ id: EntryID, _ db: Database) throws -> Sent? {
        guard let entry = try Journal.reading(of: id, in: db),
            entry.kind == OutboxMachine.kind.name
        else { return nil }
        let content = try Journal.entry(id, in: db).flatMap { try? OutboxContent($0) }
        let seq = try Int64.fetchOne(
            db, sql: "SELECT seq FROM channelsSent WHERE channel = ? AND id = ? LIMIT 1",
            arguments: [entry.partitionKey, id.text])
        let row = try Row.fetchOne(
            db, sql: "SELECT code, message, time FROM channelsRefused WHERE id = ?",
            arguments: [id.text])
        let refusal = try row.map { row in
            Refusal(
                code: try row.text(0), message: try row.text(1),
                at: WallTime(milliseconds: try row.integer(2)))
        }
        return Sent(entry: entry, change: content?.change, seq: seq, refusal: refusal)
    }

    private static func received(_ row: Row, _ db: Database) throws -> Received {
        let (arrival, log, seq) = (try row.integer(0), try row.integer(1), try row.integer(2))
        let edits = try Int64.fetchOne(
            db,
            sql: """
                SELECT COUNT(*) FROM channelsMessage WHERE log = ? AND change = 1 AND target = ?
                """, arguments: [log, seq])
        let newest = try Int64.fetchOne(
            db, sql: "SELECT MAX(id) FROM channelsLog WHERE channel = ?",
            arguments: [try row.text(8)])
        let again = try Int64.fetchOne(
            db, sql: "SELECT seq FROM channelsAlias WHERE arrival = ? AND log = ?",
            arguments: [arrival, newest])
        return Received(
            epoch: try row.text(9), seq: seq, time: WallTime(milliseconds: try row.integer(3)),
            from: try row.optionalText(4), change: try row.change(5, target: 6),
            isDeleted: try row.integer(7) != 0, edits: edits ?? 0, arrival: arrival,
            current: log == newest ? seq : again)
    }

    // MARK: Readers

    private static func readers(of message: Row, _ db: Database) throws -> [Reader] {
        let (arrival, log) = (try message.integer(0), try message.integer(1))
        let (seq, channel) = (try message.integer(2), try message.text(8))
        let rank =
            try Int.fetchOne(
                db, sql: "SELECT COUNT(*) FROM channelsLog WHERE channel = ? AND id < ?",
                arguments: [channel, log]) ?? 0
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT r.name, r.cursor, r.handing, r.ordered, e.state, e.attempts, e.reason, e.due
                FROM channelsReader AS r
                LEFT JOIN channelsException AS e ON e.reader = r.id AND e.arrival = ?
                WHERE r.channel = ? ORDER BY r.name LIMIT ?
                """, arguments: [arrival, channel, most])
        return try rows.map { row in
            let isOrdered = try row.integer(3) != 0
            let place = isOrdered ? OrderedPosition.position(rank: rank, seq: seq) : arrival
            return Reader(
                name: try row.text(0), status: try status(of: place, row),
                attempts: try row.optionalInteger(5), reason: try row.optionalText(6))
        }
    }

    private static func status(of place: Int64, _ row: Row) throws -> Status {
        guard let state = try row.optionalInteger(4) else {
            if place <= (try row.integer(1)) { return .handled }
            return place <= (try row.integer(2)) ? .dispatched : .ahead
        }
        return switch ReaderStore.State(rawValue: state) {
        case .dispatched: .dispatched
        case .dead: .dead
        case .unconfirmed: .unconfirmed
        case .waiting, nil: .waiting(until: WallTime(milliseconds: try row.integer(7)))
        }
    }

    // MARK: The log

    private static func log(of channel: ChannelName, _ db: Database) throws -> Log? {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT g.id, g.epoch, g.coverage, g.head, COALESCE(r.read, 0)
                FROM channelsLog AS g LEFT JOIN channelsReceipt AS r
                ON r.channel = g.channel AND r.epoch = g.epoch
                WHERE g.channel = ? ORDER BY g.id DESC LIMIT 1
                """, arguments: [channel.text])
        guard let row else { return nil }
        let losses = try Row.fetchAll(
            db,
            sql: """
                SELECT after, through, reason FROM channelsLost WHERE log = ?
                ORDER BY id DESC LIMIT ?
                """, arguments: [try row.integer(0), most])
        let positions = try ReceiptRows.positions(of: channel, db)
        return Log(
            epoch: try row.text(1), coverage: try Coverage(parsing: try row.text(2)),
            head: try row.integer(3),
            losses: try losses.map {
                Loss(
                    after: try $0.integer(0), through: try $0.optionalInteger(1),
                    reason: try $0.text(2))
            }, read: try row.integer(4),
            positions: positions.values.sorted { $0.user.text < $1.user.text })
    }
}
