import GRDB
import RepriseCore
import RepriseWire
import Synchronization

/// `messages.sqlite`, or in a cluster `view.sqlite`: its folder, its connections and the writer's
/// memory.
///
/// Its drivers are `SQLiteMessageLog`, `ClusterView` and, in simulations, `SteppedLog`. Every
/// failure is a ``RepriseCore/RepriseError``.
final class LogDatabase: Sendable {
    let configuration: SQLiteMessageLog.Configuration
    let reading: LogReading
    private let folder: LogFolder
    private let kind: ServerDatabase
    /// For the accounts of a view.
    let pool: DatabasePool
    private let memory = Mutex<LogMemory?>(nil)
    private let keptIDs = Mutex(KnownIDs.KeptIDs())
    private let arrivals = ArrivalIndex()

    /// Opens the log in a folder, or creates both.
    ///
    /// `kind` is `.log`, or `.view`; without a `migrator` the log is alone in the file.
    static func open(
        at path: String, _ configuration: SQLiteMessageLog.Configuration,
        kind: ServerDatabase = .log, migrator: DatabaseMigrator? = nil
    ) throws -> LogDatabase {
        if configuration.isRestored { try LogFolder.expectDatabase(in: path, to: "restore") }
        let folder = try LogFolder(path, kind)
        do {
            return try LogDatabase(
                folder, kind, configuration,
                migrator ?? LogSchema.migrator(newEpoch: configuration.newEpoch))
        } catch {
            throw kind.typed(error, at: folder.database)
        }
    }

    private init(
        _ folder: LogFolder, _ kind: ServerDatabase,
        _ configuration: SQLiteMessageLog.Configuration, _ migrator: DatabaseMigrator
    ) throws {
        var settings = GRDB.Configuration()
        settings.maximumReaderCount = configuration.readers
        settings.label = "reprise.log"
        // No other process should write here; a tool that briefly does is waited for.
        settings.busyMode = .timeout(Double(ServerDatabase.busyMilliseconds) / 1_000)
        self.folder = folder
        self.kind = kind
        self.configuration = configuration
        try kind.inspect(folder.database, migrator, LogSchema.checkChannels)
        pool = try DatabasePool(path: folder.database, configuration: settings)
        try kind.prepare(pool, migrator)
        folder.begin()
        if !configuration.isRestored, !configuration.takesMoved {
            try pool.read { try LogSchema.expectNotMoved($0, at: folder.database) }
        }
        try pool.writeWithoutTransaction { try Self.makeDurable($0, kind, configuration) }
        if configuration.isRestored {
            try pool.write { try LogSchema.setEpoch(configuration.newEpoch(), $0) }
        }
        reading = try pool.read { [arrivals] db in
            _ = try Arrivals(db, arrivals)
            return LogReading(epoch: try LogSchema.epoch(db), arrivals: arrivals)
        }
    }

    private static func makeDurable(
        _ db: Database, _ kind: ServerDatabase, _ configuration: SQLiteMessageLog.Configuration
    ) throws {
        try kind.makeDurable(db)
        guard let bytes = configuration.maximumBytes else { return }
        let pageBytes = try Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 4_096
        try db.execute(sql: "PRAGMA max_page_count = \(max(bytes / pageBytes, 1))")
    }

    /// Runs `body` in one durable transaction; one at a time.
    func commit<Value: Sendable>(
        _ body: (inout LogMemory, Database) throws -> Value
    ) throws -> Value {
        do {
            return try memory.withLock { memory in
                // Taken out, so that only a successful commit puts it back.
                var current = memory.take()
                let value = try pool.write { db in
                    var changed =
                        try current.take()
                        ?? LogMemory(db, arrivals, configuration)
                    let value = try body(&changed, db)
                    current = changed
                    return value
                }
                memory = current
                return value
            }
        } catch {
            throw kind.typed(error)
        }
    }

    /// A run of ids that are needed no more: see `KnownIDs`.
    func forgettableRun(at now: WallTime, _ db: Database) throws -> Int64? {
        let limit = now.advanced(by: .zero - configuration.idLife)
        return try keptIDs.withLock { try KnownIDs.forgettableRun(before: limit, &$0, db) }
    }

    /// Reads one snapshot on the caller's thread.
    func readNow<Value: Sendable>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            return try pool.read(body)
        } catch {
            throw kind.typed(error)
        }
    }

    /// Reads one snapshot.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw kind.typed(error)
        }
    }

    /// - Returns: whether the files are free of deleted content; false while a reader holds an
    ///   older snapshot.
    func eraseDeleted() throws -> Bool {
        do {
            return try pool.writeWithoutTransaction { [kind] in
                try kind.emptyWriteAheadLog($0)
            }
        } catch {
            throw kind.typed(error)
        }
    }

    func close() {
        kind.close(pool)
        folder.release()
    }

    func synchronous() throws -> Int? {
        try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
    }
}
