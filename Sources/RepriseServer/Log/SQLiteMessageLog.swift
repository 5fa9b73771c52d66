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
        /// The messages after which the tables for the newest change places: see `Arrivals`.
        package var arrivalsPerTurn = Arrivals.turn
        /// The most buried messages awaited: see `AwaitedMessages`.
        package var awaitedMessages = AwaitedMessages.most
        /// Whether the folder was restored from a backup, and lacks later messages.
        ///
        /// Then a new epoch is minted before any read, because sequences that devices know may be
        /// assigned again.
        package var isRestored = false
        /// Whether a log is opened that was moved into a cluster, as only ``ClusterSeed`` needs it.
        package var takesMoved = false
        /// Mints epochs.
        package var newEpoch: @Sendable () -> Epoch = { .random() }

        package init() {}
    }

    private let database: LogDatabase
    private let changes = Mutex(ChannelChanges())
    private let counted = Mutex(CountedUnread())
    /// Whether the files may contain deleted content; true after a start.
    private let hasDeleted = Atomic(true)
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
    ///   `.corrupt`, `.notWritable`, `.diskFull`, `.diskFailed`; `.badConfiguration` for the
    ///   folder of a gateway, and a log that was moved into a cluster. A damaged file is left
    ///   unchanged: on a server an operator decides.
    package static func open(
        at path: String, _ configuration: Configuration = Configuration()
    ) throws -> SQLiteMessageLog {
        SQLiteMessageLog(try LogDatabase.open(at: path, configuration))
    }

    init(_ database: LogDatabase) {
        self.database = database
        writing = DispatchQueue(label: "reprise.log.writer")
        executor = QueueExecutor(writing)
    }

    /// Identifies the log: see ``RepriseCore/Epoch``.
    var epoch: Epoch { database.reading.epoch }

    /// Notes durably whether it was moved into a cluster, or is about to be.
    ///
    /// - Returns: whether it was noted before.
    func setMoved(_ isMoved: Bool) async throws -> Bool {
        try await commit { _, db in try LogSchema.setMoved(isMoved, db) }
    }

    /// What it holds.
    func report() throws -> Backup.Report { try database.readNow { try Backup.report($0) } }

    /// The log's operations on the caller's thread.
    ///
    /// Not while something else uses the log.
    package var stepped: SteppedLog { SteppedLog(database) }

    package func append(_ batch: [NewMessage]) async throws -> [AppendResult] {
        guard !batch.isEmpty else { return [] }
        // Also after a failure: the batch may be stored.
        defer { noteChanges(in: batch) }
        let results = try await commit { [clock = database.configuration.clock] memory, db in
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
        try await database.read { [reading = database.reading] db in
            try reading.stateOrNothing(of: channel, db)
        }
    }

    package func head(of channel: ChannelName) throws -> Int64 {
        try database.readNow { [reading = database.reading] db in
            try reading.stateOrNothing(of: channel, db).head
        }
    }

    package func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage {
        try await database.read { [reading = database.reading] db in
            try reading.page(
                of: channel, missing: missing, limit: limit, byteLimit: byteLimit, db)
        }
    }

    package func unread(
        of user: UserID, in channel: ChannelName, after: Int64
    ) async throws -> Unread {
        let question = UnreadQuestion(user: user, channel: channel, after: after)
        return try await unread([question]).first ?? Unread(count: 0, head: 0)
    }

    package func unread(_ asked: [UnreadQuestion]) async throws -> [Unread] {
        var all: [Unread] = []
        // Other reads come between these.
        while all.count < asked.count {
            let rest = asked[all.count...]
            let answers = try await database.read { [reading = database.reading] db in
                try reading.unread(rest, db) { question in
                    self.counted.withLock { $0[question] }
                }
            }
            counted.withLock { counted in
                for (question, answer) in zip(rest, answers) {
                    if let count = answer.count { counted[question] = count }
                }
            }
            all += answers.map(\.unread)
        }
        return all
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
            let isDone = try await onWriter { try $0.eraseDeleted() }
            if !isDone { hasDeleted.store(true, ordering: .relaxed) }
        } catch {
            hasDeleted.store(true, ordering: .relaxed)
            throw error
        }
    }

    package func trim(_ channel: ChannelName, through: Int64) async throws -> LogChannelState {
        defer {
            changes.withLock { $0.note(channel) }
            hasDeleted.store(true, ordering: .relaxed)
        }
        while try await commit({ try LogTrimming.step(channel, through: through, &$0, $1) }) {
            try Task.checkCancellation()
        }
        return try await state(of: channel)
    }

    package func trim(
        _ policy: RetentionPolicy, now: WallTime, overrides: RetentionOverrides?
    ) async throws {
        if !policy.keepsAll || overrides != nil {
            try await eachDue(policy, now: now, overrides: overrides) { channel, through in
                _ = try await self.trim(channel, through: through)
            }
        }
        while let run = try await forgettableRun(at: now) {
            while try await commit({ memory, db in try memory.forget(run, db) }) {
                try Task.checkCancellation()
            }
        }
    }

    /// A run of ids that are needed no more: see `KnownIDs`.
    func forgettableRun(at now: WallTime) async throws -> Int64? {
        try await database.read { [database] in try database.forgettableRun(at: now, $0) }
    }

    /// Calls `body` for each channel of which messages are to be removed, with the last of them.
    func eachDue(
        _ policy: RetentionPolicy, now: WallTime, overrides: RetentionOverrides?,
        _ body: (ChannelName, Int64) async throws -> Void
    ) async throws {
        do {
            try await gather()
        } catch let error as RepriseError where error.code == .diskFull {
            // What was moved before is trimmed, which frees space.
        }
        var last: Int64? = 0
        while let key = last {
            let kept = try await database.read { try LogTrimming.kept(behind: key, $0) }
            guard !kept.isEmpty else { break }
            let own = try await overrides?(kept.map(\.name)) ?? [:]
            let due = try await database.read { try LogTrimming.due(kept, policy, own, now, $0) }
            for channel in due { try await body(channel.name, channel.through) }
            last = kept.last?.key
        }
    }

    private func gather() async throws {
        var last: Int64?
        repeat {
            last = try await commit { [last] in try LogTrimming.gather(through: last, &$0, $1) }
        } while last != nil
    }

    package func close() async {
        await withCheckedContinuation { done in
            writing.async { [database] in
                database.close()
                done.resume()
            }
        }
    }

    /// SQLite's `synchronous` setting; 2 is FULL.
    package func synchronous() throws -> Int? { try database.synchronous() }

    private func noteChanges(in batch: [NewMessage]) { noteChanges(in: batch.lazy.map(\.channel)) }

    /// Messages were stored in these channels, or removed.
    func noteChanges(in channels: some Sequence<ChannelName>, hasDeleted: Bool = false) {
        if hasDeleted { self.hasDeleted.store(true, ordering: .relaxed) }
        changes.withLock { changes in
            var last: ChannelName?
            for channel in channels where channel != last {
                changes.note(channel)
                last = channel
            }
        }
    }

    /// Runs `body` in one durable transaction on the writer's queue.
    private func commit<Value: Sendable>(
        _ body: @escaping @Sendable (inout LogMemory, Database) throws -> Value
    ) async throws -> Value {
        try await onWriter { try $0.commit(body) }
    }

    /// Runs `body` on the writer's queue; cancelling the caller does not stop it.
    private func onWriter<Value: Sendable>(
        _ body: @escaping @Sendable (LogDatabase) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { done in
            writing.async { [database] in done.resume(with: Result { try body(database) }) }
        }
    }
}
