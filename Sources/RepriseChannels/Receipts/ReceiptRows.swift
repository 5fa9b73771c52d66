import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// The journal's rows of how far each user has read, and received, a channel.
///
/// They belong to an epoch: in another one they are void.
enum ReceiptRows {
    static let schema = """
        -- One's own read position, what the server is known to have of one's own positions, and its count of what is unread.
        CREATE TABLE channelsReceipt (
            channel TEXT PRIMARY KEY,
            epoch TEXT NOT NULL,
            read INTEGER NOT NULL DEFAULT 0,
            knownRead INTEGER NOT NULL DEFAULT 0,
            floor INTEGER NOT NULL DEFAULT 0,
            unread INTEGER NOT NULL DEFAULT 0,
            head INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;

        -- Where the other users stand.
        CREATE TABLE channelsPosition (
            channel TEXT NOT NULL,
            user TEXT NOT NULL,
            epoch TEXT NOT NULL,
            read INTEGER NOT NULL,
            delivered INTEGER NOT NULL,
            PRIMARY KEY (channel, user)
        ) STRICT, WITHOUT ROWID;
        """

    /// The epoch of a channel's current log; nil also if it cannot be read.
    static func epoch(of channel: ChannelName, _ db: Database) throws -> String? {
        try String.fetchOne(
            db.cachedStatement(
                sql: "SELECT epoch FROM channelsLog WHERE channel = ? ORDER BY id DESC LIMIT 1"),
            arguments: [channel.text]
        ).flatMap { try? Epoch($0).text }
    }

