package import GRDB
package import RepriseCore
package import RepriseJournal

/// A transaction on the shipping journal; each feature extends it in a file of its own.
package final class GRDBTransaction {
    package let db: Database
    package let journal: SteppedJournal

    package init(_ db: Database, _ journal: SteppedJournal) {
        self.db = db
        self.journal = journal
    }
}

extension GRDBTransaction: AppTransaction {
    static let schema = JournalSchema(
        name: "app",
        migrations: [
            { db in
                try db.execute(
                    sql: "CREATE TABLE appEffect (id INTEGER PRIMARY KEY, what TEXT) STRICT")
            }
        ])

    package func addEffect(_ text: String) throws {
        try db.execute(sql: "INSERT INTO appEffect (what) VALUES (?)", arguments: [text])
    }

    package func effects() throws -> [String] {
        try String.fetchAll(db, sql: "SELECT what FROM appEffect ORDER BY id")
    }
}

extension GRDBTransaction: EntryTransaction {
    package var now: WallTime { journal.now }

    package func record(_ entry: NewEntry) throws -> Recorded {
        try journal.record(entry, in: db)
    }

    package func perform(_ work: SimulatedBatch) throws -> SimulatedBatch.Outcome {
        let journal = journal
        let transactions = work.transactions.mapValues { body -> SteppedJournal.Transaction in
            nonisolated(unsafe) let body = body  // one thread, inside of this call
            return { db, entry in try body(GRDBTransaction(db, journal), entry) }
        }
        let alongside = work.alongside.mapValues { job -> @Sendable (Database) throws -> Void in
            nonisolated(unsafe) let job = job
            return { db in try job(GRDBTransaction(db, journal)) }
        }
        let outcome = try journal.perform(
            work.turn, gate: work.gate, transactions: transactions, asking: work.asking,
            alongside: alongside, in: db)
        return SimulatedBatch.Outcome(
            result: outcome.result,
            taken: outcome.taken.map {
                SimulatedBatch.Taken(
                    seq: $0.seq, entry: $0.entry, failures: $0.failures, isReleased: $0.isReleased)
            })
    }

    package func endInterrupted(kind: String) throws {
        try journal.endInterrupted(kind: kind, in: db)
    }

    package func putBackInterrupted() throws { try journal.putBackInterrupted(in: db) }

    package func serverTimeReceived(_ time: WallTime) throws {
        try journal.serverTimeReceived(time, in: db)
    }

    package func end(_ id: EntryID, as outcome: Outcome, reason: String?) throws -> Bool {
        try journal.end(id, as: outcome, reason: reason, in: db)
    }

    package func endAll(of kinds: [String], as outcome: Outcome, reason: String) throws {
        try journal.endAll(of: kinds, as: outcome, reason: reason, in: db)
    }

    package func retry(_ id: EntryID) throws { try journal.retry(id, in: db) }

    package func entry(_ id: EntryID) throws -> Entry? { try journal.entry(id, in: db) }

    package func ledger() throws -> LedgerSum { try journal.ledger(in: db) }
}

extension GRDBTransaction: DeviceTransaction {}
