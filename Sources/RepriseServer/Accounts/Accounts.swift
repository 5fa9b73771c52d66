import Foundation
import GRDB
import RepriseCore
package import RepriseWire
import Synchronization

/// Channels, members, devices and positions: `accounts.sqlite`, beside the log.
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
    let implicitChannels: Bool
    private let folder: LogFolder
    private let pool: DatabasePool
    private let writer: GroupedWriter
    /// Called when a push was queued; nil where nothing is pushed.
    let pushQueued = Mutex<PushQueued?>(nil)
    /// Called when a user's position or membership changes: see ``onStandingMoved(_:)``.
    let standingMoved = Mutex<(@Sendable (UserID, ChannelName) -> Void)?>(nil)
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
        let folder = try LogFolder(path, .accounts)
        do {
            return try Accounts(folder, implicitChannels)
        } catch {
            throw ServerDatabase.accounts.typed(error)
        }
    }

    private init(_ folder: LogFolder, _ implicitChannels: Bool) throws {
        var settings = GRDB.Configuration()
        settings.maximumReaderCount = 4
        settings.label = "reprise.accounts"
        // No other process should write here; a tool that briefly does is waited for.
        settings.busyMode = .timeout(Double(ServerDatabase.busyMilliseconds) / 1_000)
        self.folder = folder
        self.implicitChannels = implicitChannels
        pool = try DatabasePool(path: folder.database, configuration: settings)
        try ServerDatabase.accounts.prepare(pool, AccountsSchema.migrator())
        try pool.writeWithoutTransaction { try ServerDatabase.accounts.makeDurable($0) }
        writer = GroupedWriter(pool)
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
        do {
            let known = try pool.read { try String.fetchOne($0, sql: "SELECT epoch FROM its_log") }
            guard known != epoch.text else { return }
            guard known == nil || isRestored else {
                throw RepriseError(
                    .badConfiguration,
                    "The accounts belong to another log than the messages.sqlite beside them.",
                    remedy: """
                        Put the messages.sqlite back that was there before. If this one is to \
                        stay, start once with --restored: what was read is cut back to it.
                        """)
            }
            if known != nil {
                try Backup.cutBack(
                    pool, to: (folder.database as NSString).deletingLastPathComponent)
            }
            try pool.write { db in
                try db.execute(
                    sql: "INSERT OR REPLACE INTO its_log (one, epoch) VALUES (1, ?)",
                    arguments: [epoch.text])
            }
        } catch {
            throw ServerDatabase.accounts.typed(error)
        }
    }

    /// Erases deleted and replaced content from the files: names, titles, push tokens.
    package func eraseDeleted() async throws {
        _ = try await writer.afterCommits { try ServerDatabase.accounts.emptyWriteAheadLog($0) }
    }

    /// Closes the accounts: earlier calls complete, later calls throw `closed`.
    package func close() async {
        await writer.close()
        ServerDatabase.accounts.close(pool)
        folder.release()
    }

    /// SQLite's `synchronous` setting; 2 is FULL.
    package func synchronous() throws -> Int? {
        try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
    }

    // MARK: For the extensions

    func noteMoved(_ user: UserID, _ channel: ChannelName) {
        standingMoved.withLock { $0 }?(user, channel)
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw ServerDatabase.accounts.typed(error)
        }
    }

    /// See `GroupedWriter`; `affects` names the user whose access a change has changed, nil for
    /// none.
    func write<Value: Sendable>(
        affects: @escaping @Sendable (Value) -> (ChannelName, UserID?)? = { _ in nil },
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await writer.write(
            committed: { value in
                guard let (channel, user) = affects(value) else { return }
                self.accessChanged.withLock { $0 }?(channel, user)
                if let user { self.noteMoved(user, channel) }
            }, body)
    }
}
