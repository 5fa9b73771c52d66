import GRDB
import RepriseCore
package import RepriseWire
import Synchronization

/// How far users have read and devices have received channels.
package final class PositionStore: Sendable {
    private let database: AccountsDatabase
    private let pushQueue: PushQueue
    private let unreadMoved = Mutex<(@Sendable (UserID, ChannelName) -> Void)?>(nil)

    init(_ database: AccountsDatabase, _ pushQueue: PushQueue) {
        self.database = database
        self.pushQueue = pushQueue
    }

    /// Moves positions forward; a move back changes nothing, and costs no commit.
    ///
    /// A device's delivered position counts only while it is registered: see
    /// ``DeviceRegistry/saw(_:of:at:)``.
    ///
    /// - Parameter move: within the channel's head.
    /// - Returns: the user's position, durably.
    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``AccountLimits/waitingWrites``; the
    ///   disk's errors: then it may be stored or not, and repeating the call is harmless.
    package func move(_ move: PositionMove) async throws -> ServerFrame.Position {
        let (position, dismissals) = try await database.write { [pushQueue] db in
            let former = try Self.position(of: move.user, in: move.channel, db)
            let position = try Self.move(move, db)
            let dismissals = try pushQueue.queueDismissals(
                after: move, formerRead: former?.read ?? 0, db)
            return (position, dismissals)
        }
        if move.read != nil { unreadMoved.withLock { $0 }?(move.user, move.channel) }
        pushQueue.queuedDismissals(dismissals)
        return position
    }

    private static func move(
        _ move: PositionMove, _ db: Database
    ) throws -> ServerFrame.Position {
        let former =
            try position(of: move.user, in: move.channel, db)
            ?? ServerFrame.Position(user: move.user, read: 0, delivered: 0)
        let position = ServerFrame.Position(
            user: move.user, read: max(former.read, move.read ?? 0),
            delivered: max(former.delivered, move.delivered ?? 0))
        if position != former {
            try db.cachedStatement(
                sql: """
                    INSERT INTO positions (channel, user, read, delivered) VALUES (?, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET read = excluded.read, delivered = excluded.delivered
                    """
            ).execute(arguments: [
                move.channel.text, move.user.text, position.read, position.delivered,
            ])
        }
        if let device = move.device, let delivered = move.delivered, delivered > 0 {
            try db.cachedStatement(
                sql: """
                    INSERT INTO device_positions (user, device, channel, delivered)
                    SELECT user, id, ?, ? FROM devices WHERE user = ? AND id = ?
                    ON CONFLICT DO UPDATE SET delivered = excluded.delivered
                    WHERE excluded.delivered > delivered
                    """
            ).execute(arguments: [move.channel.text, delivered, move.user.text, device.text])
        }
        return position
    }

    /// The positions of a channel's users: `first` before the others, even at 0, then sorted by
    /// name.
    ///
    /// Of a private channel the members alone; at most `limit` in all.
    package func all(
        of channel: ChannelName, first: UserID?, limit: Int
    ) async throws -> [ServerFrame.Position] {
        try await database.read { db in
            var positions: [ServerFrame.Position] = []
            if let first {
                positions.append(
                    try Self.position(of: first, in: channel, db)
                        ?? ServerFrame.Position(user: first, read: 0, delivered: 0))
            }
            let isPrivate = try ChannelRecord.fetch(channel, db)?.settings.visibility == .private
            let join =
                isPrivate ? "JOIN members USING (channel, user)" : ""
            return try positions
                + Row.fetchAll(
                    db,
                    sql: """
                        SELECT user, read, delivered FROM positions \(join)
                        WHERE channel = ? AND user <> ? ORDER BY user LIMIT ?
                        """,
                    arguments: [
                        channel.text, first?.text ?? "", max(limit - positions.count, 0),
                    ]
                ).map(ServerFrame.Position.init(row:))
        }
    }

    /// Calls `body` when a user's position or membership in a channel has changed; it must not
    /// block.
    ///
    /// Called when the change is durable, before its call returns.
    package func onUnreadMoved(_ body: @escaping @Sendable (UserID, ChannelName) -> Void) {
        unreadMoved.withLock { $0 = body }
    }

    /// A user has joined or left a channel; the change is durable.
    func membershipChanged(of user: UserID, in channel: ChannelName) {
        unreadMoved.withLock { $0 }?(user, channel)
    }

    /// The channels of users, each with the last message before the first that can be unread; at
    /// most ``PushLimits/badgeChannels`` per user.
    ///
    /// - Parameters:
    ///   - users: each with the requested channels, or nil for all.
    ///   - limit: the number of channels beyond which no further user is added.
    /// - Returns: for the users from the first on, the requested channels of which each is a
    ///   member, in one snapshot.
    /// - Throws: ``RepriseCore/RepriseError``.
    package func unreadStarts(
        _ users: [(UserID, channels: [ChannelName]?)], atMost limit: Int = .max
    ) async throws -> [[(ChannelName, after: Int64)]] {
        try await database.read { db in
            var (all, count) = ([[(ChannelName, after: Int64)]](), 0)
            for (user, channels) in users where count < limit {
                let starts =
                    if let channels {
                        try channels.compactMap { channel in
                            try Self.unreadStart(of: user, in: channel, db)
                                .map { (channel, after: $0) }
                        }
                    } else {
                        try Self.unreadStarts(of: user, db)
                    }
                count += starts.count
                all.append(starts)
            }
            return all
        }
    }

    private static func unreadStarts(
        of user: UserID, _ db: Database
    ) throws -> [(ChannelName, after: Int64)] {
        var rows = try FastStatement(
            db,
            """
            SELECT m.channel, max(m.joined, coalesce(p.read, 0)) FROM members m
            LEFT JOIN positions p ON p.channel = m.channel AND p.user = m.user
            WHERE m.user = ? ORDER BY m.channel LIMIT ?
            """)
        defer { rows.reset() }
        try rows.bind(user.text)
        try rows.bind(Int64(PushLimits.badgeChannels))
        var starts: [(ChannelName, after: Int64)] = []
        while try rows.step() {
            starts.append((try ChannelName(rows.text(0)), after: rows.integer(1)))
        }
        return starts
    }

    /// Nil for a non-member.
    private static func unreadStart(
        of user: UserID, in channel: ChannelName, _ db: Database
    ) throws -> Int64? {
        var row = try FastStatement(
            db,
            """
            SELECT max(m.joined, coalesce(p.read, 0)) FROM members m
            LEFT JOIN positions p ON p.channel = m.channel AND p.user = m.user
            WHERE m.channel = ? AND m.user = ?
            """)
        defer { row.reset() }
        try row.bind(channel.text)
        try row.bind(user.text)
        return try row.step() ? row.integer(0) : nil
    }
    /// The delivery states of a message, sorted by member; members who joined after it are left
    /// out.
    package func deliveries(
        of seq: Int64, in channel: ChannelName, after: UserID?, limit: Int
    ) async throws -> [Delivery] {
        try await database.read { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT m.user, coalesce(p.read, 0), coalesce(p.delivered, 0),
                    (SELECT max(dp.pushed) FROM devices d JOIN device_positions dp
                     ON dp.user = d.user AND dp.device = d.id AND dp.channel = m.channel
                     WHERE d.user = m.user)
                    FROM members m LEFT JOIN positions p
                    ON p.channel = m.channel AND p.user = m.user
                    WHERE m.channel = ? AND m.user > ? AND m.joined < ? ORDER BY m.user LIMIT ?
                    """,
                arguments: [channel.text, after?.text ?? "", seq, max(limit, 0)])
            var deliveries: [Delivery] = []
            while let row = try rows.next() {
                let (read, delivered): (Int64, Int64) = (row[1], row[2])
                let pushed: Int64? = row[3]
                let state: Delivery.State =
                    if read >= seq {
                        .read
                    } else if delivered >= seq {
                        .delivered
                    } else if (pushed ?? 0) >= seq {
                        .pushed
                    } else {
                        .stored
                    }
                deliveries.append(Delivery(user: try UserID(row[0]), state: state))
            }
            return deliveries
        }
    }

    private static func position(
        of user: UserID, in channel: ChannelName, _ db: Database
    ) throws -> ServerFrame.Position? {
        let select = try db.cachedStatement(
            sql: "SELECT user, read, delivered FROM positions WHERE channel = ? AND user = ?")
        return try Row.fetchOne(select, arguments: [channel.text, user.text])
            .map(ServerFrame.Position.init(row:))
    }
}

extension ServerFrame.Position {
    fileprivate init(row: Row) throws {
        self.init(
            user: try UserID(row["user"]), read: row["read"], delivered: row["delivered"])
    }
}
