import GRDB
package import RepriseCore
package import RepriseWire

/// A member of a channel.
package struct Member: Hashable, Sendable {
    package enum Role: String, Hashable, Sendable, CaseIterable {
        /// Manages members and settings, and may delete others' messages.
        case owner
        case member
    }

    package var user: UserID
    package var role: Role
    /// The head when the user joined.
    package var joined: Int64
    package var since: WallTime

    package init(user: UserID, role: Role, joined: Int64, since: WallTime) {
        self.user = user
        self.role = role
        self.joined = joined
        self.since = since
    }
}

/// Its row in `members`.
extension Member {
    init(row: Row) throws {
        guard let role = Role(rawValue: try row.checked("role")) else {
            throw RepriseError(.corrupt, "The accounts have a member that cannot be read.")
        }
        self.init(
            user: try UserID(row.checked("user")), role: role, joined: try row.checked("joined"),
            since: WallTime(milliseconds: try row.checked("since")))
    }

    static func fetch(
        _ user: UserID, of channel: ChannelName, _ db: Database
    ) throws -> Member? {
        let select = try db.cachedStatement(
            sql: "SELECT user, role, joined, since FROM members WHERE channel = ? AND user = ?")
        return try Row.fetchOne(select, arguments: [channel.text, user.text])
            .map(Member.init(row:))
    }

    /// Adds it to a channel that has a record, or changes its role.
    func save(in channel: ChannelName, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE members SET role = ? WHERE channel = ? AND user = ?",
            arguments: [role.rawValue, channel.text, user.text])
        guard db.changesCount == 0 else { return }
        try db.execute(
            sql: """
                INSERT INTO members (channel, user, role, joined, since) VALUES (?, ?, ?, ?, ?)
                """,
            arguments: [
                channel.text, user.text, role.rawValue, joined,
                since.milliseconds,
            ])
        try db.execute(
            sql: "UPDATE channels SET members = members + 1 WHERE name = ?",
            arguments: [channel.text])
    }
}
