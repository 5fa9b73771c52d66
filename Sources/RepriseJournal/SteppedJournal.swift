package import Foundation
package import GRDB
package import RepriseCore

/// A journal without threads of its own: each call completes before it returns.
///
/// A seam for simulations, which drive the shipping opening, transactions and batches in sequence:
/// see docs/architecture/testing.md.
package final class SteppedJournal: Sendable {
    package typealias Job = (Database) throws -> Void
    package typealias Transaction = @Sendable (Database, Entry) throws -> Void

    package let pool: DatabasePool
    package let opening: OpeningReport
    package var incarnation: Int64 { store.incarnation }
    private let store: EntryStore
    private let commit: GroupCommit
    private let lock: OwnerLock

    /// Opens it as ``Journal/open(at:kinds:schemas:configuration:)`` does, without merging the
    /// spool.
    package init(
        at folder: URL, kinds: [EntryKind], schemas: [JournalSchema] = [],
        configuration: Journal.Configuration
    ) throws {
        let opened = try JournalOpening(
            folder: folder, kinds: kinds, schemas: schemas, configuration: configuration
        ).open()
        pool = opened.pool
        store = opened.store
        lock = opened.lock
        opening = opened.report
        commit = GroupCommit(store: opened.store, path: opened.pool.path)
    }

    /// Takes an open one over, as the next process does with what it finds in its folder: that
    /// one's connection goes on, and it owns nothing any more.
    ///
    /// The transaction is the opening's; files, migrations and inspection are left out.
    package init(
        after former: SteppedJournal, at folder: URL, kinds: [EntryKind],
        schemas: [JournalSchema] = [], configuration: Journal.Configuration
    ) throws {
        (pool, lock) = (former.pool, former.lock)
        let opened = try JournalOpening(
            folder: folder, kinds: kinds, schemas: schemas, configuration: configuration
        ).takeOver(former.pool)
        (store, opening) = opened
        commit = GroupCommit(store: opened.0, path: former.pool.path)
    }

    /// Releases it as a killed process does: nothing is written any more.
    package func abandon() {
        try? pool.close()
        lock.release()
    }

    /// One transaction, each job in a savepoint of its own.
    package func perform(_ jobs: [Job]) throws -> (
        results: [Result<Void, any Error>], news: CommitEvents
    ) {
        try pool.writeWithoutTransaction { db in try commit.perform(jobs, in: db) }
    }

    // MARK: In a transaction

    package var now: WallTime { store.now }

    /// Whether the calendar is trusted enough to expire entries.
    package var mayExpire: Bool { store.mayExpire }

    package func record(_ entry: NewEntry, in db: Database) throws -> Recorded {
        try store.record(entry, in: db)
    }

    package func record(owed entry: NewEntry, in db: Database) throws -> Recorded {
        try store.record(entry, isOwed: true, in: db)
    }

    /// An entry whose handler can start.
    package struct Taken {
        package var seq: Int64
        package var entry: Entry
        package var failures: Int
        package var isReleased: Bool
    }

    package func perform(
        _ turn: DispatchBatch, gate: GateMachine, transactions: [String: Transaction],
        asking: Set<String>,
        alongside: [Int64: @Sendable (Database) throws -> Void], in db: Database
    ) throws -> (result: DispatchBatchResult, taken: [Taken]) {
        let work = DispatchBatchWork(
            turn: turn, gate: { gate }, transactions: transactions, asking: asking,
            alongside: alongside, store: store)
        let outcome = try work.perform(in: db)
        let taken = outcome.taken.map {
            Taken(seq: $0.seq, entry: $0.entry, failures: $0.failures, isReleased: $0.released)
        }
        return (outcome.result, taken)
    }

    package func endInterrupted(kind: String, in db: Database) throws {
        try store.endInterrupted(kind: kind, in: db)
    }

    package func putBackInterrupted(in db: Database) throws {
        try store.putBackInterrupted(db)
        try store.writeClockReading(db)
    }

    package func serverTimeReceived(_ time: WallTime, in db: Database) throws {
        try store.serverTimeReceived(time, in: db)
    }

    package func end(_ id: EntryID, as outcome: Outcome, reason: String?, in db: Database) throws
        -> Bool
    {
        try store.end(id, as: outcome, reason: reason, in: db)
    }

    /// As ``Journal/endAll(of:as:reason:in:)``.
    package func endAll(of kinds: [String], as outcome: Outcome, reason: String, in db: Database)
        throws
    {
        _ = try store.endAll(
            of: kinds.flatMap { store.families.members(of: $0) }, as: outcome, reason: reason,
            in: db)
    }

    package func retry(_ id: EntryID, in db: Database) throws { try store.retry(id, in: db) }

    package func entry(_ id: EntryID, in db: Database) throws -> Entry? {
        try EntryStore.entry(id, in: db)
    }

    package func ledger(in db: Database) throws -> LedgerSum {
        try LedgerReading.sum(db, schemas: store.schemas)
    }
}
