import GRDB
import RepriseCore

/// Performs a batch inside the writer's transaction.
struct DispatchBatchWork: Sendable {
    typealias Transaction = @Sendable (Database, Entry) throws -> Void
    typealias Alongside = @Sendable (Database) throws -> Void

    /// The result of the batch: the machine's part, and the entries whose handlers can start.
    struct Outcome: Sendable {
        var result = DispatchBatchResult()
        var taken: [EntryRow] = []
    }

    let turn: DispatchBatch
    /// Read when the batch is performed: a gate may have closed since it was planned.
    let gate: @Sendable () -> GateMachine
    let transactions: [String: Transaction]
    let asking: Set<String>
    /// Writes to commit with the end of an entry, by row.
    var alongside: [Int64: Alongside] = [:]
    let store: EntryStore

    /// The longest that handlers in the transaction block other writes in one batch.
    private static let longestTransaction: Duration = .milliseconds(50)

    func perform(in db: Database) throws -> Outcome {
        var outcome = Outcome()
        try settle(in: db)
        if turn.looksAtDue {
            let due = try store.lookAtDue(db)
            outcome.result.soonest = due.soonest
            outcome.result.isMoreDue = due.isMore
        }
        let gate = gate()
        for take in turn.takes {
            guard let kind = store.kinds[take.kind] else { continue }
            guard take.onlyReleased || gate.isOpen(kind: take.kind) else {
                outcome.result.more.insert(take.kind)
                continue
            }
            switch take.work {
            case .effect:
                try self.take(take, kind: kind, gate, into: &outcome, in: db)
            case .transaction:
                try handle(take, kind: kind, gate, into: &outcome, in: db)
            }
        }
        return outcome
    }

    // MARK: Acknowledging

    /// Partition keys advance once, after all acknowledgements.
    private func settle(in db: Database) throws {
        for acknowledgement in turn.acknowledgements { try settle(acknowledgement, in: db) }
        // Only now it is known which earlier ones are still in flight.
        for acknowledgement in turn.acknowledgements {
            guard case .requeueInOrder(let wait, let reason) = acknowledgement.disposition else {
                continue
            }
            try requeueInPartition(acknowledgement, unless: wait, reason, in: db)
        }
        for partitionKey in Set(turn.acknowledgements.compactMap(\.partitionKey)) {
            try store.advance(partitionKey, in: db)
        }
    }

    private func settle(_ acknowledgement: Acknowledgement, in db: Database) throws {
        let (seq, partitionKey) = (acknowledgement.seq, acknowledgement.partitionKey)
        switch acknowledgement.disposition {
        case .applied:
            try alongside[seq]?(db)
            try store.end(seq, partitionKey: nil, as: .applied, in: db)
        case .appliedBefore:
            try store.uncountAttempt(seq, in: db)
            try store.end(seq, partitionKey: nil, as: .applied, in: db)
        case .notStarted:
            try store.uncountAttempt(seq, in: db)
            try store.putBackAtOnce(seq, partitionKey: partitionKey, in: db)
        case .dead(let reason):
            try alongside[seq]?(db)
            try store.end(seq, partitionKey: nil, as: .dead, reason: reason, in: db)
        case .ended(let outcome, let reason):
            try alongside[seq]?(db)
            try store.end(seq, partitionKey: nil, as: StateCode(outcome), reason: reason, in: db)
        case .back(let reason, let isInDoubt):
            try store.putBackAtOnce(seq, partitionKey: partitionKey, reason: reason, in: db)
            if isInDoubt { try store.doubt(seq, in: db) }
        case .retry(let wait, let counts, let reason):
            try alongside[seq]?(db)
            try store.putBack(
                seq, partitionKey: partitionKey, after: wait, failed: counts, reason: reason, in: db
            )
        case .requeueInOrder: break
        }
    }

    private func requeueInPartition(
        _ acknowledgement: Acknowledgement, unless wait: Duration, _ reason: String, in db: Database
    ) throws {
        let seq = acknowledgement.seq
        guard let partitionKey = acknowledgement.partitionKey,
            try !store.predecessor(of: seq, in: partitionKey, db).isInFlight
        else {
            return try store.putBack(
                seq, partitionKey: acknowledgement.partitionKey, after: wait, failed: false,
                reason: reason, in: db)
        }
        try store.putBackAtOnce(seq, partitionKey: partitionKey, reason: reason, in: db)
    }

    // MARK: Taking

