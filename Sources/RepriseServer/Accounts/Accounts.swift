import GRDB
package import RepriseCore
package import RepriseWire
import Synchronization

/// Channels, their members and everyone's grants, with the stores of devices, positions, mutes and
/// catalogues: `accounts.sqlite`, beside the log.
///
/// Nothing is cached, so nothing is ahead of the disk. Every change is durable when its call
/// returns; concurrent changes share a commit. Every failure is a ``RepriseCore/RepriseError``.
///
/// ```swift
/// let accounts = try Accounts.open(at: "/var/lib/reprise", implicitChannels: false)
/// accounts.onAccessChanged { channel, user in hub.accessChanged(channel, user) }
/// let grant = try await accounts.grant(principal, in: channel)
/// guard grant.mayRead else { return refuse(.forbidden) }
/// ```
package final class Accounts: Sendable {
    package let devices: DeviceRegistry
    package let positions: PositionStore
    package let mutes: MuteStore
    package let forms: CatalogueStore
    /// In the same database, because one transaction covers a read and the dismissals it queues.
    package let pushQueue: PushQueue
    private let implicitChannels: Bool
    private let database: AccountsDatabase
    private let accessChanged = Mutex<(@Sendable (ChannelName, UserID?) -> Void)?>(nil)

    /// Opens the accounts in a folder, or creates them.
    ///
    /// - Parameters:
    ///   - path: the data folder.
    ///   - implicitChannels: whether a channel that nobody made is public. Such a channel has no
    ///     record and no owner.
    /// - Returns: the accounts, exclusively until ``close()`` or the process's end.
    /// - Throws: ``RepriseCore/RepriseError`` `.journalOwned`, `.journalNewer`, `.notAJournal`,
    ///   `.corrupt`, `.notWritable`, `.diskFull`, `.diskFailed`.
    package static func open(at path: String, implicitChannels: Bool) throws -> Accounts {
        Accounts(try AccountsDatabase.open(at: path), implicitChannels)
    }

    private init(_ database: AccountsDatabase, _ implicitChannels: Bool) {
        self.database = database
        self.implicitChannels = implicitChannels
        devices = DeviceRegistry(database)
        mutes = MuteStore(database)
        forms = CatalogueStore(database)
        pushQueue = PushQueue(database)
        positions = PositionStore(database, pushQueue)
    }

    /// Calls `body` after each durable change of grants: with a user if only that user's access
    /// changed.
    ///
    /// In the order of the commits and before the change's call returns; it must not block. A cache
    /// of grants must register before its first lookup, or it misses a change in between.
    package func onAccessChanged(_ body: @escaping @Sendable (ChannelName, UserID?) -> Void) {
        accessChanged.withLock { $0 = body }
    }

    /// Verifies that these accounts belong to the log beside them: in another one their positions
    /// are void.
    ///
    /// - Parameters:
    ///   - epoch: the log's.
    ///   - isRestored: whether the log was restored on purpose: then positions are cut back to it.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if the log is another one.
    package func belong(to epoch: Epoch, isRestored: Bool) throws {
        try database.belong(to: epoch, isRestored: isRestored)
    }

    /// Erases deleted and replaced content from the files: names, titles, push tokens.
    package func eraseDeleted() async throws { try await database.eraseDeleted() }

    /// Closes the accounts: earlier calls complete, later calls throw `closed`.
    package func close() async { await database.close() }

    /// SQLite's `synchronous` setting; 2 is FULL.
    package func synchronous() throws -> Int? { try database.synchronous() }

    // MARK: Channels

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
        return try await database.read { [implicitChannels] db in
            let record = try ChannelRecord.fetch(channel, db)
            let member = try who.user.flatMap { try Member.fetch($0, of: channel, db) }
            return Grant(who, record, member, implicitChannels: implicitChannels)
        }
    }

    /// A channel that a user has made; nil for any other.
    package func channel(_ name: ChannelName) async throws -> ChannelRecord? {
        try await database.read { try ChannelRecord.fetch(name, $0) }
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
        if let maker = who.user { positions.membershipChanged(of: maker, in: name) }
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
        let former = try ChannelRecord.fetch(name, db)
        let member = try who.user.flatMap { try Member.fetch($0, of: name, db) }
        let mayChange = former == nil ? who.user != nil && head == 0 : member?.role == .owner
        guard who.isAdmin || mayChange else {
            throw RepriseError(.refused, "Only its owners and admins may change this channel.")
        }
        if former == nil, let maker = who.user, !who.isAdmin {
            try ChannelRecord.expectRoom(forChannelsOf: maker, db)
        }
        let record = ChannelRecord(
            name: name, settings: settings, maker: former.map(\.maker) ?? who.user,
            made: former?.made ?? time)
        try record.save(db)
        if former == nil, let maker = who.user {
            try Member(user: maker, role: .owner, joined: head, since: time).save(in: name, db)
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
        try await database.read { db in
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
        let exist = try await database.read { db in
            try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM channels WHERE kept_messages IS NOT NULL
                    OR kept_milliseconds IS NOT NULL OR kept_bytes IS NOT NULL)
                    """) ?? false
        }
        guard exist else { return nil }
        return { [database] names in
            try await database.read { db in
                var policies: [ChannelName: RetentionPolicy] = [:]
                for name in names {
                    guard let record = try ChannelRecord.fetch(name, db) else { continue }
                    policies[name] = record.settings.retention
                }
                return policies
            }
        }
    }

    // MARK: Members

    /// The members of a channel, sorted by name.
    package func members(
        of channel: ChannelName, after: UserID?, limit: Int
    ) async throws -> [Member] {
        try await database.read { db in
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
        try await database.read { try Member.fetch(user, of: channel, $0) }
    }

    /// The number of a channel's members.
    package func memberCount(of channel: ChannelName) async throws -> Int {
        try await database.read { db in
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
            let former = try Member.fetch(user, of: channel, db)
            let member = Member(
                user: user, role: role, joined: former?.joined ?? joined,
                since: former?.since ?? time)
            if former == member { return MemberChange(member: member, affectsAccess: false) }
            if former == nil {
                try ChannelRecord.expectRoom(in: channel, db)
                if let who, !who.isAdmin, who.user != user {
                    try ChannelRecord.expectRoom(forMembersOf: channel, db)
                }
                if try ChannelRecord.fetch(channel, db) == nil {
                    guard implicitChannels else {
                        throw RepriseError(.refused, "There is no such channel.")
                    }
                    try ChannelRecord(
                        name: channel, settings: ChannelSettings(), maker: nil, made: time
                    ).save(db)
                }
            }
            try member.save(in: channel, db)
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

    // MARK: Changes

    /// Writes; `affects` names the user whose access a change has changed, nil for none.
    private func write<Value: Sendable>(
        affects: @escaping @Sendable (Value) -> (ChannelName, UserID?)?,
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await database.write(
            committed: { value in
                guard let (channel, user) = affects(value) else { return }
                self.accessChanged.withLock { $0 }?(channel, user)
                if let user { self.positions.membershipChanged(of: user, in: channel) }
            }, body)
    }
}
