import Foundation
import GRDB
import RepriseCore
import RepriseWire

/// `accounts.sqlite`, beside the log: shared by the stores of people and the push queue.
///
/// One writer, so that one transaction can change the tables of several stores. Nothing is cached,
/// so nothing is ahead of the disk. Every failure is a ``RepriseCore/RepriseError``.
///
/// In a cluster it is a part of the view, which the journal's commands alone change.
final class AccountsDatabase: Sendable {
    private let pool: DatabasePool
    /// Nil in a view.
    private let folder: LogFolder?
    /// Nil in a view, but for what is the gateway's own.
    private let writer: AccountsWriter?

    /// Opens the database in a data folder, or creates it.
    static func open(at path: String) throws -> AccountsDatabase {
        let folder = try LogFolder(path, .accounts)
        do {
            return try AccountsDatabase(folder)
        } catch {
            throw ServerDatabase.accounts.typed(error, at: folder.database)
        }
    }

    private init(_ folder: LogFolder) throws {
        var settings = GRDB.Configuration()
        settings.maximumReaderCount = 4
        settings.label = "reprise.accounts"
        // No other process should write here; a tool that briefly does is waited for.
        settings.busyMode = .timeout(Double(ServerDatabase.busyMilliseconds) / 1_000)
        let migrator = AccountsSchema.migrator()
        try ServerDatabase.accounts.inspect(folder.database, migrator)
        pool = try DatabasePool(path: folder.database, configuration: settings)
        try ServerDatabase.accounts.prepare(pool, migrator)
        folder.begin()
        try pool.writeWithoutTransaction { try ServerDatabase.accounts.makeDurable($0) }
        self.folder = folder
        writer = AccountsWriter(pool)
    }

    /// The accounts of a view.
    init(view pool: DatabasePool) {
        self.pool = pool
        (folder, writer) = (nil, nil)
    }

    /// What a gateway notes in its view for itself: the pushes that wait.
    init(pushesOf pool: DatabasePool) {
        self.pool = pool
        (folder, writer) = (nil, AccountsWriter(pool))
    }

    /// See `Accounts/belong(to:isRestored:)`.
    func belong(to epoch: Epoch, isRestored: Bool) throws {
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
                try Backup.cutBack(pool, to: (pool.path as NSString).deletingLastPathComponent)
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

    func eraseDeleted() async throws {
        // Of a view its log does it.
        guard folder != nil else { return }
        _ = try await writer?.afterCommits {
            try ServerDatabase.accounts.emptyWriteAheadLog($0)
        }
    }

    func close() async {
        await writer?.close()
        guard let folder else { return }
        ServerDatabase.accounts.close(pool)
        folder.release()
    }

    func synchronous() throws -> Int? {
        try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
    }

    /// Reads one snapshot.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw ServerDatabase.accounts.typed(error)
        }
    }

    /// Writes durably, in one transaction with other writes: see
    /// `AccountsWriter/write(committed:_:)`.
    func write<Value: Sendable>(
        committed: @escaping @Sendable (Value) -> Void = { _ in },
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        guard let writer else {
            throw RepriseError(.internal, "The view of a cluster is changed by its journal alone.")
        }
        return try await writer.write(committed: committed, body)
    }
}
