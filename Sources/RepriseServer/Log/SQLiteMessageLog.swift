import Dispatch
import GRDB
package import RepriseCore
package import RepriseWire
import Synchronization

/// The embedded log: one SQLite database in one folder, one writer, WAL, `synchronous = FULL`.
///
/// ```swift
/// let log = try SQLiteMessageLog.open(at: "/var/lib/reprise")
/// let committer = Committer(log: log) { events in hub.fanOut(events) }
/// ```
package final class SQLiteMessageLog: MessageLog {
    /// The settings of a log.
    package struct Configuration: Sendable {
        /// Timestamps messages.
        package var clock: any Timekeeper = SystemTimekeeper()
        /// The most pages read concurrently.
        package var readers = 4
        /// The most bytes of the database; nil is unlimited.
        ///
        /// At the limit it behaves as on a full disk.
        package var maximumBytes: Int64?
        /// The least time for which an id is remembered.
        package var idLife: Duration = .seconds(30 * 86_400)
        /// The ids kept in memory before they are sorted into a run: see `KnownIDs`.
        package var idsPerRun = KnownIDs.runLength
        /// The most buried messages awaited: see `AwaitedMessages`.
        package var awaitedMessages = AwaitedMessages.most
        /// Whether the folder was restored from a backup, and lacks later messages.
        ///
        /// Then a new epoch is minted before any read, because sequences that devices know may be
        /// assigned again.
        package var isRestored = false
        /// Mints epochs.
        package var newEpoch: @Sendable () -> Epoch = { .random() }

        package init() {}
    }

    let folder: LogFolder
    let pool: DatabasePool
    let reading: LogReading
    let configuration: Configuration
    private let memory = Mutex<LogMemory?>(nil)
    private let changes = Mutex(ChannelChanges())
    private let counted = Mutex(CountedUnread())
    /// Whether the files may contain deleted content; true after a start.
    let hasDeleted = Atomic(true)
    /// Blocks on the disk in place of a thread of Swift's pool.
    private let writing: DispatchQueue
    package let executor: (any TaskExecutor)?

    /// Opens the log in a folder, or creates both.
    ///
    /// - Parameters:
    ///   - path: the folder.
    ///   - configuration: the log's settings.
    /// - Returns: the log, exclusively until ``close()`` or the process's end.
    /// - Throws: ``RepriseCore/RepriseError`` `.journalOwned`, `.journalNewer`, `.notAJournal`,
    ///   `.corrupt`, `.notWritable`, `.diskFull`, `.diskFailed`. A damaged file is left unchanged:
    ///   on a server an operator decides.
    package static func open(
        at path: String, _ configuration: Configuration = Configuration()
    ) throws -> SQLiteMessageLog {
        if configuration.isRestored { try LogFolder.expectDatabase(in: path, to: "restore") }
        let folder = try LogFolder(path, .log)
        do {
            return try SQLiteMessageLog(folder, configuration)
        } catch {
            throw ServerDatabase.log.typed(error)
        }
    }

    private init(_ folder: LogFolder, _ configuration: Configuration) throws {
        var settings = GRDB.Configuration()
        settings.maximumReaderCount = configuration.readers
        settings.label = "reprise.log"
        // No other process should write here; a tool that briefly does is waited for.
        settings.busyMode = .timeout(Double(ServerDatabase.busyMilliseconds) / 1_000)
        self.folder = folder
        self.configuration = configuration
        writing = DispatchQueue(label: "reprise.log.writer")
        executor = QueueExecutor(writing)
        pool = try DatabasePool(path: folder.database, configuration: settings)
        try ServerDatabase.log.prepare(
            pool, LogSchema.migrator(newEpoch: configuration.newEpoch))
        try pool.writeWithoutTransaction { try Self.makeDurable($0, configuration) }
        if configuration.isRestored {
            try pool.write { try LogSchema.setEpoch(configuration.newEpoch(), $0) }
        }
        reading = LogReading(epoch: try pool.read { try LogSchema.epoch($0) })
    }

    private static func makeDurable(_ db: Database, _ configuration: Configuration) throws {
        try ServerDatabase.log.makeDurable(db)
        guard let bytes = configuration.maximumBytes else { return }
        let pageBytes = try Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 4_096
        try db.execute(sql: "PRAGMA max_page_count = \(max(bytes / pageBytes, 1))")
    }

    package func append(_ batch: [NewMessage]) async throws -> [AppendResult] {
        guard !batch.isEmpty else { return [] }
        // Also after a failure: the batch may be stored.
        defer { noteChanges(in: batch) }
        let results = try await commit { [clock = configuration.clock] memory, db in
            try memory.append(batch, now: clock.wall(), db)
        }
        if batch.contains(where: { if case .deletes = $0.change { true } else { false } }) {
            hasDeleted.store(true, ordering: .relaxed)
        }
        return results
    }

    package func probe() async throws {
        try await commit { _, db in try db.execute(sql: "UPDATE log SET probes = probes + 1") }
    }

    package func state(of channel: ChannelName) async throws -> LogChannelState {
        try await read { [reading] db in try reading.stateOrNothing(of: channel, db) }
    }

    package func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage {
        try await read { [reading] db in
            try reading.page(
                of: channel, missing: missing, limit: limit, byteLimit: byteLimit, db)
        }
    }

    package func unread(
        of user: UserID, in channel: ChannelName, after: Int64
    ) async throws -> Unread {
        let question = UnreadQuestion(user: user, channel: channel, after: after)
        let known = counted.withLock { $0[question] }
        let (unread, count) = try await read { [reading] db in
            try reading.unread(question, knowing: known, db)
        }
        if let count { counted.withLock { $0[question] = count } }
        return unread
    }

    package func unread(_ asked: [UnreadQuestion]) async throws -> [Int64] {
        guard !asked.isEmpty else { return [] }
        return try await read { [reading] db in
            try reading.unread(asked, db).map(\.count)
        }
    }

    package func changes(
        since number: Int64, among names: Dictionary<ChannelName, Int64>.Keys
    ) -> LogChanges {
        changes.withLock {
            LogChanges(through: $0.last, channels: $0.since(number, among: names))
        }
    }

    package func eraseDeleted() async throws {
        guard hasDeleted.exchange(false, ordering: .relaxed) else { return }
        do {
            let isDone = try await withCheckedThrowingContinuation {
                (done: CheckedContinuation<Bool, any Error>) in
                writing.async { [pool] in
                    done.resume(
                        with: Result {
                            try pool.writeWithoutTransaction {
                                try ServerDatabase.log.emptyWriteAheadLog($0)
                            }
                        })
                }
            }
            if !isDone { hasDeleted.store(true, ordering: .relaxed) }
        } catch {
            hasDeleted.store(true, ordering: .relaxed)
            throw ServerDatabase.log.typed(error)
        }
    }

    package func close() async {
        await withCheckedContinuation { done in
            writing.async { [pool, folder] in
                ServerDatabase.log.close(pool)
                folder.release()
                done.resume()
            }
        }
    }

    /// SQLite's `synchronous` setting; 2 is FULL.
    package func synchronous() throws -> Int? {
        try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw ServerDatabase.log.typed(error)
        }
    }

    private func noteChanges(in batch: [NewMessage]) {
        changes.withLock { changes in
            var last: ChannelName?
            for message in batch where message.channel != last {
                changes.note(message.channel)
                last = message.channel
            }
        }
    }

    /// See ``changes(since:among:)``.
    func noteChange(in channel: ChannelName) { changes.withLock { $0.note(channel) } }

    /// Runs `body` in one durable transaction on the writer's queue; cancelling the caller does not
    /// stop it.
    func commit<Value: Sendable>(
        _ body: @escaping @Sendable (inout LogMemory, Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { done in
            writing.async { [self] in
                done.resume(with: Result { try commitNow(body) })
            }
        }
    }

    /// Runs `body` in one durable transaction on the caller's thread.
    func commitNow<Value: Sendable>(
        _ body: (inout LogMemory, Database) throws -> Value
    ) throws -> Value {
        do {
            return try memory.withLock { memory in
                // Taken out, so that only a successful commit puts it back.
                var current = memory.take()
                let value = try pool.write { db in
                    var changed =
                        try current.take()
                        ?? LogMemory(
                            db, idsPerRun: configuration.idsPerRun,
                            awaited: configuration.awaitedMessages)
                    let value = try body(&changed, db)
                    current = changed
                    return value
                }
                memory = current
                return value
            }
        } catch {
            throw ServerDatabase.log.typed(error)
        }
    }

    /// Reads on the caller's thread.
    func readNow<Value: Sendable>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            return try pool.read(body)
        } catch {
            throw ServerDatabase.log.typed(error)
        }
    }
}
