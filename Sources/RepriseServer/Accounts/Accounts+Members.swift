import GRDB
package import RepriseCore
package import RepriseWire

extension Accounts {
    /// The members of a channel, sorted by name.
    package func members(
        of channel: ChannelName, after: UserID?, limit: Int
    ) async throws -> [Member] {
        try await read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT user, role, joined, since FROM members
                    WHERE channel = ? AND user > ? ORDER BY user LIMIT ?
                    """, arguments: [channel.text, after?.text ?? "", max(limit, 0)]
            ).map(Member.init(row:))
        }
    }

    /// One member of a channel; nil for a non-member.
    package func member(_ user: UserID, in channel: ChannelName) async throws -> Member? {
        try await read { try Self.member(user, of: channel, $0) }
    }

    /// The number of a channel's members.
    package func memberCount(of channel: ChannelName) async throws -> Int {
        try await read { db in
            let select = try db.cachedStatement(
                sql: "SELECT members FROM channels WHERE name = ?")
            return try Int.fetchOne(select, arguments: [channel.text]) ?? 0
        }
    }

    /// Adds a member, or changes an existing member's role and keeps `joined` and `since`.
    ///
    /// Where channels that nobody made are public, this creates a record of a public channel
    /// without an owner.
    ///
    /// - Parameters:
    ///   - user: the member.
    ///   - role: the role.
    ///   - joined: the channel's head.
    ///   - channel: the channel.
    ///   - who: the caller; nil for the server itself.
    ///   - time: now.
    /// - Returns: the member as it is now.
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` if the channel does not exist, `.full` at
    ///   ``AccountLimits/members``, and at ``AccountLimits/membersMade`` unless the caller is an
    ///   admin or the user.
    @discardableResult
    package func setMember(
        _ user: UserID, role: Member.Role, joined: Int64, in channel: ChannelName,
        by who: Principal? = nil, at time: WallTime
    ) async throws -> Member {
        let change = try await write(
            affects: { (change: MemberChange) in change.affectsAccess ? (channel, user) : nil }
        ) { [implicitChannels] db in
            let former = try Self.member(user, of: channel, db)
            let member = Member(
                user: user, role: role, joined: former?.joined ?? joined,
                since: former?.since ?? time)
            if former == member { return MemberChange(member: member, affectsAccess: false) }
            if former == nil {
                try Self.expectRoom(in: channel, db)
                if let who, !who.isAdmin, who.user != user {
                    try Self.expectRoom(forMembersOf: channel, db)
                }
                if try Self.record(of: channel, db) == nil {
                    guard implicitChannels else {
                        throw RepriseError(.refused, "There is no such channel.")
                    }
                    try Self.write(
                        ChannelRecord(
                            name: channel, settings: ChannelSettings(), maker: nil, made: time),
                        db)
                }
            }
            try Self.insert(member, into: channel, db)
            return MemberChange(member: member, affectsAccess: true)
        }
        return change.member
    }

    private struct MemberChange: Sendable {
        let member: Member
        let affectsAccess: Bool
    }

    /// Ends a membership; the user's positions stay.
    ///
    /// - Returns: whether the user was a member.
    /// - Throws: ``RepriseCore/RepriseError``.
    @discardableResult
    package func removeMember(_ user: UserID, from channel: ChannelName) async throws -> Bool {
        try await write(affects: { wasMember in wasMember ? (channel, user) : nil }) { db in
            try db.execute(
                sql: "DELETE FROM members WHERE channel = ? AND user = ?",
                arguments: [channel.text, user.text])
            guard db.changesCount > 0 else { return false }
            try db.execute(
                sql: "UPDATE channels SET members = members - 1 WHERE name = ?",
                arguments: [channel.text])
            return true
        }
    }

    // MARK: Rows

    static func member(
        _ user: UserID, of channel: ChannelName, _ db: Database
    ) throws -> Member? {
        let select = try db.cachedStatement(
            sql: "SELECT user, role, joined, since FROM members WHERE channel = ? AND user = ?")
        return try Row.fetchOne(select, arguments: [channel.text, user.text])
            .map(Member.init(row:))
    }

    /// Adds a member to a channel that has a record, or changes one's role.
    static func insert(_ member: Member, into channel: ChannelName, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE members SET role = ? WHERE channel = ? AND user = ?",
            arguments: [member.role.rawValue, channel.text, member.user.text])
        guard db.changesCount == 0 else { return }
        try db.execute(
            sql: """
                INSERT INTO members (channel, user, role, joined, since) VALUES (?, ?, ?, ?, ?)
                """,
            arguments: [
                channel.text, member.user.text, member.role.rawValue, member.joined,
                member.since.milliseconds,
            ])
        try db.execute(
            sql: "UPDATE channels SET members = members + 1 WHERE name = ?",
            arguments: [channel.text])
    }

    private static func expectRoom(in channel: ChannelName, _ db: Database) throws {
        let count = try Int.fetchOne(
            db, sql: "SELECT members FROM channels WHERE name = ?", arguments: [channel.text])
        guard (count ?? 0) < AccountLimits.members else {
            throw RepriseError(
                .full, "A channel has at most \(AccountLimits.members) members.")
        }
    }

    private static func expectRoom(forMembersOf channel: ChannelName, _ db: Database) throws {
        let count = try Int.fetchOne(
            db,
            sql: """
                SELECT sum(members) FROM channels
                WHERE maker = (SELECT maker FROM channels WHERE name = ?)
                """, arguments: [channel.text])
        guard (count ?? 0) < AccountLimits.membersMade else {
            throw RepriseError(
                .full,
                "The channels of one maker have at most \(AccountLimits.membersMade) members together.",
                remedy: "An admin may add more.")
        }
    }
}

extension Member {
    fileprivate init(row: Row) throws {
        guard let role = Role(rawValue: row["role"]) else {
            throw RepriseError(.corrupt, "The accounts have a member that cannot be read.")
        }
        self.init(
            user: try UserID(row["user"]), role: role, joined: row["joined"],
            since: WallTime(milliseconds: row["since"]))
    }
}
