import GRDB
import RepriseCore
package import RepriseWire

/// How far users have read and devices have received channels.
package final class PositionStore: Sendable {
    private let database: AccountsDatabase

    init(_ database: AccountsDatabase) { self.database = database }

    /// The positions of a channel's users: `first` before the others, even at 0, then sorted by
    /// name.
    ///
    /// Of a private channel the members alone; at most `limit` in all.
    package func all(
        of channel: ChannelName, first: UserID?, limit: Int
    ) async throws -> [ServerFrame.Position] {
        try await database.read { try Self.all(of: channel, first: first, limit: limit, $0) }
    }

    static func all(
        of channel: ChannelName, first: UserID?, limit: Int, _ db: Database
    ) throws -> [ServerFrame.Position] {
        var positions: [ServerFrame.Position] = []
        if let first {
            positions.append(
                try position(of: first, in: channel, db)
                    ?? ServerFrame.Position(user: first, read: 0, delivered: 0))
        }
        let visibility = try ChannelRecord.fetch(channel, db)?.settings.visibility
        let join = visibility ?? .public == .public ? "" : "JOIN members USING (channel, user)"
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
                let (read, delivered): (Int64, Int64) = try (row.checked(1), row.checked(2))
                let pushed: Int64? = try row.checked(3)
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
                deliveries.append(Delivery(user: try UserID(row.checked(0)), state: state))
            }
            return deliveries
        }
    }

    /// How far a message has come to each device of a user, most recently seen first.
    package func devices(
        of user: UserID, for seq: Int64, in channel: ChannelName
    ) async throws -> [DeviceDelivery] {
        try await database.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT d.id, d.platform, d.seen, d.push_token IS NOT NULL,
                    d.web_endpoint IS NOT NULL, coalesce(dp.delivered, 0), coalesce(dp.pushed, 0)
                    FROM devices d LEFT JOIN device_positions dp
                    ON dp.user = d.user AND dp.device = d.id AND dp.channel = ?
                    WHERE d.user = ? ORDER BY d.seen DESC, d.id
                    """, arguments: [channel.text, user.text]
            ).map { row in
                let (hasToken, hasEndpoint): (Bool, Bool) = try (row.checked(3), row.checked(4))
                let (delivered, pushed): (Int64, Int64) = try (row.checked(5), row.checked(6))
                return DeviceDelivery(
                    device: try EntryID(row.checked(0)), platform: try row.checked(1),
                    lastSeen: WallTime(milliseconds: try row.checked(2)),
                    services: (hasToken ? [PushService.apns] : [])
                        + (hasEndpoint ? [.webPush] : []),
                    isDelivered: delivered >= seq, isPushed: pushed >= seq)
            }
        }
    }

    static func position(
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
            user: try UserID(row.checked("user")), read: try row.checked("read"),
            delivered: try row.checked("delivered"))
    }
}