    /// Makes sure that a row of this epoch exists.
    private static func begin(_ epoch: String, of channel: ChannelName, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO channelsReceipt (channel, epoch) VALUES (?, ?)
                ON CONFLICT (channel) DO UPDATE SET epoch = excluded.epoch, read = 0,
                knownRead = 0, floor = 0, unread = 0, mentions = 0, head = 0 WHERE epoch != excluded.epoch
                """
        ).execute(arguments: [channel.text, epoch])
    }

    /// The user has read: the position never goes back.
    ///
    /// - Returns: the position; nil if this device has no log of the channel.
    static func read(through seq: Int64, in channel: ChannelName, _ db: Database) throws -> Int64? {
        guard let epoch = try epoch(of: channel, db) else { return nil }
        try begin(epoch, of: channel, db)
        return try Int64.fetchOne(
            db,
            sql: "UPDATE channelsReceipt SET read = MAX(read, ?) WHERE channel = ? RETURNING read",
            arguments: [min(max(seq, 0), WireLimits.greatestSequence), channel.text])
    }

    /// Stores the server's positions, and this user's own among them.
    ///
    /// - Returns: this user's own position.
    static func merge(
        _ news: ReceiptEvent, of channel: ChannelName, as user: UserID?, _ db: Database
    ) throws -> ReceiptsMachine.Status {
        let epoch = news.epoch.text
        try begin(epoch, of: channel, db)
        if let floor = news.floor {
            try db.execute(
                sql: "UPDATE channelsReceipt SET floor = MAX(floor, ?) WHERE channel = ?",
                arguments: [floor, channel.text])
        }
        if let unread = news.unread {
            try follow(channel, db)
            // A count of an older head never replaces one of a newer.
            try db.execute(
                sql: """
                    UPDATE channelsReceipt SET unread = ?1, mentions = ?2, head = ?3
                    WHERE channel = ?4 AND head <= ?3
                    """,
                arguments: [unread.count, unread.mentions, unread.head, channel.text])
        }
        // In order, so that which of them are kept at the limit does not depend on a hash.
        let positions = news.positions.values.sorted { $0.user.text < $1.user.text }
        for position in positions where position.user != user {
            try merge(position, epoch: epoch, of: channel, db)
        }
        let mine = user.flatMap { news.positions[$0] }
        let row = try Row.fetchOne(
            db,
            sql: """
                UPDATE channelsReceipt SET read = MAX(read, ?1), knownRead = MAX(knownRead, ?1)
                WHERE channel = ?2 RETURNING read, knownRead
                """, arguments: [mine?.read ?? 0, channel.text])
        return ReceiptsMachine.Status(
            read: try row?.integer(0) ?? 0, delivered: try durable(channel, epoch: epoch, db),
            known: .init(read: try row?.integer(1) ?? 0, delivered: mine?.delivered ?? 0))
    }

    /// The journal's part of a channel without a hole, if its log is of this epoch.
    private static func durable(_ channel: ChannelName, epoch: String, _ db: Database) throws
        -> Int64
    {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT epoch, coverage FROM channelsLog WHERE channel = ?
                    ORDER BY id DESC LIMIT 1
                    """), arguments: [channel.text])
        guard let row, (try? row.text(0)) == epoch else { return 0 }
        return row.watermark(1)
    }

    private static func merge(
        _ position: ServerFrame.Position, epoch: String, of channel: ChannelName, _ db: Database
    ) throws {
        // Room for as many users as a server reports: a dishonest one cannot fill the disk.
        try db.cachedStatement(
            sql: """
                INSERT INTO channelsPosition (channel, user, epoch, read, delivered)
                SELECT ?1, ?2, ?3, ?4, ?5
                WHERE (SELECT COUNT(*) FROM channelsPosition WHERE channel = ?1) < ?6
                OR EXISTS (SELECT 1 FROM channelsPosition WHERE channel = ?1 AND user = ?2)
                ON CONFLICT (channel, user) DO UPDATE SET
                read = CASE WHEN epoch = ?3 THEN MAX(read, ?4) ELSE ?4 END,
                delivered = CASE WHEN epoch = ?3 THEN MAX(delivered, ?5) ELSE ?5 END,
                epoch = ?3
                """
        ).execute(arguments: [
            channel.text, position.user.text, epoch, position.read, position.delivered,
            WireLimits.positions,
        ])
    }

    /// The other users' positions, as far as this device knows them.
    static func positions(of channel: ChannelName, _ db: Database) throws
        -> [UserID: ServerFrame.Position]
    {
        guard let epoch = try epoch(of: channel, db) else { return [:] }
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT user, read, delivered FROM channelsPosition
                    WHERE channel = ? AND epoch = ?
                    """), arguments: [channel.text, epoch])
        var positions: [UserID: ServerFrame.Position] = [:]
        for row in rows {
            let user = try UserID(try row.text(0))
            positions[user] = .init(
                user: user, read: try row.integer(1), delivered: try row.integer(2))
        }
        return positions
    }

    /// Takes the server's count of a channel that this device does not follow; says whether
    /// anything has changed.
    ///
    /// Without a count all is read, or the user is no member any more.
    static func count(
        _ unread: Unread?, of channel: ChannelName, _ epoch: Epoch, _ db: Database
    ) throws -> Bool {
        if unread != nil { try begin(epoch.text, of: channel, db) }
        let unread = unread ?? Unread(count: 0, head: 0)
        try db.cachedStatement(
            sql: """
                UPDATE channelsReceipt SET unread = ?1, mentions = ?2, head = ?3, elsewhere = 1
                WHERE channel = ?4
                    AND (unread <> ?1 OR mentions <> ?2 OR head <> ?3 OR elsewhere = 0)
                """
        ).execute(arguments: [unread.count, unread.mentions, unread.head, channel.text])
        return db.changesCount > 0
    }

    /// This device counts by itself again.
    static func follow(_ channel: ChannelName, _ db: Database) throws {
        try db.cachedStatement(
            sql: "UPDATE channelsReceipt SET elsewhere = 0 WHERE channel = ? AND elsewhere = 1"
        ).execute(arguments: [channel.text])
    }

    /// The channels that the server has counted for this device.
    static func elsewhere(_ db: Database) throws -> [ChannelName] {
        try String.fetchAll(db, sql: "SELECT channel FROM channelsReceipt WHERE elsewhere = 1")
            .compactMap { try? ChannelName($0) }
    }

    /// The furthest position among the others.
    static func furthest(in channel: ChannelName, _ db: Database) throws
        -> (delivered: Int64, read: Int64)
    {
        guard let epoch = try epoch(of: channel, db) else { return (0, 0) }
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT MAX(MAX(delivered, read)), MAX(read) FROM channelsPosition
                    WHERE channel = ? AND epoch = ?
                    """), arguments: [channel.text, epoch])
        return (
            Int64.fromDatabaseValue(row?[0] ?? .null) ?? 0,
            Int64.fromDatabaseValue(row?[1] ?? .null) ?? 0
        )
    }

    /// The last sequence before those that can be unread.
    static func readPosition(in channel: ChannelName, _ db: Database) throws -> Int64 {
        guard let epoch = try epoch(of: channel, db) else { return 0 }
        let receipt = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT read, floor FROM channelsReceipt WHERE channel = ? AND epoch = ?"),
            arguments: [channel.text, epoch])
        guard let receipt else { return 0 }
        return Unread.start(
            read: try receipt.integer(0), joined: 0, floor: try receipt.integer(1))
    }

    /// The unread count: counted here if this device follows the channel and the journal has
    /// everything up to the head, otherwise the server's count.
    static func unread(in channel: ChannelName, _ db: Database) throws -> Unread {
        let elsewhere = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT unread, head, mentions FROM channelsReceipt
                    WHERE channel = ? AND elsewhere = 1
                    """), arguments: [channel.text])
        if let elsewhere {
            return Unread(
                count: try elsewhere.integer(0), head: try elsewhere.integer(1),
                mentions: try elsewhere.integer(2))
        }
        let log = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT id, epoch, coverage, head FROM channelsLog
                    WHERE channel = ? ORDER BY id DESC LIMIT 1
                    """), arguments: [channel.text])
        guard let log else { return Unread(count: 0, head: 0) }
        let receipt = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT read, floor, unread, head, mentions FROM channelsReceipt
                    WHERE channel = ? AND epoch = ?
                    """), arguments: [channel.text, log[1] as DatabaseValue])
        let read = try receipt?.integer(0) ?? 0
        let counted = Unread(
            count: try receipt?.integer(2) ?? 0, head: try receipt?.integer(3) ?? 0,
            mentions: try receipt?.integer(4) ?? 0)
        guard let head = try? log.integer(3), head >= counted.head,
            log.watermark(2) >= head
        else { return read >= counted.head ? Unread(count: 0, head: counted.head) : counted }
        let start = Unread.start(read: read, joined: 0, floor: try receipt?.integer(1) ?? 0)
        let id = try log.integer(0)
        return Unread(
            count: try count(after: start, in: id, db), head: head,
            mentions: try count(after: start, in: id, isMentioned: true, db))
    }

    private static func count(
        after start: Int64, in log: Int64, isMentioned: Bool = false, _ db: Database
    ) throws -> Int64 {
        var conditions = """
            m.change IS NULL AND m.deleted = 0
            AND (m.sender IS NULL OR m.sender IS NOT (SELECT user FROM channelsDevice))
            """
        if isMentioned {
            conditions += """
                 AND m.mentions IS NOT NULL AND instr(' ' || m.mentions || ' ',
                    ' ' || (SELECT user FROM channelsDevice) || ' ') > 0
                """
        }
        return try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT COUNT(*) FROM (
                        SELECT 1 FROM channelsMessage AS m
                        WHERE m.log = ?1 AND m.seq > ?2 AND \(conditions)
                        UNION ALL
                        SELECT 1 FROM channelsAlias AS a
                        JOIN channelsMessage AS m ON m.arrival = a.arrival
                        WHERE a.log = ?1 AND a.seq > ?2 AND \(conditions)
                        LIMIT ?3
                    )
                    """), arguments: [log, start, WireLimits.unreadCounted]) ?? 0
    }
}

/// The server's positions of a channel that are not stored yet.
struct ReceiptEvent: Sendable {
    var epoch: Epoch
    var floor: Int64?
    var positions: [UserID: ServerFrame.Position] = [:]
    var unread: Unread?
    /// Whether the server has told all positions: only then it accepts receipts.
    var isOpen = false

    /// - Returns: no more users are kept than a server reports.
    mutating func add(_ position: ServerFrame.Position) {
        guard let known = positions[position.user] else {
            if positions.count <= WireLimits.positions { positions[position.user] = position }
            return
        }
        positions[position.user]?.read = max(known.read, position.read)
        positions[position.user]?.delivered = max(known.delivered, position.delivered)
    }

    /// All of it, with the server's later positions.
    func followed(by newer: ReceiptEvent) -> ReceiptEvent {
        var all = self
        for position in newer.positions.values { all.add(position) }
        all.floor = newer.floor ?? floor
        all.unread = newer.unread ?? unread
        all.isOpen = isOpen || newer.isOpen
        return all
    }
}
