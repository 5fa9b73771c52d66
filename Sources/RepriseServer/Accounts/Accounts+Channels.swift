import GRDB
package import RepriseCore
package import RepriseWire

extension Accounts {
    /// A principal's grant in a channel.
    ///
    /// | principal | reads, publishes | manages |
    /// |---|---|---|
    /// | open access (`Principal.open`), an admin | everywhere, made or not | everything |
    /// | a user, public channel | yes | as an owner |
    /// | a user, private channel | as a member | as an owner |
    /// | a user, channel that nobody made | if such channels are public here | no |
    ///
    /// A user without read access cannot distinguish a channel from a missing one.
    package func grant(_ who: Principal, in channel: ChannelName) async throws -> Grant {
        if who.user == nil { return who.isAdmin ? .everything : .nothing }
        return try await read { [implicitChannels] db in
            let record = try Self.record(of: channel, db)
            let member = try who.user.flatMap { try Self.member($0, of: channel, db) }
            return Grant(who, record, member, implicitChannels: implicitChannels)
        }
    }

    /// A channel that a user has made; nil for any other.
    package func channel(_ name: ChannelName) async throws -> ChannelRecord? {
        try await read { try Self.record(of: name, $0) }
    }

    /// Makes a channel or changes it; its maker is its owner, and has joined at `head`.
    ///
    /// Its owners and admins may change an existing channel. Only admins may make one that has
    /// messages but no record (from before authentication was on): else any user could become the
    /// owner of what others wrote.
    ///
    /// - Parameters:
    ///   - name: the channel.
    ///   - settings: all settings, not only changes.
    ///   - who: the caller.
    ///   - time: now.
    ///   - head: the channel's newest sequence.
    /// - Returns: the channel as it is now.
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` without the right, `.malformed`,
    ///   `.tooLarge`, `.full` at ``AccountLimits/channelsMade``.
    @discardableResult
    package func setChannel(
        _ name: ChannelName, _ settings: ChannelSettings, by who: Principal, at time: WallTime,
        head: Int64
    ) async throws -> ChannelRecord {
        try settings.validate()
        let change = try await write(
            affects: { change in change.affectsAccess ? (name, nil) : nil }
        ) { db in
            try Self.set(name, settings, by: who, at: time, head: head, db)
        }
        // Its maker is a member from now on.
        if let maker = who.user { noteMoved(maker, name) }
        return change.record
    }

    private struct ChannelChange: Sendable {
        let record: ChannelRecord
        let affectsAccess: Bool
    }

    private static func set(
        _ name: ChannelName, _ settings: ChannelSettings, by who: Principal, at time: WallTime,
        head: Int64, _ db: Database
    ) throws -> ChannelChange {
        let former = try record(of: name, db)
        let member = try who.user.flatMap { try self.member($0, of: name, db) }
        let mayChange = former == nil ? who.user != nil && head == 0 : member?.role == .owner
        guard who.isAdmin || mayChange else {
            throw RepriseError(.refused, "Only its owners and admins may change this channel.")
        }
        if former == nil, let maker = who.user, !who.isAdmin {
            try expectRoom(forChannelsOf: maker, db)
        }
        let record = ChannelRecord(
            name: name, settings: settings, maker: former.map(\.maker) ?? who.user,
            made: former?.made ?? time)
        try write(record, db)
        if former == nil, let maker = who.user {
            try insert(
                Member(user: maker, role: .owner, joined: head, since: time), into: name, db)
        }
        let affectsAccess =
            former?.settings.visibility != settings.visibility
            || former?.settings.history != settings.history
        return ChannelChange(record: record, affectsAccess: affectsAccess)
    }

    /// The channels of a user, or for nil all that were made, sorted by name.
    package func channels(
        of user: UserID?, after: ChannelName?, limit: Int
    ) async throws -> [ChannelRecord] {
        try await read { db in
            let after = after?.text ?? ""
            guard let user else {
                return try Row.fetchAll(
                    db, sql: "SELECT * FROM channels WHERE name > ? ORDER BY name LIMIT ?",
                    arguments: [after, max(limit, 0)]
                ).map(ChannelRecord.init(row:))
            }
            return try Row.fetchAll(
                db,
                sql: """
                    SELECT channels.* FROM members JOIN channels ON channels.name = members.channel
                    WHERE members.user = ? AND members.channel > ?
                    ORDER BY members.channel LIMIT ?
                    """, arguments: [user.text, after, max(limit, 0)]
            ).map(ChannelRecord.init(row:))
        }
    }

    /// The channels' own retention policies; nil if no channel has one.
    package func retentionOverrides() async throws -> RetentionOverrides? {
        let exist = try await read { db in
            try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM channels WHERE kept_messages IS NOT NULL
                    OR kept_milliseconds IS NOT NULL OR kept_bytes IS NOT NULL)
                    """) ?? false
        }
        guard exist else { return nil }
        return { names in
            try await self.read { db in
                var policies: [ChannelName: RetentionPolicy] = [:]
                for name in names {
                    guard let record = try Self.record(of: name, db) else { continue }
                    policies[name] = record.settings.retention
                }
                return policies
            }
        }
    }

    // MARK: Rows

    static func record(of name: ChannelName, _ db: Database) throws -> ChannelRecord? {
        let select = try db.cachedStatement(sql: "SELECT * FROM channels WHERE name = ?")
        return try Row.fetchOne(select, arguments: [name.text]).map(ChannelRecord.init(row:))
    }

    private static func expectRoom(forChannelsOf maker: UserID, _ db: Database) throws {
        let count = try Int.fetchOne(
            db,
            sql: "SELECT count(*) FROM (SELECT 1 FROM channels WHERE maker = ? LIMIT ?)",
            arguments: [maker.text, AccountLimits.channelsMade])
        guard (count ?? 0) < AccountLimits.channelsMade else {
            throw RepriseError(
                .full, "A user makes at most \(AccountLimits.channelsMade) channels.",
                remedy: "An admin may make more.")
        }
    }

    static func write(_ record: ChannelRecord, _ db: Database) throws {
        let retention = record.settings.retention
        try db.execute(
            sql: """
                INSERT INTO channels
                (name, visibility, history, kept_messages, kept_milliseconds, kept_bytes, title, maker, made)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                visibility = excluded.visibility, history = excluded.history,
                kept_messages = excluded.kept_messages,
                kept_milliseconds = excluded.kept_milliseconds,
                kept_bytes = excluded.kept_bytes, title = excluded.title
                """,
            arguments: [
                record.name.text, record.settings.visibility.rawValue,
                record.settings.history.rawValue, retention.count,
                retention.age.map { $0 / .milliseconds(1) }.map { Int64($0) }, retention.bytes,
                record.settings.title, record.maker?.text, record.made.milliseconds,
            ])
    }
}

extension Grant {
    /// The rules: see `Accounts/grant(_:in:)`.
    package init(
        _ who: Principal, _ record: ChannelRecord?, _ member: Member?, implicitChannels: Bool
    ) {
        let visibility = record?.settings.visibility ?? (implicitChannels ? .public : nil)
        let isIn =
            switch visibility {
            case .public?: true
            case .private?: member != nil
            case nil: false
            }
        // Non-members of a public channel see all of it, so a member must not see less.
        let sees = visibility == .private && record?.settings.history == .sinceJoin
        self.init(
            mayRead: isIn || who.isAdmin, mayPublish: isIn || who.isAdmin,
            mayManage: who.isAdmin || (isIn && member?.role == .owner),
            joined: sees && !who.isAdmin ? member?.joined ?? 0 : 0, isMember: member != nil,
            unreadAfter: member?.joined ?? 0)
    }
}

extension ChannelSettings {
    fileprivate func validate() throws {
        guard (title?.utf8.count ?? 0) <= AccountLimits.titleBytes else {
            throw RepriseError(
                .tooLarge, "A channel's title has at most \(AccountLimits.titleBytes) bytes.")
        }
        guard !(title?.utf8.contains(0) ?? false) else {
            throw RepriseError(.malformed, "A channel's title has a character U+0000.")
        }
        let isWhole = { (value: Int64?) in
            value.map { (1...WireLimits.greatestSequence).contains($0) } ?? true
        }
        let ages = Duration.seconds(1)...AccountLimits.longestRetention
        guard isWhole(retention.count), isWhole(retention.bytes),
            retention.age.map({ ages.contains($0) }) ?? true
        else {
            throw RepriseError(
                .malformed, "A channel keeps at least one message, one byte and one second.")
        }
    }
}

extension ChannelRecord {
    fileprivate init(row: Row) throws {
        guard let visibility = ChannelSettings.Visibility(rawValue: row["visibility"]),
            let history = ChannelSettings.History(rawValue: row["history"])
        else {
            throw RepriseError(.corrupt, "The accounts have a channel that cannot be read.")
        }
        let age: Int64? = row["kept_milliseconds"]
        let maker: String? = row["maker"]
        self.init(
            name: try ChannelName(row["name"]),
            settings: ChannelSettings(
                visibility: visibility, history: history,
                retention: RetentionPolicy(
                    count: row["kept_messages"], age: age.map { .milliseconds($0) },
                    bytes: row["kept_bytes"]),
                title: row["title"]),
            maker: try maker.map { try UserID($0) },
            made: WallTime(milliseconds: row["made"]))
    }
}
