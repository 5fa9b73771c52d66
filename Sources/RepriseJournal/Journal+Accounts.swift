import Foundation
import GRDB
package import RepriseCore
import Synchronization

/// The result of an adoption.
package struct Adoption: Hashable, Sendable {
    /// Entries that are in the new journal now.
    package var adopted = 0
    /// Entries whose kind says that they end at sign-in.
    package var expired = 0
}

/// An entry on its way to another journal.
struct WaitingEntry: Sendable {
    let row: EntryRow
    /// When its delay or its next attempt is due.
    let due: WallTime?
}

/// Moves entries from one account's journal to another's.
extension Journal {
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
        while true {
            let page = try await source.read { db in
                try EntryStore.waiting(limit: JournalLimits.adoptedAtOnce, in: db)
            }
            guard !page.isEmpty else { return adoption }
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
}

extension EntryStore {
    /// Unfinished entries that are not in flight, oldest first.
    static func waiting(limit: Int, in db: Database) throws -> [Result<
        WaitingEntry, EntryRow.Broken
    >] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT \(EntryRow.columns), due FROM entry WHERE state < 3 ORDER BY seq LIMIT ?
                """, arguments: [limit])
        return rows.map { row in
            let due: DatabaseValue = row["due"]
            return Result { () throws(EntryRow.Broken) in
                WaitingEntry(
                    row: try EntryRow(row),
                    due: Int64.fromDatabaseValue(due).map { WallTime(milliseconds: $0) })
            }
        }
    }

    /// Records an entry of another journal, whatever the limit of this one: it was already
    /// accepted.
    func adopt(_ waiting: WaitingEntry, in db: Database) throws {
        let (row, new, due) = (waiting.row, waiting.row.entry, waiting.due)
        let (state, advances) = try firstState(
            partitionKey: new.partitionKey, kinds[new.kind], due: due, in: db)
        try db.cachedStatement(
            sql: """
                INSERT INTO entry (id, kind, source, lane, recordedAt, state, due, bound, payload,
                attempt, failures, interrupted, interruptions, reason)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING
                """
        ).execute(arguments: [
            new.id.text, new.kind, new.source, new.partitionKey, new.recordedAt.milliseconds,
            state.rawValue, due?.milliseconds, row.bound?.milliseconds, Data(new.payload),
            new.attempt, row.failures, row.interrupted, row.wasInterrupted ? 1 : 0, new.reason,
        ])
        guard db.changesCount == 1 else { return }  // moved before, by a process that was killed
        writerState.withLock { writerState in
            writerState.accepted += 1
            writerState.pending += 1
            if state == .ready { writerState.news.kinds.insert(new.kind) }
            if let due { writerState.due(due) }
            if let bound = row.bound { writerState.due(bound) }
        }
        try observe(new.kind, new.payload, new.recordedAt, in: db)
        if advances, let partitionKey = new.partitionKey { try advance(partitionKey, in: db) }
    }

    func endAll(reason: String, in db: Database) throws {
        try endAll(where: "state < 10", [], as: .dead, reason: reason, in: db)
    }

    func endAll(of kinds: [String], as outcome: Outcome, reason: String, in db: Database) throws
        -> Int
    {
        var ended = 0
        for kind in kinds {
            ended += try endAll(
                where: "kind = ? AND state < 10", [kind], as: outcome, reason: reason, in: db)
        }
        return ended
    }

    @discardableResult
    private func endAll(
        where condition: String, _ arguments: StatementArguments, as outcome: Outcome,
        reason: String, in db: Database
    ) throws -> Int {
        try db.execute(
            sql: """
                UPDATE entry SET state = ?, due = ?, reason = ?, bound = NULL, incarnation = NULL,
                interrupted = 0, released = 0 WHERE \(condition)
                """,
            arguments: [
                StateCode(outcome).rawValue, now.later(by: configuration.retention).milliseconds,
                reason.kept,
            ] + arguments)
        let ended = db.changesCount
        writerState.withLock { $0.pending -= ended }
        return ended
    }
}
