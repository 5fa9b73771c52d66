public import Foundation
public import GRDB
public import RepriseCore

/// The durable record of one account on a device: accepted entries survive a kill at any
/// instruction, and power loss.
///
/// ```swift
/// let taps = EntryKind("push.tap", requires: [.store, .ui])
/// let journal = try await Journal.open(at: folder, kinds: [taps])
/// await journal.handle("push.tap") { entry in try await route(entry.payload) }
///
/// // returns once it is durable
/// try await journal.record(NewEntry(id: id, kind: "push.tap", payload: bytes))
/// await journal.setReady(.store)
/// await journal.setReady(.ui)  // now the handler is called
/// ```
///
/// One process owns a journal at a time. An app extension uses ``Spool`` and ``Mirror``.
public final class Journal: Sendable {
    /// Identifies this opening; commits of older ones are refused.
    public let incarnation: Int64
    /// The report of the opening.
    public let opening: OpeningReport

    let folder: JournalFolder
    let pool: DatabasePool
    let store: EntryStore
    let writer: GroupWriter
    let driver: DispatchDriver
    let lock: OwnerLock
    /// Why this opening can no longer write; nil: it can.
    let ending = StateBroadcaster<RepriseError?>(nil)
    /// Merges the spool again after a disk failure left entries there.
    let refill = SpoolRefill()

    private init(_ opened: JournalOpening.Opened, folder: JournalFolder) {
        let driver = DispatchDriver(store: opened.store)
        self.folder = folder
        self.driver = driver
        incarnation = opened.store.incarnation
        opening = opened.report
        pool = opened.pool
        store = opened.store
        lock = opened.lock
        writer = GroupWriter(pool: opened.pool, store: opened.store) { [weak driver] news in
            driver?.committed(news)
        }
        driver.observe { [ending] news in
            if case .lost = news, ending.value == nil { ending.announce(EntryStore.takenOver) }
        }
        driver.start(writer: writer)
    }

    deinit {
        refill.stop()
        driver.abandon()
    }

    /// Opens a journal, or makes one, and becomes its owner.
    ///
    /// Entries that were in flight at the previous owner are pending again; the spool is merged.
    ///
    /// - Parameters:
    ///   - folder: a folder of its own; it is made if it is absent.
    ///   - kinds: the rules for all entries.
    ///   - schemas: the features' schemas; always the same ones for a journal.
    ///   - configuration: limits and options.
    /// - Returns: the journal, owned by this process until ``close()``.
    /// - Throws: ``RepriseCore/RepriseError`` `.journalOwned` while another process owns it;
    ///   `.notAJournal`, `.journalNewer`, `.notWritable`, `.diskFull`, `.diskFailed`, `.busy`: the
    ///   file is left unchanged; `.badConfiguration`.
    public static func open(
        at folder: URL, kinds: [EntryKind], schemas: [JournalSchema] = [],
        configuration: Configuration = Configuration()
    ) async throws -> Journal {
        let signpost = Signpost.begin("open")
        defer { signpost.end() }
        let opening = try JournalOpening(
            folder: folder, kinds: kinds, schemas: schemas, configuration: configuration)
        var opened = try await onQueue { try opening.open() }
        let store = opened.store
        // A spool failure does not fail the opening: its records wait for the next merge.
        let writer = GroupWriter(pool: opened.pool, store: store) { _ in }
        let merge = SpoolMerge(
            spool: Spool(at: opening.folder.shared), folder: opening.folder, writer: writer,
            store: store)
        do {
            opened.report.spool = try await merge.run()
        } catch {
            opened.report.spool.stopped =
                error as? RepriseError
                ?? RepriseError(.internal, "The spool could not be merged.", cause: error)
        }
        return Journal(opened, folder: opening.folder)
    }

    /// Refuses to make a journal in a folder within one that holds a server's data, or the journals
    /// of accounts.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.notAJournal`; nothing is written.
    package static func expectOwnFolder(_ folder: URL, within outer: URL) throws {
        guard !FileManager.default.fileExists(atPath: JournalFolder(folder).database) else {
            return
        }
        try JournalFolder.refuseOthers(in: outer)
    }

