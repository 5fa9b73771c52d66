import GRDB
import RepriseCore

/// Sums up the ledger, of this process's journal or of one that another process owns.
enum LedgerReading {
    /// One transaction, so that all parts are of the same moment.
    static func sum(_ db: Database, schemas: [JournalSchema]) throws -> LedgerSum {
        var sum = LedgerSum()
        for outcome in Outcome.allCases { sum.outcomes[outcome] = 0 }
        let counters = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT accepted, duplicates FROM journal"))
        sum.accepted = counters.flatMap { Int64.fromDatabaseValue($0[0]) } ?? 0
        sum.duplicates = counters.flatMap { Int64.fromDatabaseValue($0[1]) } ?? 0
        let states = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT state, COUNT(*) FROM entry GROUP BY state"))
        for row in states {
            let count = Int64.fromDatabaseValue(row[1]) ?? 0
            guard let code = Int.fromDatabaseValue(row[0]).flatMap(StateCode.init(rawValue:))
            else { continue }  // not counted, so the sum says that something is wrong
            if let outcome = code.outcome {
                sum.outcomes[outcome, default: 0] += count
            } else {
                sum.pending += count
            }
        }
        let retired = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT outcome, count FROM retired"))
        for row in retired {
            guard let outcome = String.fromDatabaseValue(row[0]).flatMap(Outcome.init(rawValue:))
            else { continue }
            sum.outcomes[outcome, default: 0] += Int64.fromDatabaseValue(row[1]) ?? 0
        }
        let broken =
            try Int64.fetchOne(db.cachedStatement(sql: "SELECT COUNT(*) FROM quarantine"))
            ?? 0
        sum.outcomes[.dead, default: 0] += broken
        for schema in schemas { sum.add(try schema.ledger(db)) }
        return sum
    }

    /// The sum of a journal of another process.
    static func sum(at folder: JournalFolder, schemas: [JournalSchema]) throws -> LedgerSum {
        try JournalPeek.read(at: folder, schemas: schemas) { try sum($0, schemas: schemas) }
            ?? LedgerSum()
    }
}
