import Crypto
import Foundation
import GRDB
package import RepriseCore
package import RepriseWire

extension Grant {
    /// In a directory its user reads, and nobody else but admins.
    static func inDirectory(_ channel: ChannelName, _ who: Principal) -> Grant {
        let isOwn = who.user.map { ChannelName.directory(of: $0) == channel } ?? false
        return Grant(mayRead: isOwn || who.isAdmin, mayPublish: false)
    }
}

extension AccountsView {
    /// Has the user's directory tell what the channel is to him now.
    func tell(_ user: UserID, of channel: ChannelName) throws {
        guard tellsDirectories else { return }
        try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO directory_changes (user, channel) VALUES (?, ?)"
        ).execute(arguments: [user.text, channel.text])
    }

    /// Has the directories of all members tell it; of more members than an entry names by a single
    /// row: a title is changed with one small request.
    func tellMembers(of channel: ChannelName) throws {
        guard tellsDirectories else { return }
        if try !tellNamedMembers(of: channel) {
            try db.execute(
                sql: "INSERT OR REPLACE INTO directory_changes (user, channel) VALUES ('', ?)",
                arguments: [channel.text])
        }
    }

    /// Has the directories tell the user's profile of those who share a channel with him in which
    /// members are named.
    func tellFellows(of user: UserID) throws {
        guard tellsDirectories else { return }
        try db.execute(
            sql: "INSERT OR REPLACE INTO directory_changes (user, channel) VALUES ('', ?)",
            arguments: ["@" + user.text])
    }

    /// Has them tell it if the members are named there.
    ///
    /// - Returns: whether they are.
    @discardableResult
    func tellNamedMembers(of channel: ChannelName) throws -> Bool {
        guard tellsDirectories else { return false }
        let count = try Int.fetchOne(
            db, sql: "SELECT members FROM channels WHERE name = ?", arguments: [channel.text])
        guard (count ?? 0) <= DirectoryLimits.namedMembers else { return false }
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO directory_changes (user, channel)
                SELECT user, channel FROM members WHERE channel = ? ORDER BY user
                """, arguments: [channel.text])
        return true
    }
}

/// The limits of directories; `docs/limits/accounts.md` lists each with its effect.
package enum DirectoryLimits {
    /// The most members of a channel that an entry names.
    package static let namedMembers = 50
    /// The most entries stored in one commit.
    package static let entriesPerCommit = 256
    /// The shortest time between two changes of a channel that all of more members are told.
    package static let betweenTellings: Duration = .seconds(60)
    /// The most channels whose members are told of a profile.
    package static let profileChannels = 1_000
    /// The entries beyond twice the conversations after which a directory is told anew, and what
    /// was before it is removed.
    package static let superseded: Int64 = 1_000
}

/// What the directories have still to tell: rows of the accounts, written with what they tell of.
package struct DirectoryStore: Sendable {
    /// A change that waits to be told.
    package struct Change: Hashable, Sendable {
        /// Grows, and is never used again.
        package let number: Int64
        package let user: UserID
        /// Nil: all of the user's conversations.
        package let channel: ChannelName?
    }

    /// A change that many are to be told.
    package struct Telling: Hashable, Sendable {
        package enum Subject: Hashable, Sendable {
            /// All members of the channel.
            case channel(ChannelName)
            /// Those to whom the user is named.
            case profile(UserID)
        }

        package let number: Int64
        package let subject: Subject
    }

    private let database: AccountsDatabase

    init(_ database: AccountsDatabase) { self.database = database }

    /// The id of an entry: the same at each attempt, and unknown before, or somebody could take it.
    ///
    /// Of one entry alone: what begins or ends between two attempts has a change of its own.
    package func id(_ entry: DirectoryEntry, _ change: Change) async throws -> EntryID {
        try await database.read { try Self.id(entry, change, try Self.key($0)) }
    }

    private static func key(_ db: Database) throws -> SymmetricKey {
        SymmetricKey(data: try Data.fetchOne(db, sql: "SELECT key FROM directory_key") ?? Data())
    }

    private static func id(
        _ entry: DirectoryEntry, _ change: Change, _ key: SymmetricKey
    ) throws -> EntryID {
        let what =
            "\(change.number) \(change.user) \(entry.list?.rawValue ?? "") \(entry.conversation ?? "")"
        let code = HMAC<SHA256>.authenticationCode(for: Data(what.utf8), using: key)
        let digits = code.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return try EntryID("d" + digits.joined())
    }

    /// What channels are to users now, with the ids of these entries, in one snapshot.
    package func entries(_ changes: [Change]) async throws -> [(id: EntryID, entry: DirectoryEntry)]
    {
        try await database.read { db in
            let key = try Self.key(db)
            return try changes.map { change in
                guard let channel = change.channel else {
                    throw RepriseError(.internal, "A change of all conversations is no entry.")
                }
                let entry = try Self.entry(of: channel, for: change.user, db)
                return (try Self.id(entry, change, key), entry)
            }
        }
    }

    /// Has the directories of users told that were never told: of accounts of a former version, or
    /// after a restore.
    package func begin() async throws { try await database.write { try Self.tellOthers($0) } }

    /// Has all directories told, from an entry of a cluster's journal on; the secret makes their
    /// ids.
    static func begin(with secret: [UInt8], _ db: Database) throws {
        try db.execute(
            sql: "UPDATE directory_key SET key = ?", arguments: [Data(secret)])
        try db.execute(sql: "DELETE FROM directory_changes; DELETE FROM directories")
        try tellOthers(db)
    }

    private static func tellOthers(_ db: Database) throws {
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO directory_changes (user, channel)
                SELECT DISTINCT user, '' FROM members
                WHERE user NOT IN (SELECT user FROM directories) ORDER BY user
                """)
    }

    /// The next changes, in order.
    package func changes(limit: Int) async throws -> [Change] {
        try await database.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT n, user, channel FROM directory_changes
                    WHERE user <> '' ORDER BY n LIMIT ?
                    """, arguments: [limit]
            ).map { row in
                let channel: String = try row.checked("channel")
                return Change(
                    number: try row.checked("n"), user: try UserID(row.checked("user")),
                    channel: channel.isEmpty ? nil : try ChannelName(channel))
            }
        }
    }

    /// What all members of channels are to be told.
    package func tellings() async throws -> [Telling] {
        try await database.read { db in
            try Row.fetchAll(
                db, sql: "SELECT n, channel FROM directory_changes WHERE user = '' ORDER BY n"
            ).map { row in
                let name: String = try row.checked("channel")
                return Telling(
                    number: try row.checked("n"),
                    subject: name.hasPrefix("@")
                        ? .profile(try UserID(String(name.dropFirst())))
                        : .channel(try ChannelName(name)))
            }
        }
    }

    /// Whom to tell of a user's profile: the members of channels in which they are named, those
    /// joined last.
    package func fellows(of user: UserID) async throws -> [(user: UserID, channel: ChannelName)] {
        try await database.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT other.user, other.channel FROM (
                        SELECT m.channel FROM members AS m JOIN channels AS c
                            ON c.name = m.channel AND c.members <= ?2
                        WHERE m.user = ?1 ORDER BY m.since DESC LIMIT ?3
                    ) AS mine JOIN members AS other ON other.channel = mine.channel
                    WHERE other.user <> ?1 ORDER BY other.channel, other.user
                    """,
                arguments: [
                    user.text, DirectoryLimits.namedMembers, DirectoryLimits.profileChannels,
                ]
            ).map { (try UserID($0.checked("user")), try ChannelName($0.checked("channel"))) }
        }
    }

    /// A page of the names of a user's conversations.
    package func conversations(
        of user: UserID, after: ChannelName?, limit: Int
    ) async throws -> [ChannelName] {
        try await database.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT channel FROM members WHERE user = ? AND channel > ?
                    ORDER BY channel LIMIT ?
                    """, arguments: [user.text, after?.text ?? "", limit]
            ).map { try ChannelName($0) }
        }
    }

    /// The number of a user's conversations.
    package func count(of user: UserID) async throws -> Int64 {
        try await database.read { db in
            try Int64.fetchOne(
                db, sql: "SELECT count(*) FROM members WHERE user = ?", arguments: [user.text]) ?? 0
        }
    }

    private static func entry(
        of channel: ChannelName, for user: UserID, _ db: Database
    ) throws -> DirectoryEntry {
        var entry = DirectoryEntry(conversation: channel)
        guard let member = try Member.fetch(user, of: channel, db),
            let record = try ChannelRecord.fetch(channel, db)
        else {
            entry.left = true
            return entry
        }
        entry.role = member.role.rawValue
        entry.joined = member.joined
        entry.since = member.since.milliseconds
        entry.visibility = record.settings.visibility.rawValue
        entry.title = record.settings.title
        entry.members = try Int64.fetchOne(
            db, sql: "SELECT members FROM channels WHERE name = ?", arguments: [channel.text])
        if let members = entry.members, members <= DirectoryLimits.namedMembers {
            entry.others = try String.fetchAll(
                db,
                sql: "SELECT user FROM members WHERE channel = ? AND user <> ? ORDER BY user",
                arguments: [channel.text, user.text])
        }
        var profiles: [String: Profile] = [:]
        for other in entry.others ?? [] {
            profiles[other] = try Profile.fetch(UserID(other), db)
        }
        if !profiles.isEmpty { entry.profiles = profiles }
        let mute = try Row.fetchOne(
            db, sql: "SELECT until FROM mutes WHERE user = ? AND kind = 'channel' AND name = ?",
            arguments: [user.text, channel.text])
        if let mute {
            entry.muted = true
            entry.mutedUntil = try mute.checked("until")
        }
        entry.archived = try Int64.fetchOne(
            db, sql: "SELECT time FROM archived WHERE user = ? AND channel = ?",
            arguments: [user.text, channel.text])
        return entry
    }
}