    /// Off the caller's actor: opening reads and writes the disk, and may wait for a lock.
    private static func onQueue<T: Sendable>(_ body: @escaping @Sendable () throws -> T)
        async throws -> T
    {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
        }
    }

    // MARK: Recording

    /// Records entries, all or none; returns once they are durable.
    ///
    /// Concurrent calls share one commit.
    ///
    /// - Parameter entries: at most 10,000, with payloads of at most 262,144 bytes.
    /// - Returns: for each entry whether it was new.
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`, `.unknownKind`, `.full`,
    ///   `.ownershipLost`, `.closed`, `.diskFull`, `.diskFailed`, `.busy`. After `.diskFailed` it
    ///   may have been stored: record again with the same id.
    @discardableResult
    public func record(_ entries: [NewEntry]) async throws -> [Recorded] {
        try check(entries)
        return try await writer.write { [store] db in
            try entries.map { try store.record($0, in: db) }
        }
    }

    /// Records an entry; returns once it is durable.
    ///
    /// - Parameter entry: with a payload of at most 262,144 bytes.
    /// - Returns: whether it was new.
    /// - Throws: as the call with many entries does.
    @discardableResult
    public func record(_ entry: NewEntry) async throws -> Recorded {
        try check([entry])
        return try await writer.write { [store] db in try store.record(entry, in: db) }
    }

    /// Records an entry in the current transaction: in the body of ``write(_:)``, or in a handler
    /// whose effect is in the journal's transaction.
    ///
    /// - Parameters:
    ///   - entry: with a payload of at most 262,144 bytes.
    ///   - db: the body's database.
    /// - Returns: whether it was new.
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`, `.unknownKind`, `.full`; a
    ///   `DatabaseError`, which the body must rethrow.
    @discardableResult
    public func record(_ entry: NewEntry, in db: Database) throws -> Recorded {
        try check([entry])
        return try store.record(entry, in: db)
    }

    /// Records an entry that a feature owes to an accepted one: it follows from it, or replaces it.
    ///
    /// The limit of entries does not apply; the caller bounds them.
    @discardableResult
    package func record(owed entry: NewEntry, in db: Database) throws -> Recorded {
        try check([entry])
        return try store.record(entry, isOwed: true, in: db)
    }

    private func check(_ entries: [NewEntry]) throws {
        guard entries.count <= JournalLimits.entriesPerRecord else {
            throw RepriseError(
                .tooLarge, "\(entries.count) entries in one call.",
                remedy: "Record at most \(JournalLimits.entriesPerRecord) at once.")
        }
        for entry in entries {
            guard store.families.kind(entry.kind) != nil else {
                throw EntryStore.unknownKind(entry.kind)
            }
            try EntryCheck.check(entry)
        }
    }

    /// Merges the records that extensions and tools have left in the spool.
    ///
    /// Call it at a signal of new records; opening does it once.
    ///
    /// - Returns: the report of the merge.
    /// - Throws: ``RepriseCore/RepriseError`` as ``record(_:)-(NewEntry)`` does; records not merged
    ///   wait.
    @discardableResult
    public func mergeSpool() async throws -> SpoolReport {
        try await SpoolMerge(
            spool: Spool(at: folder.shared), folder: folder, writer: writer, store: store
        ).run()
    }

    // MARK: Transactions

    /// Runs `body` in a transaction of the journal; returns once it is durable.
    ///
    /// Concurrent calls share one commit, each in a savepoint of its own. It is not cancelled with
    /// its task.
    ///
    /// - Parameter body: reads and writes the tables of a ``JournalSchema``. It must not begin or
    ///   end transactions.
    /// - Returns: the result of `body`.
    /// - Throws: the error of `body`, whose writes are rolled back; ``RepriseCore/RepriseError``
    ///   `.ownershipLost`, `.closed`, `.full`, `.diskFull`, `.diskFailed`, `.busy`, `.corrupt`.
    @discardableResult
    public func write<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws
        -> T
    {
        try await writer.write(body)
    }

    /// Reads a snapshot of the journal, concurrently with writes.
    ///
    /// - Parameter body: reads, and cannot write.
    /// - Returns: the result of `body`.
    /// - Throws: the error of `body`; ``RepriseCore/RepriseError`` `.closed`, `.diskFailed`,
    ///   `.corrupt`; `CancellationError`.
    public func read<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws
        -> T
    {
        do {
            return try await pool.read(body)
        } catch {
            if JournalFailure.isDamage(error) { store.suspect() }
            throw JournalFailure.classify(error, path: folder.database)
        }
    }

    /// Replaces the mirror, unless another process has taken the journal over.
    ///
    /// - Parameters:
    ///   - mirror: the mirror in this journal's shared folder.
    ///   - value: at most 65,536 bytes as JSON.
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`, `.ownershipLost`, `.closed`,
    ///   `.diskFull`, `.notWritable`, `.diskFailed`.
    public func replace<Value>(_ mirror: Mirror<Value>, with value: Value) async throws {
        // Inside the transaction: a new owner cannot come between the check of the incarnation and
        // the rename.
        try await writer.write { [store] _ in try mirror.write(value, at: store.now) }
    }

    // MARK: Clock, ledger, end

    /// Takes the server's time.
    ///
    /// Ends or begins doubt about the device's calendar.
    public func serverTimeReceived(_ time: WallTime) async {
        // If it cannot be written now, the server's next answer repeats it.
        try? await writer.write { [store] db in try store.serverTimeReceived(time, in: db) }
    }

    /// Sums up the outcomes of every entry ever accepted.
    ///
    /// - Returns: the sum of the entries and of all features, at one moment.
    /// - Throws: ``RepriseCore/RepriseError`` `.closed`, `.diskFailed`, `.corrupt`.
    public func ledger() async throws -> LedgerSum {
        try await read { [store] db in try LedgerReading.sum(db, schemas: store.schemas) }
    }

    /// Sums up a journal that another process owns, without disturbing it: no lock, no recovery, no
    /// write.
    ///
    /// - Parameters:
    ///   - folder: the journal's folder.
    ///   - schemas: the features' schemas.
    /// - Returns: the sum as of the last commit.
    /// - Throws: ``RepriseCore/RepriseError`` `.notAJournal`, `.journalNewer`, `.corrupt`,
    ///   `.diskFailed`, `.busy`.
    public static func ledger(at folder: URL, schemas: [JournalSchema] = []) throws -> LedgerSum {
        try LedgerReading.sum(at: JournalFolder(folder), schemas: schemas)
    }

    /// Reads a journal that another process may own, without disturbing it: no lock, no recovery,
    /// no write.
    ///
    /// - Parameters:
    ///   - folder: the journal's folder.
    ///   - schemas: all schemas of the features.
    ///   - body: reads, in one transaction; a journal of an older version, too, has all current
    ///     tables.
    /// - Returns: the result of `body`; nil if the owner has not made its tables yet.
    /// - Throws: as ``ledger(at:schemas:)``, and the error of `body`.
    package static func peek<T>(
        at folder: URL, schemas: [JournalSchema], _ body: (Database) throws -> T
    ) throws -> T? {
        try JournalPeek.read(at: JournalFolder(folder), schemas: schemas, body)
    }

    /// Frees the memory of caches; running operations go on.
    public func releaseMemory() { pool.releaseMemoryEventually() }

    /// Ends the ownership: takes nothing more, waits shortly for handlers, cancels the rest.
    ///
    /// Entries still in flight return to pending. A second call does nothing.
    public func close() async {
        refill.stop()
        end(because: RepriseError(.closed, "The journal is closed."))
        let unwritten = await driver.close(grace: store.configuration.closeGrace)
        let work = DispatchBatchWork(
            turn: DispatchBatch(acknowledgements: unwritten.acknowledgements),
            gate: { GateMachine(kinds: []) },
            transactions: [:], asking: [], alongside: unwritten.alongside, store: store)
        let isOurs = await withCheckedContinuation { continuation in
            writer.enqueue(last: true) { [store] db in
                _ = try work.perform(in: db)
                try store.putBackInterrupted(db)
                try store.writeClockReading(db)
            } finish: { (result: Result<Void, any Error>) in
                continuation.resume(returning: (try? result.get()) != nil)
            }
        }
        if isOurs {
            // Best effort: the next opening reads the log that remains.
            _ = try? await pool.writeWithoutTransaction { db in
                try db.checkpoint(.truncate)
            }
        }
        try? pool.close()
        lock.release()
    }
}
