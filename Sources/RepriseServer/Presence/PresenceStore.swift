import GRDB
import RepriseCore
package import RepriseWire

/// What the accounts know of presence: who is a member of what, who hides, and when others were
/// seen last.
package final class PresenceStore: Sendable {
    private static let rows = """
        SELECT members.user, hidden, seen FROM members
        LEFT JOIN presence ON presence.user = members.user WHERE members.channel = ?
        """

    private let database: AccountsDatabase

    init(_ database: AccountsDatabase) { self.database = database }

    /// Whether a user hides.
    package func isHidden(_ user: UserID) async throws -> Bool {
        try await database.read { db in
            try Bool.fetchOne(
                db, sql: "SELECT hidden FROM presence WHERE user = ?", arguments: [user.text])
                ?? false
        }
    }

    /// What a user may see of the members of channels, in one snapshot.
    package func sights(
        _ watches: [ClientFrame.Watch], for user: UserID
    ) async throws -> [PresenceBoard.Sight] {
        try await database.read { db in
            try watches.map { watch in
                guard try Member.fetch(user, of: watch.channel, db) != nil else {
                    return PresenceBoard.Sight(watch.channel, refusal: .forbidden)
                }
                guard let names = watch.users else {
                    return try Self.all(of: watch.channel, but: user, db)
                }
                return try Self.some(names, of: watch.channel, but: user, db)
            }
        }
    }

    private static func all(
        of channel: ChannelName, but user: UserID, _ db: Database
    ) throws -> PresenceBoard.Sight {
        let select = try db.cachedStatement(sql: rows + " ORDER BY members.user LIMIT ?")
        let found = try Row.fetchAll(
            select, arguments: [channel.text, WireLimits.watchedUsers + 1])
        guard found.count <= WireLimits.watchedUsers else {
            return PresenceBoard.Sight(channel, refusal: .tooManyMembers)
        }
        return PresenceBoard.Sight(
            channel, try found.map { try member($0) }.filter { $0.user != user })
    }

    private static func some(
        _ names: [UserID], of channel: ChannelName, but user: UserID, _ db: Database
    ) throws -> PresenceBoard.Sight {
        let select = try db.cachedStatement(sql: rows + " AND members.user = ?")
        let members = try Set(names).subtracting([user]).sorted().compactMap { name in
            try Row.fetchOne(select, arguments: [channel.text, name.text]).map { try member($0) }
        }
        return PresenceBoard.Sight(channel, members)
    }

    private static func member(_ row: Row) throws -> PresenceBoard.Member {
        let isHidden: Bool? = try row.checked("hidden")
        let seen: Int64? = try row.checked("seen")
        return PresenceBoard.Member(
            try UserID(row.checked("user")), isHidden: isHidden ?? false,
            seen: seen.map { WallTime(milliseconds: $0) })
    }
}
