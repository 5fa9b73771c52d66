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
    /// Of a server that tells presence.
    package let presence: PresenceStore
    package let forms: CatalogueStore
    /// What users' directories have to tell.
    package let directories: DirectoryStore
    /// In the same database, because one transaction covers a read and the dismissals it queues.
    package let pushQueue: PushQueue
    private let implicitChannels: Bool
    private let heads: ChannelHeads
    /// Brings a command into the journal of a cluster; nil without one.
    private let submit: CommandSubmission?
    private let rules: @Sendable () -> Int64
    private let database: AccountsDatabase
    private let clock: any Timekeeper
    private let accessChanged = Mutex<(@Sendable (ChannelName, UserID?) -> Void)?>(nil)
    private let directoryChanged = Mutex<(@Sendable () -> Void)?>(nil)
    private let hid = Mutex<(@Sendable (UserID, Bool) -> Void)?>(nil)
    private let unreadMoved = Mutex<(@Sendable (UserID, ChannelName) -> Void)?>(nil)

    /// Opens the accounts in a folder, or creates them.
    ///
    /// - Parameters:
    ///   - path: the data folder.
    ///   - implicitChannels: whether a channel that nobody made is public. Such a channel has no
    ///     record and no owner.
    ///   - clock: timestamps changes.
    ///   - heads: the log beside them: at which sequence a member joins, and how far one can read.
    /// - Returns: the accounts, exclusively until ``close()`` or the process's end.
    /// - Throws: ``RepriseCore/RepriseError`` `.journalOwned`, `.journalNewer`, `.notAJournal`,
    ///   `.corrupt`, `.notWritable`, `.diskFull`, `.diskFailed`.
    package static func open(
        at path: String, implicitChannels: Bool, clock: any Timekeeper = SystemTimekeeper(),
        heads: @escaping ChannelHeads
    ) throws -> Accounts {
        Accounts(try AccountsDatabase.open(at: path), implicitChannels, clock, heads)
    }

    /// With `submit`, that decides and writes changes, and these accounts read.
    private init(
        _ database: AccountsDatabase, _ implicitChannels: Bool,
        _ clock: any Timekeeper, _ heads: @escaping ChannelHeads,
        pushes: PushQueue? = nil, submit: CommandSubmission? = nil,
        rules: @escaping @Sendable () -> Int64 = { ClusterRules.newest }
    ) {
        self.database = database
        self.clock = clock
        self.heads = heads
        self.submit = submit
        self.rules = rules
        self.implicitChannels = implicitChannels
        devices = DeviceRegistry(database)
        mutes = MuteStore(database)
        presence = PresenceStore(database)
        forms = CatalogueStore(database)
        directories = DirectoryStore(database)
        pushQueue = pushes ?? PushQueue(database)
        positions = PositionStore(database)
    }

    /// The accounts of a gateway in a cluster: they read its view, and write by the journal.
    ///
    /// ``applied(_:)`` is to be called with each applied entry.
    package convenience init(_ view: ClusterView, submit: @escaping CommandSubmission) {
        self.init(
            view.accounts, view.implicitChannels, SystemTimekeeper(),
            { try view.log.head(of: $0) }, pushes: view.pushQueue, submit: submit,
            rules: { view.rules })
    }

    /// Tells who observes changes what an entry has changed, whichever gateway wrote it.
    package func applied(_ entry: AppliedEntry) {
        for case .changed(_, let effects) in entry.outcomes { committed(effects) }
    }

    /// Calls `body` after each durable change of grants: with a user if only that user's access
    /// changed.
    ///
    /// In the order of the commits and before the change's call returns; it must not block. A cache
    /// of grants must register before its first lookup, or it misses a change in between.
    package func onAccessChanged(_ body: @escaping @Sendable (ChannelName, UserID?) -> Void) {
        accessChanged.withLock { $0 = body }
    }

    /// Calls `body` when directories have something to tell; it must not block.
    package func onDirectoryChanged(_ body: @escaping @Sendable () -> Void) {
        directoryChanged.withLock { $0 = body }
    }

    /// Calls `body` when a user begins or ceases to hide his presence; it must not block.
    package func onHid(_ body: @escaping @Sendable (UserID, _ isHidden: Bool) -> Void) {
        hid.withLock { $0 = body }
    }

    /// Whether users' directories are told: in a cluster once its rules are raised.
    package var tellsDirectories: Bool { rules() >= ClusterRules.directories }

    /// Whether changes go into the journal of a cluster.
    package var isInCluster: Bool { submit != nil }

    /// Calls `body` when a user's position or membership in a channel has changed; it must not
    /// block.
    ///
    /// Called when the change is durable, before its call returns.
    package func onUnreadMoved(_ body: @escaping @Sendable (UserID, ChannelName) -> Void) {
        unreadMoved.withLock { $0 = body }
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
    /// | a user, own directory | reads only | no |
    ///
    /// A user without read access cannot distinguish a channel from a missing one.
    package func grant(_ who: Principal, in channel: ChannelName) async throws -> Grant {
        if who.user == nil { return who.isAdmin ? .everything : .nothing }
        // Also in a cluster: one that was seeded from a single server has its directories.
        if channel.isDirectory { return .inDirectory(channel, who) }
        return try await database.read { [implicitChannels] db in
            try Grant.fetch(who, in: channel, implicitChannels: implicitChannels, db)
        }
    }

    /// A channel that a user has made; nil for any other.
    package func channel(_ name: ChannelName) async throws -> ChannelRecord? {
        try await database.read { try ChannelRecord.fetch(name, $0) }
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

    /// What a user is called; empty: nothing was set.
    package func profile(of user: UserID) async throws -> Profile {
        try await database.read { try Profile.fetch(user, $0) ?? Profile() }
    }

    /// The number of a user's conversations of two.
    package func directCount(of user: UserID) async throws -> Int {
        try await database.read { db in
            try Int.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM members
                    WHERE user = ? AND channel >= 'direct:' AND channel < 'direct;'
                    """, arguments: [user.text]) ?? 0
        }
    }

    // MARK: Changes

    /// Decides and writes a change, durably.
    ///
    /// - Parameters:
    ///   - command: the change.
    ///   - time: when it happens; nil is now. In a cluster its journal says when.
    ///   - heads: the channels' heads; nil asks the log. In a cluster that is always asked.
    /// - Returns: what it came to.
    /// - Throws: what ``AccountCommand/validate()`` and ``AccountCommand/apply(in:)`` throw; the
    ///   disk's errors.
    @discardableResult
    package func perform<Command: AccountCommand>(
        _ command: Command, at time: WallTime? = nil, heads: ChannelHeads? = nil
    ) async throws -> Command.Outcome {
        try command.validate()
        if let submit { return try await perform(command, by: submit) }
        let (time, heads) = (time ?? clock.wall(), heads ?? self.heads)
        return try await database.write(
            committed: { self.committed(command.effects(of: $0)) }
        ) { [implicitChannels, pushQueue] db in
            let view = AccountsView(
                db: db, time: time, implicitChannels: implicitChannels, heads: heads,
                pushes: pushQueue, tellsDirectories: true)
            var outcome: Command.Outcome?
            try db.inSavepoint {
                outcome = try command.apply(in: view)
                return .commit
            }
            guard let outcome else { throw RepriseError(.corrupt, "A change has no outcome.") }
            return outcome
        }
    }

    private func perform<Command: AccountCommand>(
        _ command: Command, by submit: CommandSubmission
    ) async throws -> Command.Outcome {
        guard let command = command as? any JournaledCommand else {
            throw RepriseError(.internal, "The journal cannot hold a \(Command.self).")
        }
        switch try await submit([.account(command)]).first {
        case .changed(let outcome as Command.Outcome, _)?: return outcome
        case .refused(let error)?: throw error
        case .nothing?, .published?, .arrived?, .leased?, .marked?, .hashed?, .checked?, .trimmed?,
            .forgot?, .changed?, nil:
            throw RepriseError(.internal, "A change has another outcome than its own.")
        }
    }

    /// Tells who observes changes; called when they are durable, in their order.
    private func committed(_ effects: AccountEffects) {
        if let access = effects.access {
            accessChanged.withLock { $0 }?(access.channel, access.user)
        }
        if let unread = effects.unread {
            unreadMoved.withLock { $0 }?(unread.user, unread.channel)
        }
        if let hiding = effects.hiding { hid.withLock { $0 }?(hiding.user, hiding.isHidden) }
        pushQueue.queuedDismissals(effects.dismissals)
        if effects.isTold { directoryChanged.withLock { $0 }?() }
    }
}
