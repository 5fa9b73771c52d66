import GRDB
package import RepriseCore
package import RepriseWire

/// A receipt: moves a user's positions forward, at most to the channel's head; a move back changes
/// nothing, and costs no commit.
///
/// A device's delivered position counts only while it is registered: see ``SawDevice``. Repeating
/// it is harmless.
package struct MovePosition: AccountCommand {
    package var channel: ChannelName
    package var user: UserID
    /// Whether the user's token makes him an admin, who may read everywhere.
    package var isAdmin: Bool
    /// The device that has received the messages; nil for a receipt over HTTP.
    package var device: EntryID?
    /// Nil leaves it unchanged.
    package var read: Int64?
    /// Likewise.
    package var delivered: Int64?

    package struct Outcome: Sendable {
        /// The user's position as it is now.
        package let position: ServerFrame.Position
        fileprivate let isRead: Bool
        fileprivate let dismissals: Int
    }

    package init(
        channel: ChannelName, user: UserID, isAdmin: Bool = false, device: EntryID?,
        read: Int64? = nil, delivered: Int64? = nil
    ) {
        self.channel = channel
        self.user = user
        self.isAdmin = isAdmin
        self.device = device
        self.read = read
        self.delivered = delivered
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.refused` for a user who may not read the channel.
    package func apply(in view: AccountsView) throws -> Outcome {
        let who = Principal(user: user, isAdmin: isAdmin)
        guard try view.grant(who, in: channel).mayRead else {
            throw RepriseError(.refused, "This user may not read this channel.")
        }
        let former =
            try PositionStore.position(of: user, in: channel, view.db)
            ?? ServerFrame.Position(user: user, read: 0, delivered: 0)
        let isAhead = (read ?? 0) > former.read || (delivered ?? 0) > former.delivered
        let head = isAhead ? try view.head(of: channel) : .max
        let position = ServerFrame.Position(
            user: user, read: max(former.read, min(read ?? 0, head)),
            delivered: max(former.delivered, min(delivered ?? 0, head)))
        if position != former { try save(position, view.db) }
        if let device, let delivered, min(delivered, head) > 0 {
            try save(delivered: min(delivered, head), to: device, view.db)
        }
        if let device, position.read > former.read { try view.noteActivity(of: user, on: device) }
        let dismissals = try view.pushes.queueDismissals(
            on: device, after: former.read, position, in: channel, at: view.time, view.db)
        return Outcome(
            position: position, isRead: position.read > former.read, dismissals: dismissals)
    }

    private func save(_ position: ServerFrame.Position, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO positions (channel, user, read, delivered) VALUES (?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET read = excluded.read, delivered = excluded.delivered
                """
        ).execute(arguments: [channel.text, user.text, position.read, position.delivered])
    }

    private func save(delivered: Int64, to device: EntryID, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO device_positions (user, device, channel, delivered)
                SELECT user, id, ?, ? FROM devices WHERE user = ? AND id = ?
                ON CONFLICT DO UPDATE SET delivered = excluded.delivered
                WHERE excluded.delivered > delivered
                """
        ).execute(arguments: [channel.text, delivered, user.text, device.text])
    }

    package func effects(of outcome: Outcome) -> AccountEffects {
        var effects = AccountEffects()
        if outcome.isRead { effects.unread = .init(user: user, channel: channel) }
        effects.moved = .init(channel: channel, position: outcome.position)
        effects.dismissals = outcome.dismissals
        return effects
    }
}
