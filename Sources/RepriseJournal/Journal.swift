public import Foundation
public import GRDB
public import RepriseCore
import Synchronization

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

    let pool: DatabasePool
    let store: EntryStore
    private let folder: JournalFolder
    private let writer: GroupWriter
    private let driver: DispatchDriver
    private let lock: OwnerLock
    /// Why this opening can no longer write; nil: it can.
    private let ending = StateBroadcaster<RepriseError?>(nil)
    /// Merges the spool again after a disk failure left entries there.
    private let refill = SpoolRefill()
    private let closing = Mutex<Task<Void, Never>?>(nil)

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
        let merge = SpoolMerge(of: opening.folder, writer: writer, store: store)
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
        try await SpoolMerge(of: folder, writer: writer, store: store).run()
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

    // MARK: An entry that must not be lost

    /// Runs `body`, which records `entry`; if the journal cannot be written, the entry goes to the
    /// spool instead.
    ///
    /// After a disk failure, the spool is merged as soon as the disk has recovered; after a
    /// takeover the new owner merges it.
    ///
    /// - Returns: whether `body` was committed.
    /// - Throws: the journal's error, if the spool cannot be written either.
    @discardableResult
    package func write(
        orSpool entry: NewEntry, _ body: @escaping @Sendable (Database) throws -> Void
    ) async throws -> Bool {
        do {
            try await write(body)
            return true
        } catch let error as RepriseError where Self.isOfTheJournal(error) {
            // Nothing is recreated for an account that was removed meanwhile.
            guard access(folder.database, F_OK) == 0 else { throw error }
            do {
                try Spool(at: folder.shared, timekeeper: store.configuration.timekeeper)
                    .record(entry)
            } catch let second {
                throw RepriseError(
                    error.code, error.message, remedy: error.remedy, cause: second)
            }
            if error.code != .ownershipLost { refill.start(self, store.configuration.timekeeper) }
            return false
        }
    }

    private static func isOfTheJournal(_ error: RepriseError) -> Bool {
        switch error.code {
        case .ownershipLost, .diskFull, .diskFailed, .notWritable, .busy, .full, .corrupt: true
        default: false
        }
    }

    // MARK: Readiness, handlers, events

    /// Sets a condition: it holds now.
    ///
    /// Entries whose kind waited only for it are dispatched.
    public func setReady(_ readiness: Readiness) async { driver.setReady(readiness) }

    /// Clears a condition: it holds no longer.
    ///
    /// Entries in flight stay in flight.
    public func setNotReady(_ readiness: Readiness) async { driver.setNotReady(readiness) }

    /// Sets the handler of a kind.
    ///
    /// An entry is finished when the handler returns; when it throws, the entry is dispatched
    /// again.
    ///
    /// Throw a ``RepriseCore/DispatchFailure`` for anything but "try again".
    ///
    /// - Parameters:
    ///   - kind: the name of a kind declared at opening.
    ///   - isApplied: whether the effect of an entry has taken place, for an app that stores the
    ///     entry's id with its own effect; called before every dispatch but the first. It makes the
    ///     effect exactly once.
    ///   - handler: called for at most `parallel` entries at once.
    public func handle(
        _ kind: String, isApplied: (@Sendable (EntryID) async throws -> Bool)? = nil,
        _ handler: @escaping @Sendable (Entry) async throws -> Void
    ) async {
        guard let rules = store.kinds[kind] else { preconditionFailure(Self.undeclared(kind)) }
        if rules.onInterruption == .never, isApplied == nil {
            // If it cannot be written now, the batch that meets such an entry does the same.
            try? await writer.write { [store] db in try store.endInterrupted(kind: kind, in: db) }
        }
        driver.handle(kind, by: .effect(isApplied: isApplied, body: handler))
    }

    /// Sets a handler whose effect is in the journal's own transaction: the effect is exactly once.
    ///
    /// Several entries may share a commit, each in a savepoint of its own. The handler must not
    /// wait.
    ///
    /// - Parameters:
    ///   - kind: the name of a kind declared at opening.
    ///   - handler: writes the effect; when it throws, its writes are rolled back and the entry is
    ///     dispatched again.
    public func handle(
        _ kind: String, inTransaction handler: @escaping @Sendable (Database, Entry) throws -> Void
    ) async {
        precondition(store.kinds[kind] != nil, Self.undeclared(kind))
        driver.handle(kind, by: .transaction(handler))
    }

    /// Sets a handler that gets entries in batches, in the order recorded.
    ///
    /// For a kind with a wide ``RepriseCore/EntryKind/partitionWindow``: separate handlers for each
    /// entry would run in no order.
    ///
    /// - Parameters:
    ///   - kind: the name of a kind declared at opening, which does not forbid a second try.
    ///   - handler: must not wait; it ends each entry later, with
    ///     ``EntryDelivery/end(_:alongside:)``.
    package func handleBatches(
        of kind: String, _ handler: @escaping @Sendable ([EntryDelivery]) -> Void
    ) {
        precondition(store.kinds[kind] != nil, Self.undeclared(kind))
        driver.handle(kind, by: .batch(handler))
    }

    private static func undeclared(_ kind: String) -> String {
        "Journal.handle: declare the kind \(kind) in Journal.open first"
    }

    /// Observes all events from now on; the observer must not wait, and lasts as long as the
    /// journal.
    package func observe(_ observer: @escaping @Sendable (JournalEvent) -> Void) {
        driver.observe(observer)
    }

    /// Whether a condition holds.
    package func isOpen(_ readiness: Readiness) -> Bool { driver.isOpen(readiness) }

    /// The calendar at the journal's last transaction.
    package var now: WallTime { store.now }

    /// Whether the calendar is trusted enough to expire entries.
    package var mayExpire: Bool { store.mayExpire }

    /// The journal's folder: a feature's own files are in a folder there.
    package var location: URL { folder.url }

    /// Where the spool and the mirror are.
    package var sharedLocation: URL { folder.shared }

    // MARK: Clock and ledger

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

    // MARK: Accounts

    /// Adopts the unfinished entries of another journal, in the order recorded there.
    ///
    /// A page of entries is durable here before it ends there, with the same ids: after a kill
    /// between the two, the next call recognises the copies and records none twice. An entry keeps
    /// its time of recording and its count of attempts.
    ///
    /// - Parameter source: a journal whose handlers do not run.
    /// - Returns: the result of this call.
    /// - Throws: as ``write(_:)``; entries not moved yet wait in `source`.
    package func adopt(from source: Journal) async throws -> Adoption {
        var adoption = Adoption()
        for schema in store.schemas { try await schema.adopt(source, self) }
        var last: Int64 = 0
        while true {
            let page = try await source.read { [last] db in
                try WaitingEntry.page(after: last, limit: JournalLimits.adoptedAtOnce, in: db)
            }
            switch page.last {
            case .success(let entry)?: last = entry.row.seq
            case .failure(let broken)?: last = broken.seq
            case nil: return adoption
            }
            let (kept, ended) = source.sorted(page)
            try await writer.write { [store] db in
                for entry in kept { try store.adopt(entry, in: db) }
            }
            try await source.leave(page, kept: Set(kept.map(\.row.seq)))
            adoption.adopted += kept.count
            adoption.expired += ended
        }
    }

    /// - Returns: the entries to move, and how many end.
    private func sorted(_ page: [Result<WaitingEntry, EntryRow.Broken>]) -> ([WaitingEntry], Int) {
        let rows = page.compactMap { try? $0.get() }
        let kept = rows.filter { store.kinds[$0.row.entry.kind]?.beforeSignIn != .expire }
        return (kept, rows.count - kept.count)
    }

    private func leave(_ page: [Result<WaitingEntry, EntryRow.Broken>], kept: Set<Int64>)
        async throws
    {
        try await writer.write { [store] db in
            for found in page {
                switch found {
                case .success(let entry):
                    let row = entry.row
                    let isKept = kept.contains(row.seq)
                    try store.end(
                        row.seq, partitionKey: row.entry.partitionKey,
                        as: isKept ? .superseded : .expired,
                        reason: isKept ? "adopted" : "signedIn", in: db)
                case .failure(let broken): try store.quarantine(broken, in: db)
                }
            }
        }
    }

    /// Ends every unfinished entry.
    ///
    /// - Returns: the ledger after that; it counts the features' unfinished items as dead, too.
    /// - Throws: as ``write(_:)``.
    package func endAll(reason: String) async throws -> LedgerSum {
        try await writer.write { [store] db in try store.endAll(reason: reason, in: db) }
        var sum = try await ledger()
        sum.outcomes[.dead, default: 0] += sum.pending
        sum.pending = 0
        return sum
    }

    // MARK: The end

    /// Waits until this opening can no longer write.
    ///
    /// An owner that writes nothing also detects a takeover, and that the calendar was set: it
    /// checks every ``JournalLimits/ownershipCheck``.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `CancellationError`.
    package func watchOwnership() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.ended() }
            group.addTask {
                while true {
                    try await self.checkOwnership()
                    // A transaction moves what is due; one that fails is repeated at the next look.
                    if self.store.isCalendarSet { try? await self.write { _ in } }
                    try await Task.sleep(for: JournalLimits.ownershipCheck)
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Whether this opening has ended: it is being closed, or another process has taken over.
    package var isEnded: Bool { ending.value != nil }

    /// Waits until the end of this opening is known.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `CancellationError`.
    package func ended() async throws {
        for await reason in ending.watch() { if let reason { throw reason } }
        throw CancellationError()
    }

    /// Checks whether another process has taken the journal over; reads nothing while this process
    /// holds the lock file.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`.
    package func checkOwnership() async throws {
        if let reason = ending.value, reason.code == .ownershipLost { throw reason }
        guard !lock.isInPlace(folder.lock) else { return }
        let newest = try? await read { db in
            try Int64.fetchOne(db, sql: "SELECT incarnation FROM journal")
        }
        try Task.checkCancellation()  // it ends the read, too, which then says nothing of the owner
        guard let newest, newest != incarnation else { return }
        end(because: EntryStore.takenOver)
        throw EntryStore.takenOver
    }

    private func end(because reason: RepriseError) {
        guard ending.value == nil else { return }
        ending.announce(reason)
    }

    /// Ends the ownership: takes nothing more, waits shortly for handlers, cancels the rest.
    ///
    /// Entries still in flight return to pending. A second call waits for the first.
    public func close() async {
        let task = closing.withLock { closing in
            let task = closing ?? Task { await closeOnce() }
            closing = task
            return task
        }
        await task.value
    }

    private func closeOnce() async {
        refill.stop()
        end(because: RepriseError(.closed, "The journal is closed."))
        let unwritten = await driver.close(grace: store.configuration.closeGrace)
        let isOurs = await withCheckedContinuation { continuation in
            writer.enqueue(last: true) { [store] db in
                // A batch that was on its way to the disk has written its own meanwhile.
                let left = try unwritten.acknowledgements.filter {
                    try store.isInFlight($0.seq, in: db)
                }
                let work = DispatchBatchWork(
                    turn: DispatchBatch(acknowledgements: left), gate: { GateMachine(kinds: []) },
                    transactions: [:], asking: [], alongside: unwritten.alongside, store: store)
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
