import GRDB
package import RepriseCore
package import RepriseWire

/// The settings of a channel.
package struct ChannelSettings: Hashable, Sendable {
    /// The users who may read and publish.
    package enum Visibility: String, Hashable, Sendable, CaseIterable {
        /// Every user.
        case `public`
        /// Its members.
        case `private`
        /// Every user may publish; its members, owners all, and admins read.
        case inbox
    }

    /// The messages that a member of a private channel sees.
    package enum History: String, Hashable, Sendable, CaseIterable {
        case all
        /// Messages published since the member joined.
        case sinceJoin
    }

    package var visibility: Visibility
    package var history: History
    /// The channel's retention; unset values default to the server's.
    package var retention: RetentionPolicy
    /// The displayed title.
    package var title: String?

    package init(
        visibility: Visibility = .public, history: History = .all,
        retention: RetentionPolicy = RetentionPolicy(), title: String? = nil
    ) {
        self.visibility = visibility
        self.history = history
        self.retention = retention
        self.title = title
    }
}

/// A channel that a user has made.
package struct ChannelRecord: Hashable, Sendable {
    package var name: ChannelName
    package var settings: ChannelSettings
    /// Its maker; nil if access was open.
    package var maker: UserID?
    package var made: WallTime

    package init(
        name: ChannelName, settings: ChannelSettings, maker: UserID?, made: WallTime
    ) {
        self.name = name
        self.settings = settings
        self.maker = maker
        self.made = made
    }
}

/// Its row in `channels`.
extension ChannelRecord {
    init(row: Row) throws {
        guard let visibility = ChannelSettings.Visibility(rawValue: try row.checked("visibility")),
            let history = ChannelSettings.History(rawValue: try row.checked("history"))
        else {
            throw RepriseError(.corrupt, "The accounts have a channel that cannot be read.")
        }
        let age: Int64? = try row.checked("kept_milliseconds")
        let maker: String? = try row.checked("maker")
        self.init(
            name: try ChannelName(row.checked("name")),
            settings: ChannelSettings(
                visibility: visibility, history: history,
                retention: RetentionPolicy(
                    count: try row.checked("kept_messages"), age: age.map { .milliseconds($0) },
                    bytes: try row.checked("kept_bytes")),
                title: try row.checked("title")),
            maker: try maker.map { try UserID($0) },
            made: WallTime(milliseconds: try row.checked("made")))
    }

    static func fetch(_ name: ChannelName, _ db: Database) throws -> ChannelRecord? {
        let select = try db.cachedStatement(sql: "SELECT * FROM channels WHERE name = ?")
        return try Row.fetchOne(select, arguments: [name.text]).map(ChannelRecord.init(row:))
    }

    /// Inserts it, or changes its settings.
    func save(_ db: Database) throws {
        let retention = settings.retention
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
                name.text, settings.visibility.rawValue,
                settings.history.rawValue, retention.count,
                retention.age?.milliseconds, retention.bytes,
                settings.title, maker?.text, made.milliseconds,
            ])
    }
}

extension ChannelSettings {
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`, `.malformed`.
    func validate() throws {
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

/// The limits of channels.
extension ChannelRecord {
    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``AccountLimits/channelsMade``.
    static func expectRoom(forChannelsOf maker: UserID, _ db: Database) throws {
        let count = try Int.fetchOne(
            db,
            sql: "SELECT count(*) FROM (SELECT 1 FROM channels WHERE maker = ? LIMIT ?)",
            arguments: [maker.text, AccountLimits.channelsMade])
        guard (count ?? 0) < AccountLimits.channelsMade else { throw AccountBound.channels }
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``AccountLimits/members``.
    static func expectRoom(in channel: ChannelName, _ db: Database) throws {
        let count = try Int.fetchOne(
            db, sql: "SELECT members FROM channels WHERE name = ?", arguments: [channel.text])
        guard (count ?? 0) < AccountLimits.members else { throw AccountBound.members }
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``AccountLimits/membersMade``.
    static func expectRoom(forMembersOf channel: ChannelName, _ db: Database) throws {
        let count = try Int.fetchOne(
            db,
            sql: """
                SELECT sum(members) FROM channels
                WHERE maker = (SELECT maker FROM channels WHERE name = ?)
                """, arguments: [channel.text])
        guard (count ?? 0) < AccountLimits.membersMade else { throw AccountBound.membersMade }
    }
}
