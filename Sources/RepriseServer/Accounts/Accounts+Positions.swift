import GRDB
import RepriseCore
package import RepriseWire
import Synchronization

extension Accounts {
    /// Moves positions forward; a move back changes nothing, and costs no commit.
    ///
    /// A device's delivered position counts only while it is registered: see
    /// ``sawDevice(_:of:at:)``.
    ///
    /// - Parameter move: within the channel's head.
    /// - Returns: the user's position, durably.
    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``AccountLimits/waitingWrites``; the
    ///   disk's errors: then it may be stored or not, and repeating the call is harmless.
    package func move(_ move: PositionMove) async throws -> ServerFrame.Position {
        let queued = pushQueued.withLock { $0 }
        let (position, pushes) = try await write { db in
            let former = try Self.position(of: move.user, in: move.channel, db)
            let position = try Self.move(move, db)
            let pushes = try queued.map {
                try Self.queueDismissals(move, formerRead: former?.read ?? 0, $0, db)
            }
            return (position, pushes ?? 0)
        }
        if move.read != nil { noteMoved(move.user, move.channel) }
        if pushes > 0 { queued?.told(.apns, pushes) }
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
    package func positions(
        of channel: ChannelName, first: UserID?, limit: Int
    ) async throws -> [ServerFrame.Position] {
        try await read { db in
            var positions: [ServerFrame.Position] = []
            if let first {
                positions.append(
                    try Self.position(of: first, in: channel, db)
                        ?? ServerFrame.Position(user: first, read: 0, delivered: 0))
            }
            let isPrivate = try Self.record(of: channel, db)?.settings.visibility == .private
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
    package func onStandingMoved(_ body: @escaping @Sendable (UserID, ChannelName) -> Void) {
        standingMoved.withLock { $0 = body }
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
        try await read { db in
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