    private func take(
        _ take: DispatchBatch.Take, kind: EntryKind, _ gate: GateMachine,
        into outcome: inout Outcome,
        in db: Database
    ) throws {
        let page = try store.ready(take, limit: take.limit, in: db)
        if page.count == take.limit { outcome.result.more.insert(take.kind) }
        for found in page {
            guard let row = try admit(found, kind: kind, gate, in: db) else { continue }
            try store.markInFlight(row.seq, in: db)
            var predecessor: EntryID?
            if kind.partitionWindow > 1, let partitionKey = row.entry.partitionKey {
                predecessor = try store.predecessor(of: row.seq, in: partitionKey, db).id
            }
            outcome.taken.append(
                row.dispatched(by: store.incarnation, predecessor: predecessor))
            outcome.result.taken[take.kind, default: 0] += 1
        }
    }

    private func handle(
        _ take: DispatchBatch.Take, kind: EntryKind, _ gate: GateMachine,
        into outcome: inout Outcome,
        in db: Database
    ) throws {
        guard let body = transactions[take.kind] else { return }
        let clock = store.configuration.timekeeper
        let end = clock.uptime() + Self.longestTransaction
        var handled = 0
        var failed: Set<String> = []
        while handled < take.limit, clock.uptime() < end {
            let limit = min(take.limit - handled, 32)
            let page = try store.ready(take, limit: limit, in: db)
            for found in page {
                handled += 1
                // An earlier one on this page has to wait, and so does it.
                if let partitionKey = try? found.get().entry.partitionKey,
                    failed.contains(partitionKey)
                {
                    continue
                }
                guard let row = try admit(found, kind: kind, gate, in: db) else { continue }
                let isDone = try handle(
                    row.dispatched(by: store.incarnation), kind: kind, by: body, in: db)
                if !isDone, let partitionKey = row.entry.partitionKey {
                    failed.insert(partitionKey)
                }
            }
            if page.isEmpty { return }
        }
        outcome.result.more.insert(take.kind)
    }

    /// Effect and outcome in one savepoint: neither exists without the other.
    ///
    /// - Returns: whether it has ended, so that later ones of its partition key may go on.
    private func handle(
        _ row: EntryRow, kind: EntryKind, by body: Transaction, in db: Database
    ) throws -> Bool {
        let before = store.savepoint()
        do {
            try db.inSavepoint {
                try body(db, row.entry)
                try store.countAttempt(row.seq, in: db)
                try store.end(row.seq, partitionKey: row.entry.partitionKey, as: .applied, in: db)
                return .commit
            }
            return true
        } catch {
            // A full disk is no fault of the entry: the batch is repeated.
            guard db.isInsideTransaction, !JournalFailure.isFullDisk(error) else { throw error }
            store.rollBack(to: before)
            try store.countAttempt(row.seq, in: db)
            var disposition = Acknowledgement.Disposition.after(
                error, kind: kind, failures: row.failures, jitter: store.configuration.jitter())
            if case .requeueInOrder(let wait, let reason) = disposition {
                disposition = .retry(after: wait, countsAsFailure: false, reason: reason)
            }
            let partitionKey = row.entry.partitionKey
            try settle(
                Acknowledgement(
                    seq: row.seq, kind: kind.name, partitionKey: partitionKey,
                    disposition: disposition), in: db)
            if let partitionKey { try store.advance(partitionKey, in: db) }
            if case .dead = disposition { return true }
            return false
        }
    }

    /// - Returns: nil if the row has ended instead: it is unreadable, expired, or whether its
    ///   effect took place is unknown.
    private func admit(
        _ found: Result<EntryRow, EntryRow.Broken>, kind: EntryKind, _ gate: GateMachine,
        in db: Database
    ) throws -> EntryRow? {
        let row: EntryRow
        switch found {
        case .failure(let broken):
            try store.quarantine(broken, in: db)
            return nil
        case .success(let found):
            row = found
        }
        let kind = store.kinds[row.entry.kind] ?? kind  // another of its family, if it has one
        let disposition = gate.disposition(
            kind: kind.name, bound: row.bound, now: store.now, mayExpire: store.mayExpire)
        if disposition == .expire {
            let code = row.wasInterrupted ? StateCode.unconfirmed : .expired
            try store.end(
                row.seq, partitionKey: row.entry.partitionKey, as: code, reason: Self.late, in: db)
            return nil
        }
        if row.interrupted, kind.onInterruption == .never, !asking.contains(kind.name) {
            try store.end(
                row.seq, partitionKey: row.entry.partitionKey, as: .unconfirmed,
                reason: EntryStore.interruption,
                in: db)
            return nil
        }
        return row
    }

    private static let late = "Its time was up before it could be dispatched."
}
